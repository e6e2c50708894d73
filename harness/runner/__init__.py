"""Runs scripts on targets and records what happens; it judges nothing."""
