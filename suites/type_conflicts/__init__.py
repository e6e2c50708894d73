"""Each request of the classic protocol and of consumer groups, to a group of each type."""
