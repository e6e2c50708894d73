"""Holds scripts with targets and records what happens; it judges nothing."""
