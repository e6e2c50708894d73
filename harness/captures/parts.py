"""Cut a group's exchanges where its state is known: no request waits, and no member just joined or left."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from harness.captures.rows import Row

PART: Final = 2_000
"""Exchanges after which a place to cut is searched for."""
_PART_MAX: Final = 20 * PART
"""Exchanges after which a cut needs only that no join, sync or leave is under way."""
_QUIET_MS: Final = 4_000.0
"""Time without a membership change before a cut: as far back as the search undoes decisions."""
_UNANSWERED_MS: Final = 5_000.0
"""The least age of an unanswered request before a cut."""
_CHANGES_MEMBERS: Final = frozenset(("JoinGroup", "SyncGroup", "LeaveGroup"))
Part: TypeAlias = tuple[list[Row], float]
"""The rows of a part, and the time at which the next part begins; infinite for the last one."""


@dataclass(slots=True)
class Quiet:
    """Tracks whether a group is quiet: no request is under way, and no member just joined or left."""

    changing_ms: float = -inf
    """When the last JoinGroup, SyncGroup or LeaveGroup was answered."""
    _busy_ms: float = -inf
    _unanswered_ms: float = -inf

    def is_before(self, row: Row) -> bool:
        """Return whether the group is quiet just before a request."""
        return (
            self._busy_ms < row.asked_ms
            and self.changing_ms < row.asked_ms - _QUIET_MS
            and self._unanswered_ms < row.asked_ms - _UNANSWERED_MS
        )

    def take(self, row: Row) -> None:
        """Add a request."""
        answered_ms, api = row.content[4], row.content[5]
        if answered_ms == inf:
            self._unanswered_ms = row.asked_ms
        else:
            self._busy_ms = max(self._busy_ms, answered_ms)
            if api in _CHANGES_MEMBERS:
                self.changing_ms = max(self.changing_ms, answered_ms)


def parts_of(rows: Iterable[Row], *, part: int = PART) -> Iterator[Part]:
    """Cut a group's exchanges, which are given in the order of their requests.

    Every caller gets the same parts: the cuts depend on the exchanges alone.
    """
    kept: list[Row] = []
    quiet = Quiet()
    for row in rows:
        is_long = len(kept) >= part * (_PART_MAX // PART) and quiet.changing_ms < row.asked_ms
        if is_long or (len(kept) >= part and quiet.is_before(row)):
            yield kept, row.asked_ms
            kept = []
        kept.append(row)
        quiet.take(row)
    yield kept, inf
