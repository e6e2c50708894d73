"""Pair frames into exchanges: each request that a replay reads, with its answer, as a row that can be sorted.

The output is small: produce and fetch requests are dropped, except that they kept a connection busy.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from harness.apis.table import descriptor
from harness.captures.framing import WANTED
from harness.invariants.exchange import Fields, text
from harness.replay.exchange import Exchange
from harness.replay.history import READ
from harness.replay.operation import OF_TRANSACTIONS, groups_of
from harness.replay.topics import SHOWS_MISSING, waits_for_topics
from harness.tap.frames import (
    Assembler,
    KeptFrame,
    RequestHead,
    request_assembler,
    request_head,
    response_assembler,
)
from harness.tap.journal import Closing, Endpoint, Entry, Kind
from harness.trace.canonical import plain_json
from harness.trace.schema import from_json
from harness.wire.codec import Decoded, decode_request, decode_response
from harness.wire.errors import WireError
from harness.wire.schema import request_shape

# Python 3.11 looks up members of an enumeration slowly, and these are compared with each entry.
_REQUEST: Final = Kind.REQUEST_BYTES
_REQUEST_LEFT_OUT: Final = Kind.REQUEST_BYTES_LEFT_OUT
_RESPONSE: Final = Kind.RESPONSE_BYTES
_RESPONSE_LEFT_OUT: Final = Kind.RESPONSE_BYTES_LEFT_OUT
_AWAITED_MAX: Final = 4_096
"""How many requests may await an answer on a connection; beyond that, the oldest is taken as unanswered."""
_SIZE_BYTES: Final = 4
_CORRELATION_ID_AT: Final = 4
"""The offset of the correlation id in a request; in an answer it comes first."""
_REMEMBERED_BYTES_MAX: Final = 512
_HEAD_BYTES: Final = 10
"""API key, version, correlation id, size of the client id."""
_FLEXIBLE_HEADER: Final = 2
_BEGIN_WITH_A_GROUP: Final = frozenset(("OffsetCommit", "Heartbeat", "SyncGroup", "LeaveGroup", "JoinGroup"))
_CLIENTS: Final = "ApiVersions"
_DELETES_TOPICS: Final = "DeleteTopics"
Content: TypeAlias = tuple[Any, ...]
"""Values that `marshal` can write: numbers, texts, bytes, and tuples of them."""


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


@dataclass(slots=True)
class _Asked:
    number: int
    at_ms: float
    head: RequestHead
    frame: KeptFrame | None
    """None if no replay reads this request."""
    behind: int | None
    behind_ms: float


@dataclass(slots=True)
class ConnectionReader:
    """Reads one connection frame by frame."""

    name: str
    requests: Assembler = field(default_factory=request_assembler)
    responses: Assembler = field(default_factory=response_assembler)
    client: str = ""
    slowest_ms: float = 0.0
    breaks: list[float] = field(default_factory=list)
    groups: dict[str, None] = field(default_factory=dict)
    _client_id: str | None = None
    _asked: dict[int, deque[_Asked]] = field(default_factory=dict)
    """Requests that await an answer, by correlation id."""
    _waiting: int = 0
    _count: int = 0
    _answered: int | None = None
    """The number of the request that was answered last."""
    _answered_ms: float = 0.0
    _unread: list[Content] = field(default_factory=list)
    """Exchanges whose group is unknown."""
    _linked: set[tuple[str, str]] = field(default_factory=set)

    def take(self, entry: Entry, since_ms: float = 0.0) -> Iterator[Row]:
        """Process the next entry; yield the exchanges that are now complete.

        Args:
            entry: the next entry of the connection.
            since_ms: the offset to add to the time of the entry.
        """
        at_ms, kind = round(entry.at_ms + since_ms, 3), entry.kind
        if kind is _REQUEST or kind is _REQUEST_LEFT_OUT:
            for frame in _frames(self.requests, entry):
                self._ask(frame, at_ms)
                if self._waiting > _AWAITED_MAX:
                    yield from self._whole(self._pop(next(iter(self._asked))), None, inf)
        elif kind is _RESPONSE or kind is _RESPONSE_LEFT_OUT:
            for frame in _frames(self.responses, entry):
                yield from self._answer(frame, at_ms)
        elif kind is Kind.CLOSED and _closing_side(entry) != Endpoint.CLIENT:
            self.breaks.append(at_ms)

    def end(self, gaps: tuple[Content, ...] = ()) -> Iterator[Row]:
        """Yield the unanswered requests, and a connection row for each group that the requests are about.

        Args:
            gaps: times in which messages may be missing: since, until, and whether before the first one.
        """
        for waiting in list(self._asked.values()):
            for asked in waiting:
                yield from self._whole(asked, None, inf)
        facts = (self.client, self.slowest_ms, tuple(self.breaks), gaps)
        for group in self.groups:
            yield Row(group, RowKind.CONNECTION, -1.0, self.name, -1, facts)
            for content in self._unread:
                yield Row(group, RowKind.EXCHANGE, content[0], self.name, content[1], content)

    def _ask(self, frame: KeptFrame, at_ms: float) -> None:
        head = request_head(frame.payload)
        self._client_id = head.client_id or self._client_id
        is_read = head.api in READ or head.api == _DELETES_TOPICS
        if head.api == _CLIENTS:
            self._introduce(head, frame)
        asked = _Asked(
            number=self._count,
            at_ms=at_ms,
            head=head,
            frame=frame if is_read else None,
            behind=self._answered,
            behind_ms=self._answered_ms,
        )
        self._count += 1
        self._waiting += 1
        self._asked.setdefault(head.correlation_id, deque()).append(asked)

    def _pop(self, correlation_id: int) -> _Asked:
        waiting = self._asked[correlation_id]
        asked = waiting.popleft()
        self._waiting -= 1
        if not waiting:
            del self._asked[correlation_id]
        return asked

    def _answer(self, frame: KeptFrame, at_ms: float) -> Iterator[Row]:
        correlation_id = int.from_bytes(frame.payload[:_SIZE_BYTES], "big", signed=True)
        if correlation_id not in self._asked:
            return
        asked = self._pop(correlation_id)
        if self._answered is not None and asked.number > self._answered:
            asked.behind, asked.behind_ms = self._answered, self._answered_ms
        if asked.head.api is not None and descriptor(asked.head.api).is_prompt:
            waited_ms = at_ms - max(asked.at_ms, asked.behind_ms)
            self.slowest_ms = max(self.slowest_ms, waited_ms)
        yield from self._whole(asked, frame, at_ms)
        self._answered, self._answered_ms = asked.number, at_ms

    def _whole(self, asked: _Asked, answer: KeptFrame | None, at_ms: float) -> Iterator[Row]:
        if asked.frame is None:
            return
        head, api = asked.head, asked.head.api or ""
        is_kept = answer is not None and not answer.left_out
        content = (
            *(asked.at_ms, asked.number, asked.behind, max(asked.at_ms, asked.behind_ms), at_ms),
            *(api, head.version, self._client_id),
            None if asked.frame.left_out else asked.frame.payload,
            answer.payload if answer is not None and is_kept else None,
            answer is not None,
        )
        groups, transactional_id = _named(head, asked.frame)
        if groups is None:
            self._unread.append(content)
            return
        if transactional_id:
            for group in groups:
                if (transactional_id, group) not in self._linked:
                    self._linked.add((transactional_id, group))
                    link = (transactional_id, group)
                    yield Row("", RowKind.MEMBERSHIP, asked.at_ms, self.name, asked.number, link)
        self.groups.update(dict.fromkeys(groups))
        for group in groups if api not in OF_TRANSACTIONS else ():
            yield Row(group, RowKind.EXCHANGE, asked.at_ms, self.name, asked.number, content)
        if not groups or api in OF_TRANSACTIONS or _shows_missing_topics(head, content[9]):
            whole = (*content, transactional_id)
            yield Row("", RowKind.COMMON, asked.at_ms, self.name, asked.number, whole)

    def _introduce(self, head: RequestHead, frame: KeptFrame) -> None:
        fields = _fields(decode_request, _CLIENTS, head.version, None if frame.left_out else frame.payload)
        if fields is not None and text(fields, "client_software_name"):
            named = f"{text(fields, 'client_software_name')} {text(fields, 'client_software_version')}"
            self.client = named.strip()


def _closing_side(entry: Entry) -> str:
    return from_json(Closing, entry.content, where="a journal").side


def _shows_missing_topics(head: RequestHead, answer: bytes | None) -> bool:
    """Return whether an answer names topics that do not exist yet, which concerns all groups."""
    if head.api != SHOWS_MISSING:
        return False
    return bool(waits_for_topics(_fields(decode_response, head.api, head.version, answer) or {}))


def _frames(stream: Assembler, entry: Entry) -> Iterator[KeptFrame]:
    if entry.kind is _REQUEST_LEFT_OUT or entry.kind is _RESPONSE_LEFT_OUT:
        return stream.frames(b"", left_out=entry.left_out_bytes)
    if stream.announced is not None:
        return iter(())
    return stream.frames(entry.content)


def _fields(decode: Callable[..., Decoded], api: str, version: int, payload: bytes | None) -> Fields | None:
    if payload is None:
        return None
    if len(payload) > _REMEMBERED_BYTES_MAX:
        return _read_fields(decode, api, version, payload)
    # Heartbeats repeat the same bytes except for the correlation id, so it is zeroed in the cache key.
    begin = _CORRELATION_ID_AT if decode is decode_request else 0
    anonymous = payload[:begin] + bytes(_SIZE_BYTES) + payload[begin + _SIZE_BYTES :]
    return _remembered_fields(decode, api, version, anonymous)


def _read_fields(decode: Callable[..., Decoded], api: str, version: int, payload: bytes) -> Fields | None:
    try:
        return plain_json(decode(api, version, payload, is_written_again=False).fields)
    except WireError:
        return None


_remembered_fields: Final = lru_cache(maxsize=8_192)(_read_fields)


@lru_cache(maxsize=1_024)
def _has_flexible_header(api: str, version: int) -> bool | None:
    """Return whether a request's header has tagged fields; None if there is no such version."""
    try:
        header = request_shape(api, version).header
    except WireError:
        return None
    assert header is not None
    return bool(header.__version__ >= _FLEXIBLE_HEADER)


def _first_group(head: RequestHead, payload: bytes) -> str | None:
    """Return the group at the start of a request; None if the whole request must be decoded to find it."""
    assert head.api is not None
    is_flexible = _has_flexible_header(head.api, head.version)
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


def _named(head: RequestHead, frame: KeptFrame) -> tuple[tuple[str, ...] | None, str]:
    """Return the groups and the transactional id of a request; the groups are None if it cannot be read."""
    if head.api == _DELETES_TOPICS:
        return (), ""
    if not descriptor(head.api).groups and head.api not in OF_TRANSACTIONS:
        return (), ""
    if head.api in _BEGIN_WITH_A_GROUP and (group := _first_group(head, frame.payload)) is not None:
        return (group,), ""
    assert head.api is not None, "others are not kept"
    fields = _fields(decode_request, head.api, head.version, None if frame.left_out else frame.payload)
    if fields is None:
        return None, ""
    transactional_id = text(fields, "transactional_id") or text(fields, "v3_and_below_transactional_id")
    return groups_of(head.api, fields), transactional_id


def exchange_of(row: Row, place: int) -> Exchange:
    """Return the exchange in a row.

    Args:
        row: a row of an exchange, or of one that is common to many groups.
        place: the position of the exchange in its group's conversation.
    """
    asked_ms, number, behind, free_ms, answered_ms, api, version, actor, request, answer, is_answered = (
        row.content[:11]
    )
    fields = answered = None
    if request is not None and api in WANTED:
        fields = _fields(decode_request, api, version, request)
        answered = _fields(decode_response, api, version, answer)
    return Exchange(
        api=api,
        api_version=version,
        actor=actor,
        connection=row.connection,
        asked_at=number,
        answered_at=place if is_answered else None,
        behind=behind,
        asked_ms=asked_ms,
        free_ms=free_ms,
        answered_ms=answered_ms,
        frame=request,
        request=fields,
        answer=answered,
        answer_frame=answer or b"",
    )
