"""What all targets share: the interface, connections, dialogue, and the preparation of a broker."""
