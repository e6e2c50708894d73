"""Offsets of groups: committed, being written, pending in transactions, fetched, deleted."""
