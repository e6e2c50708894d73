"""Offsets of groups: committed, on their way, pending in transactions, fetched, deleted."""
