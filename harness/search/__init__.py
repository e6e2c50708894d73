"""Make conversations from what a reference is doing, compare two sides on them, and shrink differences."""
