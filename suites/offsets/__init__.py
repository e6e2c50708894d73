"""Offsets: commits, fetches, deletions and refusals."""
