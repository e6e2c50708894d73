"""Writes that fail: what clients get, and what happens to their groups."""
