"""The facts in a capture that belong to no single group: topics, lists of groups, and transactions."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Final, TypeAlias

from harness.apis.table import descriptor
from harness.captures.rows import Row, RowKind, exchange_of
from harness.invariants.exchange import OF_TRANSACTIONS
from harness.replay.history import RecordedConversation, conversation_of
from harness.replay.topics import SHOWS_MISSING

_MINUTE_MS: Final = 60_000.0
_Look: TypeAlias = tuple[str, int, bytes, int]
_CORRELATION_ID: Final = 4


@dataclass
class Facts:
    """Rows that are common to groups; of identical answers about topics, two per minute are kept."""

    _looks: dict[_Look, tuple[Row, Row]] = field(default_factory=dict)
    """The first and the last: a change comes after the last answer that did not show it."""
    _deletion: Row | None = None
    listings: list[Row] = field(default_factory=list)
    """Lists of groups, in request order."""
    _transactions: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _groups: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Transactional ids by group."""

    def take(self, row: Row) -> None:
        """Add a row that belongs to no group."""
        if row.kind == RowKind.MEMBERSHIP:
            transactional_id, group = row.content
            self._groups[group].add(transactional_id)
            return
        api = row.content[5]
        if api in OF_TRANSACTIONS:
            self._transactions[row.content[11]].append(row)
        elif api == "DeleteTopics":
            self._deletion = row if self._deletion is None else min(self._deletion, row)
        elif descriptor(api).counts_partitions or api == SHOWS_MISSING:
            self._look(row)
        else:
            self.listings.append(row)

    @cached_property
    def topics(self) -> RecordedConversation:
        """What the capture shows about topics."""
        looks = {row for first_and_last in self._looks.values() for row in first_and_last}
        rows = [*looks, *([] if self._deletion is None else [self._deletion])]
        return conversation_of(exchange_of(row, place) for place, row in enumerate(sorted(rows)))

    def beside(self, group: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Merge the other rows that a group's replay needs into the group's rows, in request order.

        Lists of groups are included from the first request about the group to the last one.
        """
        ids = self._groups.get(group, ())
        others = deque(sorted((row for each in ids for row in self._transactions[each]), key=_when))
        place = -1
        for row in rows:
            now = _when(row)
            begin = bisect_left(self.listings, now, lo=max(place, 0), key=_when)
            listed = self.listings[place:begin] if place >= 0 else []
            place = begin
            while others and _when(others[0]) < now:
                listed.append(others.popleft())
            yield from sorted(listed, key=_when)
            yield row
        yield from others

    def listed_between(self, since: tuple[float, str, int], until: tuple[float, str, int]) -> int:
        """Count the lists of groups that `beside` inserts between two requests."""
        return bisect_left(self.listings, until, key=_when) - bisect_left(self.listings, since, key=_when)

    def _look(self, row: Row) -> None:
        answer: bytes = row.content[9] or b""
        digest = blake2b(answer[_CORRELATION_ID:], digest_size=16).digest()
        # A coordinator may miss a topic for long, and the last time counts.
        every_ms = 1.0 if row.content[5] == SHOWS_MISSING else _MINUTE_MS
        key = (row.content[5], row.content[6], digest, int(row.asked_ms // every_ms))
        first, last = self._looks.get(key, (row, row))
        self._looks[key] = min(first, row), max(last, row)


def facts_of(rows: Iterable[Row]) -> Facts:
    """Collect the facts from rows that belong to no group."""
    facts = Facts()
    for row in rows:
        facts.take(row)
    facts.listings.sort(key=_when)
    return facts


def _when(row: Row) -> tuple[float, str, int]:
    return row.asked_ms, row.connection, row.number
