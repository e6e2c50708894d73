"""The output on a terminal when a run has ended."""
