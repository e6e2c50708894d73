"""What comes of judging captures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from harness.captures.excerpts import Excerpt
from harness.captures.notes import Notes
from harness.replay.finding import Replayed

Answered: TypeAlias = tuple[str, int, str]
"""An API, its version, and an error code of its answer: its own, or one within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGroup:
    """What came of one group of a capture."""

    group: str
    clients: tuple[str, ...]
    """Libraries with versions, as the clients name themselves; empty where none did."""
    replayed: Replayed
    exchanges: int = 0
    """Requests about it, and about all groups."""
    answered: Mapping[Answered, int] = field(default_factory=dict)
    """How often."""
    excerpts: tuple[Excerpt, ...] = ()
    """Of some of the findings, if they are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCaptures:
    """What came of captures that were judged together."""

    groups: tuple[JudgedGroup, ...]
    notes: Notes
