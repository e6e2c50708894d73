"""Times in which a recording may lack requests or answers, as captures of a network do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from harness.invariants.exchange import MEMBERSHIP, NO_ERROR, Exchange

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


def gaps_of(operations: Sequence[Exchange], gaps: Iterable[Gap]) -> list[Gap]:
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


def _settled(gap: Gap, operations: Iterable[Exchange]) -> Gap:
    answered = (
        each.answered_ms
        for each in operations
        if each.answer is not None and each.asked_ms <= gap.until_ms < each.answered_ms
    )
    return replace(gap, until_ms=max((gap.until_ms, *answered)))


def with_begun(
    operations: Iterable[Exchange], under_way: Iterable[Exchange], begin_ms: float
) -> list[Exchange]:
    """Add requests in flight when a gap began, without their late answers: they may have taken effect."""
    begun = (each for each in under_way if each.answer is not None and begin_ms < each.asked_ms)
    unanswered = (replace(each, answer=None, answered_at=-1, answered_ms=inf) for each in begun)
    return sorted((*operations, *unanswered), key=lambda each: each.index)


WHY: Final = "while the coordinator may have been loading"
"""The reason why such an answer is not compared if it differs."""
_LOADING_MS: Final = 60_000.0
"""How long an unobserved load may take; any other request about the group shows its end before that."""


def maybe_while_loading(
    operations: Sequence[Exchange], group_id: str, since_ms: float | None
) -> tuple[frozenset[int], float | None]:
    """Return which heartbeats answered NONE may have come during a load, and since when it may still go on.

    Args:
        operations: of one coordinator, in the order in which they were sent.
        group_id: the group whose load is in question.
        since_ms: when the coordinator took over, if it may be loading.

    Returns:
        Their places, and when it took over; None if it has loaded.

    Source: GroupCoordinator#doHeartbeat (3.9.2), GroupCoordinatorService#heartbeat (4.3.1).
    """
    if since_ms is None:
        return frozenset(), None
    seeing = [
        each.answered_ms
        for each in operations
        if group_id in each.groups and each.answer is not None and not _is_blind(each)
    ]
    end_ms = since_ms + _LOADING_MS
    until_ms = min((*seeing, end_ms))
    blind = (
        place
        for place, each in enumerate(operations)
        if _is_blind(each) and since_ms <= each.answered_ms and each.asked_ms < until_ms
    )
    is_over = bool(seeing) or any(each.asked_ms > end_ms for each in operations)
    return frozenset(blind), None if is_over else since_ms


def _is_blind(operation: Exchange) -> bool:
    return operation.api == "Heartbeat" and operation.answer is not None and operation.error == NO_ERROR
