"""Scripts for real clients: what an application observes of its group."""
