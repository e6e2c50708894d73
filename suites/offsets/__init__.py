"""Offsets: committed, fetched, deleted and refused."""
