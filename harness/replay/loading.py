"""Heartbeats that a coordinator may have answered while it loaded the log, without checking the group."""

from collections.abc import Sequence
from math import inf
from typing import Final

from harness.invariants.exchange import NO_ERROR
from harness.replay.operation import RecordedOperation

WHY: Final = "while the coordinator may have been loading"
"""The reason why such an answer is not compared if it differs."""
_LOADING_MS: Final = 60_000.0
"""How long an unobserved load may take; any other request about the group shows its end before that."""


def maybe_while_loading(
    operations: Sequence[RecordedOperation], group_id: str, *, since_ms: float
) -> frozenset[int]:
    """Return the places of heartbeats answered NONE that may have come during a load.

    Args:
        operations: of one coordinator, in the order in which they were sent.
        group_id: the group whose load is in question.
        since_ms: when the coordinator took over.

    Source: GroupCoordinator#doHeartbeat (3.9.2), GroupCoordinatorService#heartbeat (4.3.1).
    """
    seeing = (
        each.answered_ms
        for each in operations
        if group_id in each.groups and each.answer is not None and not _is_blind(each)
    )
    until_ms = min(min(seeing, default=inf), since_ms + _LOADING_MS)
    return frozenset(
        place
        for place, each in enumerate(operations)
        if _is_blind(each) and since_ms <= each.answered_ms and each.asked_ms < until_ms
    )


def may_be_loading(operations: Sequence[RecordedOperation], group_id: str, since_ms: float | None) -> bool:
    """Return whether a coordinator that took over at that time may still be loading."""
    if since_ms is None:
        return False
    return not any(
        (group_id in each.groups and each.answer is not None and not _is_blind(each))
        or each.asked_ms > since_ms + _LOADING_MS
        for each in operations
    )


def _is_blind(operation: RecordedOperation) -> bool:
    return operation.api == "Heartbeat" and operation.answer is not None and operation.error == NO_ERROR
