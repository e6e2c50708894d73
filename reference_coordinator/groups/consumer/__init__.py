"""Consumer groups, whose members the coordinator reconciles (KIP-848)."""
