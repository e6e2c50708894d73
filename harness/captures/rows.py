"""Exchanges as rows that are sorted on disk, by group and time, and read again when they are replayed.

Any number of them may be on disk, and only a few are in memory. The rows that belong to no single group are
the facts: topics, lists of groups, and transactions.
"""

import marshal
import sqlite3
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

from harness.apis.table import descriptor
from harness.invariants.exchange import OF_TRANSACTIONS, Exchange, Fields, groups_of, text
from harness.replay.history import READ, RecordedConversation, conversation_of
from harness.replay.topics import SHOWS_MISSING, waits_for_topics
from harness.tap.frames import ID_IN_REQUEST, read_once
from harness.trace.canonical import plain_json
from harness.wire.codec import Decoded, decode_request, decode_response
from harness.wire.errors import WireError
from harness.wire.schema import request_shape

WANTED: Final = READ | {"ApiVersions"}
"""APIs whose frames are kept: those that a replay reads, and the one in which clients name themselves."""
_HEAD_BYTES: Final = 10
_FLEXIBLE_HEADER: Final = 2
_BEGIN_WITH_A_GROUP: Final = frozenset(("OffsetCommit", "Heartbeat", "SyncGroup", "LeaveGroup", "JoinGroup"))
Content: TypeAlias = tuple[Any, ...]
"""Values that `marshal` can write: numbers, texts, bytes, and tuples of them."""


PackedRow: TypeAlias = tuple[str, int, float, str, int, bytes]
"""A row as it is sorted, on disk or by Spark, with its content as bytes."""


class RowKind(IntEnum):
    """The subject of a row; the rows of a group are sorted by kind first."""

    CONNECTION = 0
    """A connection with requests about the group."""
    EXCHANGE = 1
    """An exchange about the group."""
    COMMON = 2
    """An exchange about topics, all groups, or a transaction; it belongs to no group."""
    MEMBERSHIP = 3
    """The fact that a transactional id commits to a group; it belongs to no group."""


class Row(NamedTuple):
    """One fact that a group's replay may need; the fields are in sort order."""

    group: str
    kind: int
    asked_ms: float
    connection: str
    number: int
    content: Content


def exchange_of(row: Row, place: int) -> Exchange:
    """Return the exchange in a row, and its position in its group's conversation."""
    asked_ms, number, behind, free_ms, answered_ms, api, version, actor, request, answer, is_answered = (
        row.content[:11]
    )
    is_wanted = api in WANTED
    fields = fields_of(decode_request, api, version, request) if is_wanted else None
    answered = fields_of(decode_response, api, version, answer) if is_wanted and fields is not None else None
    is_read = fields is not None and (answered is not None or not is_answered)
    return Exchange(
        api=api,
        api_version=version,
        actor=actor,
        request=fields or {},
        asked_ms=asked_ms,
        frame=request or b"",
        answered_ms=answered_ms,
        answer=answered,
        answer_frame=answer or b"",
        connection=row.connection,
        asked_at=number,
        answered_at=place if is_answered else -1,
        fault="" if is_read else "cannot be read whole",
        behind=behind,
        free_ms=free_ms,
        groups=() if fields is None else groups_of(api, fields),
    )


def named_in(exchange: Exchange) -> tuple[tuple[str, ...] | None, str]:
    """Return the groups and the transactional id of a request; the groups are None if it cannot be read."""
    api = exchange.api
    if api == "DeleteTopics" or (not descriptor(api).groups and api not in OF_TRANSACTIONS):
        return (), ""
    if api in _BEGIN_WITH_A_GROUP and (group := _first_group(exchange)) is not None:
        return (group,), ""
    fields = None if exchange.fault else fields_of(decode_request, api, exchange.api_version, exchange.frame)
    if fields is None:
        return None, ""
    transactional_id = text(fields, "transactional_id") or text(fields, "v3_and_below_transactional_id")
    return groups_of(api, fields), transactional_id


def shows_missing_topics(exchange: Exchange, answer: bytes | None) -> bool:
    """Return whether an answer names topics that do not exist yet, which concerns all groups."""
    if exchange.api != SHOWS_MISSING:
        return False
    fields = fields_of(decode_response, exchange.api, exchange.api_version, answer)
    return bool(waits_for_topics(fields or {}))


def fields_of(decode: Callable[..., Decoded], api: str, version: int, payload: bytes | None) -> Fields | None:
    """Return the fields of a message; None if it was not kept, or cannot be read."""
    if payload is None:
        return None
    id_at = ID_IN_REQUEST if decode is decode_request else 0
    return read_once(_read_fields, decode, api, version, payload=payload, id_at=id_at)


def _read_fields(decode: Callable[..., Decoded], api: str, version: int, payload: bytes) -> Fields | None:
    try:
        return plain_json(decode(api, version, payload, is_written_again=False).fields)
    except WireError:
        return None


@lru_cache(maxsize=1_024)
def _has_flexible_header(api: str, version: int) -> bool | None:
    """Return whether a request's header has tagged fields; None if there is no such version."""
    try:
        header = request_shape(api, version).header
    except WireError:
        return None
    assert header is not None
    return bool(header.__version__ >= _FLEXIBLE_HEADER)


def _first_group(exchange: Exchange) -> str | None:
    """Return the group at the start of a request; None if the whole request must be decoded to find it."""
    payload = exchange.frame
    is_flexible = _has_flexible_header(exchange.api, exchange.api_version)
    if is_flexible is None:
        return None
    begin = _HEAD_BYTES + max(int.from_bytes(payload[8:_HEAD_BYTES], "big", signed=True), 0)
    if not is_flexible:
        size = int.from_bytes(payload[begin : begin + 2], "big", signed=True)
        begin += 2
    elif payload[begin : begin + 1] == b"\0" and payload[begin + 1 : begin + 2] < b"\x80":
        size = int.from_bytes(payload[begin + 1 : begin + 2], "big") - 1
        begin += 2
    else:
        return None
    name = payload[begin : begin + size]
    try:
        return name.decode() if 0 < size == len(name) else None
    except UnicodeDecodeError:
        return None


_CACHE_KIB: Final = 65_536


def in_order(rows: Iterable[Row], counts: dict[str, int]) -> Iterator[Row]:
    """Sort rows by group, kind, time, connection and number; temporary files are deleted afterwards.

    All rows are read, and those of each group are counted, before the first one is yielded.
    """
    with TemporaryDirectory(prefix="kafka-conformance-judge-") as folder:
        base = sqlite3.connect(Path(folder) / "rows", isolation_level=None)
        try:
            base.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            base.execute("PRAGMA synchronous = OFF")
            base.execute("CREATE TABLE rows (part, kind, at, connection, number, content)")
            base.execute("BEGIN")
            base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", map(packed, rows))
            counts.update(base.execute("SELECT part, count(*) FROM rows GROUP BY part"))
            for found in base.execute("SELECT * FROM rows ORDER BY part, kind, at, connection, number"):
                yield unpacked(found)
        finally:
            base.close()


def packed(row: Row) -> PackedRow:
    """Return a row as it is sorted."""
    return row.group, int(row.kind), row.asked_ms, row.connection, row.number, marshal.dumps(row.content)


def unpacked(row: PackedRow) -> Row:
    """Return a row that was packed."""
    return Row(*row[:5], marshal.loads(row[5]))  # noqa: S302 - our own processes have written it


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
