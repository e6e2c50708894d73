"""Writes that fail: what clients are told, and what becomes of their groups."""
