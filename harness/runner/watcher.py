"""The receivers of a drive's progress."""

from typing import Protocol


class Watcher(Protocol):
    """Receives the progress of a drive, for a display."""

    def target_says(self, target: str, text: str) -> None:
        """Report what a target's slow start is doing."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Report how many scenarios are about to run on a target."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Report that one of them has ended, with whatever result."""


class Unwatched:
    """A watcher that displays nothing."""

    def target_says(self, target: str, text: str) -> None:
        """Do nothing."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Do nothing."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Do nothing."""
