"""A group's exchanges, cut where its state is known: nobody waits, and nobody came or went just before."""

from collections.abc import Iterable, Iterator
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


def parts_of(rows: Iterable[Row], *, part: int = PART) -> Iterator[Part]:
    """Cut a group's exchanges, which come in the order in which they were asked.

    Whoever cuts them gets the same parts: where they are cut hangs on the exchanges alone.
    """
    kept: list[Row] = []
    busy_ms = changing_ms = unanswered_ms = -inf
    for row in rows:
        asked_ms, answered_ms, api = row.content[0], row.content[4], row.content[5]
        if len(kept) >= part and changing_ms < asked_ms:
            is_quiet = (
                busy_ms < asked_ms
                and changing_ms < asked_ms - _QUIET_MS
                and unanswered_ms < asked_ms - _UNANSWERED_MS
            )
            if is_quiet or len(kept) >= part * (_PART_MAX // PART):
                yield kept, asked_ms
                kept = []
        kept.append(row)
        if answered_ms == inf:
            unanswered_ms = asked_ms
        else:
            busy_ms = max(busy_ms, answered_ms)
            if api in _CHANGES_MEMBERS:
                changing_ms = max(changing_ms, answered_ms)
    yield kept, inf
