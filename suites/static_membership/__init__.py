"""Static members (KIP-345): restarts, fencing, leaving."""
