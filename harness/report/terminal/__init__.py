"""What a terminal shows when a run has ended."""
