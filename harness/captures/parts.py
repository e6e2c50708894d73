"""Cut a group's exchanges into parts where its state is known, and a giant group's into stretches.

A part begins where no request waits, and no member just joined or left. Stretches are judged apart, by
several executors if there are any. A stretch begins where the recording alone shows the group's state: the
members since the last rebalance, and the committed offsets. It begins before the first answer that counts, so
that every member has sent a heartbeat by then and its session expires in the reference when it expires in the
broker. The cause of a refusal may be as old as the recording, so a stretch is also given what is known of the
clients by then.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Final, TypeAlias

from harness.captures.rows import Facts, Row, exchange_of
from harness.invariants.blame import Blame
from harness.invariants.exchange import Exchange, text
from harness.replay.history import conversation_of
from harness.replay.seeds import Seed, SeedGroup, SeedOffset, TopicPartition, last_group, offsets_after

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


STRETCH: Final = 200_000
"""Exchanges after which a place to cut is searched for."""
_WARM_UP_MAX: Final = 20_000
"""Exchanges within which every member must have sent a heartbeat."""
_CHANGES_MAX: Final = 5_000
"""Membership changes that are kept while the group's state is unknown; the last ones determine it."""
_HARMLESS: Final = frozenset(("OffsetFetch", "DescribeGroups", "ListGroups", "FindCoordinator"))
_ERROR_AT: Final = {0: 4, 1: 8, 2: 8, 3: 8, 4: 9}
"""The position of the error code in the answer to a Heartbeat, by version."""
_FINE: Final = b"\0\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The start of a stretch that is not the first one."""

    seed: Seed
    first: tuple[float, str, int]
    """The time, connection and number of the group's first exchange."""
    number: int
    """How many exchanges of the group come before the stretch."""
    counts_after_ms: float
    """Requests up to this time count for the previous stretch."""
    blame: Blame
    """What all exchanges up to that time show of the clients."""


def stretches_of(
    connections: Sequence[Row], rows: Iterable[Row], facts: Facts, *, is_whole: bool, stretch: int = STRETCH
) -> Iterator[tuple[Start | None, Iterator[Row]]]:
    """Cut a group's exchanges; each stretch must be read to its end before the next one is requested.

    Every caller gets the same stretches. A group is left whole if its connections have breaks or gaps, or
    from the first exchange on that is not an answered, readable, everyday request of a classic group.
    """
    scout = _Scout(facts=facts, is_whole=is_whole, stretch=stretch)
    scout.is_lost = any(row.content[2] or row.content[3] for row in connections)
    rows = iter(rows)
    start: Start | None = None
    before: list[Row] = []
    while True:
        yield start, scout.until_cut(before, rows)
        if scout.cut is None:
            return
        start, before = scout.cut


@dataclass(slots=True, kw_only=True)
class _Scout:
    facts: Facts
    is_whole: bool
    stretch: int
    is_lost: bool = False
    """Whether the group's state cannot be determined any more."""
    cut: tuple[Start, list[Row]] | None = None
    """The start of the next stretch, and its first rows: those of the warm-up, and the one at the cut."""
    _quiet: Quiet = field(default_factory=Quiet)
    _first: tuple[float, str, int] | None = None
    _last_ms: float = -inf
    _count: int = 0
    _since_cut: int = 0
    _changes: list[Exchange] = field(default_factory=list)
    _is_settled: bool = True
    _group: SeedGroup | None = None
    _offsets: dict[TopicPartition, SeedOffset] = field(default_factory=dict)
    _written_until_ms: dict[TopicPartition, float] = field(default_factory=dict)
    _unsure: set[TopicPartition] = field(default_factory=set)
    _warm_up: list[Row] = field(default_factory=list)
    _seed: Seed | None = None
    _warm_count: int = 0
    _unheard: set[str] = field(default_factory=set)
    _blame: Blame | None = None
    _answers: list[tuple[float, int, Exchange]] = field(default_factory=list)
    """Exchanges whose answers come after the last request: when, and their place in the conversation."""

    def until_cut(self, before: Sequence[Row], rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the first rows of a stretch, and those up to the next cut."""
        self.cut = None
        yield from before
        for row in rows:
            self.cut = self._cut_before(row)
            if self.cut is not None:
                return
            yield row

    def _cut_before(self, row: Row) -> tuple[Start, list[Row]] | None:
        """Process the next row; if a stretch begins with it, return its start and its first rows."""
        cut = None
        if not self.is_lost:
            if self._quiet.is_before(row) and row.asked_ms > self._last_ms:
                cut = self._cut(row)
            if self._seed is not None:
                self._warm_up.append(row)
            self._follow(row)
        self._quiet.take(row)
        self._first = self._first or (row.asked_ms, row.connection, row.number)
        self._last_ms = row.asked_ms
        self._count += 1
        self._since_cut += 1
        return cut

    def _cut(self, row: Row) -> tuple[Start, list[Row]] | None:
        """Cut here, or begin the warm-up for a later cut."""
        self._settle()
        if self._seed is not None and not self._unheard:
            assert self._first is not None, "something was warmed up"
            assert self._blame is not None, "a cut follows an exchange"
            self._take_answers(row.asked_ms)
            start = Start(
                seed=self._seed,
                first=self._first,
                number=self._warm_count,
                counts_after_ms=self._last_ms,
                blame=deepcopy(self._blame),
            )
            rows = [*self._warm_up, row]
            self._forget_warm_up()
            self._since_cut = 0
            return start, rows
        if self._seed is None and self._group is not None and self._since_cut >= self.stretch:
            self._seed = Seed(
                at_ms=row.asked_ms,
                group=self._group,
                offsets=tuple(self._offsets.values()),
                unknown=frozenset(self._unsure) if self.is_whole else None,
            )
            self._warm_count = self._count
            self._unheard = {each.member_id for each in self._group.members}
        return None

    def _settle(self) -> None:
        """Determine the group's members after the membership changes that are now complete."""
        if not self._is_settled:
            operations = conversation_of(self._changes, topics=self.facts.topics).operations
            self._group = last_group(operations)
            self._changes = [] if self._group is not None else self._changes[-_CHANGES_MAX:]
            self._is_settled = True

    def _follow(self, row: Row) -> None:
        exchange = exchange_of(row, 0)
        self._explain(row, exchange)
        api, version, answer = row.content[5], row.content[6], row.content[9]
        if len(self._warm_up) > _WARM_UP_MAX:
            self._forget_warm_up()
        if api in _HARMLESS and api != "OffsetFetch":
            return
        if answer is None or row.content[8] is None:
            self._lose()
        elif api == "Heartbeat":
            self._hear(exchange, version, answer)
        elif api in _CHANGES_MEMBERS:
            self._changes.append(exchange)
            self._is_settled, self._group = False, None
            self._forget_warm_up()
        elif api in ("OffsetCommit", "OffsetFetch"):
            self._note_offsets(row, exchange)
        else:
            self._lose()

    def _explain(self, row: Row, exchange: Exchange) -> None:
        """Note what an exchange shows of its client; its refusals are found when its stretch is judged."""
        self._blame = self._blame or Blame(group=row.group, is_whole=self.is_whole)
        if row.group not in exchange.groups and not exchange.fault:
            return
        self._take_answers(row.asked_ms)
        deque(self._blame.asked(exchange), maxlen=0)
        if exchange.answer is not None:
            heappush(self._answers, (exchange.answered_ms, self._count, exchange))

    def _take_answers(self, until_ms: float) -> None:
        while self._blame is not None and self._answers and self._answers[0][0] < until_ms:
            deque(self._blame.answered(heappop(self._answers)[2]), maxlen=0)

    def _hear(self, exchange: Exchange, version: int, answer: bytes) -> None:
        at = _ERROR_AT.get(version)
        if at is None or answer[at : at + len(_FINE)] != _FINE:
            self._group = None
            self._forget_warm_up()
        elif self._unheard:
            self._unheard.discard(text(exchange.request, "member_id"))

    def _note_offsets(self, row: Row, exchange: Exchange) -> None:
        if exchange.fault or exchange.answer is None:
            self._lose()
            return
        found = offsets_after(exchange, row.group, self.facts.topics.topic_names)
        if row.content[5] == "OffsetFetch":
            for each in found:
                self._offsets.setdefault((each.topic, each.partition), each)
            return
        for each in found:
            key = (each.topic, each.partition)
            if row.asked_ms <= self._written_until_ms.get(key, -inf):
                self._unsure.add(key)
                self._offsets.pop(key, None)
            else:
                self._unsure.discard(key)
                self._offsets[key] = each
            self._written_until_ms[key] = max(row.content[4], self._written_until_ms.get(key, -inf))

    def _forget_warm_up(self) -> None:
        self._seed, self._warm_up, self._unheard = None, [], set()

    def _lose(self) -> None:
        self.is_lost = True
        self._forget_warm_up()
        self._changes.clear()
        self._answers.clear()
        self._blame = None
