"""Offsets of groups: committed, on their way, held by transactions, fetched, deleted."""
