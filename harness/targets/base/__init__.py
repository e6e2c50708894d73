"""What all kinds of target share: the interface, connections, dialogue, and the preparation of a broker."""
