"""A coordinator's answers while it loads its log."""
