"""Scripts for real clients: what an application sees of its group."""
