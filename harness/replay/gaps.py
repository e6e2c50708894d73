"""Times in which a recording may lack requests or answers, as captures of a network do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from harness.replay.operation import MEMBERSHIP, RecordedOperation

UNSEEN: Final = "while requests or answers may be missing in the recording"
"""Why answers of such a time are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time in which a recording may lack requests or answers."""

    connection: str
    """On which connection."""
    since_ms: float
    until_ms: float
    is_before: bool = False
    """Whether the connection began unrecorded. Members send often; others may have been silent."""

    def has(self, begin_ms: float, end_ms: float) -> bool:
        """Return whether a period is within the gap."""
        return self.since_ms <= begin_ms and end_ms <= self.until_ms


def gaps_of(operations: Sequence[RecordedOperation], gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps that concern the group of some operations.

    A gap lasts until the requests in flight at its end are answered: before that, the group may be changing.
    """
    all_of_them = {each.connection for each in operations}
    of_members = {each.connection for each in operations if each.api in MEMBERSHIP}
    return [
        _settled(each, operations)
        for each in gaps
        if each.connection in (of_members if each.is_before else all_of_them)
    ]


def _settled(gap: Gap, operations: Iterable[RecordedOperation]) -> Gap:
    answered = (
        each.answered_ms
        for each in operations
        if each.answer is not None and each.asked_ms <= gap.until_ms < each.answered_ms
    )
    return replace(gap, until_ms=max((gap.until_ms, *answered)))


def with_begun(
    operations: Iterable[RecordedOperation], under_way: Iterable[RecordedOperation], begin_ms: float
) -> list[RecordedOperation]:
    """Add requests in flight when a gap began, without their late answers: they may have taken effect."""
    begun = (each for each in under_way if each.answer is not None and begin_ms < each.asked_ms)
    unanswered = (replace(each, answer=None, answered_at=None, answered_ms=inf) for each in begun)
    return sorted((*operations, *unanswered), key=lambda each: each.index)
