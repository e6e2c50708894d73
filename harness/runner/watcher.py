"""Who is told how a drive goes on."""

from typing import Protocol


class Watcher(Protocol):
    """Told how a drive goes on, for a progress display."""

    def target_says(self, target: str, text: str) -> None:
        """Tell what a target's slow start is busy with."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Tell how many scenarios a target is about to be driven with."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Tell that one of them has come to its end, however."""


class Unwatched:
    """Watches a drive of which nothing is displayed."""

    def target_says(self, target: str, text: str) -> None:
        """Tell nobody."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Tell nobody."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Tell nobody."""
