"""What comes of judging captures."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.captures.excerpts import Excerpt
from harness.captures.notes import Notes
from harness.replay.finding import Replayed
from harness.report.model.answer_coverage import Answered


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

    @property
    def answered(self) -> Mapping[Answered, int]:
        """How often each API, in each version, was answered each error code."""
        counts: Counter[Answered] = Counter()
        for each in self.groups:
            counts.update(each.answered)
        return dict(sorted(counts.items()))
