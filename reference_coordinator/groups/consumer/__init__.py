"""Consumer groups, in which the coordinator reconciles the members' assignments (KIP-848)."""
