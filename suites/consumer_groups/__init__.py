"""Consumer groups (KIP-848): what a member is told that heartbeats, and what others are told of its group."""
