"""The classic protocol: joining, syncing, heartbeats and leaving of dynamic members."""
