"""A group's exchanges, cut where its state is known: nobody waits, and nobody came or went just before."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from harness.captures.exchanges import Row

PART: Final = 2_000
"""Exchanges after which a cut is looked for."""
_PART_MAX: Final = 20 * PART
"""Exchanges after which it is enough that nobody joins or leaves."""
_QUIET_MS: Final = 4_000.0
"""How long nobody may have come or gone: as far as a search takes back decisions."""
_UNANSWERED_MS: Final = 5_000.0
"""How long ago a request that nobody answered must be."""
_CHANGES_MEMBERS: Final = frozenset(("JoinGroup", "SyncGroup", "LeaveGroup"))
Part: TypeAlias = tuple[list[Row], float]
"""Rows, and when the next part begins; infinite for the last one."""


@dataclass(slots=True)
class Quiet:
    """Knows whether a group is quiet: no request is under way, and nobody came or went just before."""

    changing_ms: float = -inf
    """When the last change of members was answered."""
    _busy_ms: float = -inf
    _unanswered_ms: float = -inf

    def is_before(self, row: Row) -> bool:
        """Whether it is just before a request."""
        return (
            self._busy_ms < row.asked_ms
            and self.changing_ms < row.asked_ms - _QUIET_MS
            and self._unanswered_ms < row.asked_ms - _UNANSWERED_MS
        )

    def take(self, row: Row) -> None:
        """Take in the request."""
        answered_ms, api = row.content[4], row.content[5]
        if answered_ms == inf:
            self._unanswered_ms = row.asked_ms
        else:
            self._busy_ms = max(self._busy_ms, answered_ms)
            if api in _CHANGES_MEMBERS:
                self.changing_ms = max(self.changing_ms, answered_ms)


def parts_of(rows: Iterable[Row], *, part: int = PART) -> Iterator[Part]:
    """Cut a group's exchanges, which come in the order in which they were asked.

    Whoever cuts them gets the same parts: where they are cut hangs on the exchanges alone.
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
