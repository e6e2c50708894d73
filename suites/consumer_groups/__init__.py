"""Consumer groups (KIP-848): the answers to a member's heartbeats, and how its group is described."""
