"""What comes of judging captures."""

from dataclasses import dataclass

from harness.captures.notes import Notes
from harness.replay.finding import Replayed


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGroup:
    """What came of one group of a capture."""

    group: str
    clients: tuple[str, ...]
    """Libraries with versions, as the clients name themselves; empty where none did."""
    replayed: Replayed


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCaptures:
    """What came of captures that were judged together."""

    groups: tuple[JudgedGroup, ...]
    notes: Notes
