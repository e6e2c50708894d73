"""Share groups (KIP-932), whose members read the same partitions together."""
