"""Reading of one connection: its streams are cut into frames, and requests are paired with their answers.

Only the head is kept of frames that no replay needs, so that records of topics and passwords go no further.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from harness.apis.table import descriptor
from harness.captures.notes import Notes
from harness.captures.rows import WANTED, Content, Row, RowKind, fields_of, named_in, shows_missing_topics
from harness.invariants.exchange import NOT_WHOLE, OF_TRANSACTIONS, Exchange, text
from harness.replay.history import READ
from harness.tap.frames import KeptFrame, Line, read_response, request_head
from harness.tap.framing import FRAME_BYTES_KEPT, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX
from harness.tap.journal import Endpoint
from harness.wire.codec import decode_request
from harness.wire.errors import WireError

_SIZE_BYTES: Final = 4
_REQUEST_HEAD_BYTES: Final = 10
"""API key, version, correlation id, size of the client id."""
_RESPONSE_HEAD_BYTES: Final = 4
_CLIENT_ID_SIZE: Final = slice(8, 10)
_CLIENT_ID_KEPT: Final = 256
_SEARCHED_HEAD_BYTES: Final = _SIZE_BYTES + _REQUEST_HEAD_BYTES + _CLIENT_ID_KEPT
_AWAITED_MAX: Final = 4_096
"""How many requests may await an answer on a connection; beyond that, the oldest is taken as unanswered."""
_SEARCHED_FOR: Final = 64
"""How many of these are searched for in a stream of answers whose frame boundaries are lost."""
_SEARCHED_BYTES_MAX: Final = 1 << 19
_LIKE_A_REQUEST: Final = re.compile(
    rb"(?=[\x00-\x06][\x00-\xff]{3}\x00[\x00-\x7f]\x00[\x00-\x1f][\x00-\xff]{4}\x00[\x01-\xff][\x21-\x7e])"
)
"""Size, API key, version, correlation id, and the start of a client id."""
_TLS: Final = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")
"""The start of each TLS record. Source: RFC 8446, 5.1."""
_A_MOMENT_MS: Final = 0.001
_CLIENTS: Final = "ApiVersions"


@dataclass(slots=True)
class ConnectionReader(Line):
    """Reads one connection piece by piece."""

    name: str
    notes: Notes
    since_ms: float = 0.0
    """The offset to add to the times of exchanges."""
    client: str = ""
    slowest_ms: float = 0.0
    breaks: list[float] = field(default_factory=list)
    groups: dict[str, None] = field(default_factory=dict)
    has_frames: bool = False
    """Whether a whole frame was found. If not, only the number of such connections is kept in the end."""
    is_encrypted: bool = False
    begins_unseen_ms: float = -inf
    """Until when nothing was captured of a connection that had begun before."""
    without_request: int = 0
    _unread: list[Content] = field(default_factory=list)
    """Exchanges whose group is unknown."""
    _linked: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Have only the heads kept of frames that no replay needs."""
        requests, responses = self.cutters.values()
        requests.head_bytes, requests.kept_of = _REQUEST_HEAD_BYTES, _kept_of_request
        responses.head_bytes, responses.kept_of = _RESPONSE_HEAD_BYTES, self._kept_of_response

    def is_captured(self, at_ms: float, *, is_whole: bool) -> None:
        """Have streams searched for frames where bytes are missing, as from a network.

        The connection was captured first at that time; it is whole if that was its start.
        """
        requests, responses = self.cutters.values()
        for cutter in (requests, responses):
            cutter.is_found, cutter.last_ms = is_whole, at_ms
        requests.search = self._search_requests
        responses.search, responses.is_missed = self._search_responses, self._is_awaited
        self.begins_unseen_ms = -inf if is_whole else at_ms - _A_MOMENT_MS

    def take(
        self, side: Endpoint, data: bytes, at_ms: float, *, lost: int = 0, left_out: int = 0
    ) -> Iterator[Row]:
        """Process bytes that one side sent; yield the exchanges that are now complete.

        Before them, `lost` bytes are missing, and the recorder left out others of the current frame.
        """
        cutter = self.cutters[side]
        if self.is_encrypted:
            return
        if not cutter.buffer and not cutter.to_skip and cutter.search is not None and _TLS.match(data):
            self.is_encrypted = True
            self.notes.note_encrypted(self.name)
            return
        now_ms = round(at_ms + self.since_ms, 3)
        for frame in cutter.take(data, at_ms=at_ms, lost=lost, left_out=left_out):
            self.has_frames = True
            if side is Endpoint.BROKER:
                yield from self._answer(frame, now_ms)
                continue
            self._ask(frame, now_ms)
            if self.waiting.count > _AWAITED_MAX:
                yield from self._whole(self.waiting.pop(next(iter(self.waiting.by_id))), None)

    def closed(self, side: str, at_ms: float) -> None:
        """Note which side ended the connection.

        A broker that cannot read a request ends the connection, and goes on. So the request is its client's
        fault, and changes nothing for others.
        """
        if side == Endpoint.CLIENT or not self.has_frames:
            return
        if (malformed := self.waiting.malformed()) is not None:
            api = f"{malformed.api} v{malformed.api_version}"
            self.notes.malformed.append((self.name, malformed.actor or "", api))
            return
        self.breaks.append(round(at_ms + self.since_ms, 3))

    def end(self) -> Iterator[Row]:
        """Yield the unanswered requests, and a connection row for each group that the requests are about."""
        if not self.is_encrypted:
            for cutter in self.cutters.values():
                cutter.end()
        if self.has_frames:
            self.notes.note_streams(self.name, self.cutters, self.without_request)
        elif not self.is_encrypted:
            self.notes.without_frames += any(each.lost or each.skipped for each in self.cutters.values())
        for exchange in self.waiting.rest():
            yield from self._whole(exchange, None)
        self.notes.has_groups = self.notes.has_groups or bool(self.groups)
        begun = [] if self.begins_unseen_ms == -inf else [(-1.0, self.begins_unseen_ms, True)]
        gaps = sorted((*gap, False) for each in self.cutters.values() for gap in each.gaps.items())
        facts = (self.client, self.slowest_ms, tuple(self.breaks), (*begun, *gaps))
        for group in self.groups:
            yield Row(group, RowKind.CONNECTION, -1.0, self.name, -1, facts)
            for content in self._unread:
                yield Row(group, RowKind.EXCHANGE, content[0], self.name, content[1], content)

    def _ask(self, frame: KeptFrame, at_ms: float) -> None:
        exchange = self.ask(frame, at_ms)
        exchange.frame, exchange.fault = frame.payload, NOT_WHOLE if frame.left_out else ""
        if exchange.api == _CLIENTS and not frame.left_out:
            fields = fields_of(decode_request, _CLIENTS, exchange.api_version, frame.payload) or {}
            if name := text(fields, "client_software_name"):
                self.client = f"{name} {text(fields, 'client_software_version')}".strip()
        self.notes.requests[exchange.api or f"key {request_head(frame.payload).key}"] += 1

    def _answer(self, frame: KeptFrame, at_ms: float) -> Iterator[Row]:
        exchange = self.answer(frame, at_ms)
        if exchange is None:
            self.without_request += 1
            return
        if exchange.api and descriptor(exchange.api).is_prompt:
            self.slowest_ms = max(self.slowest_ms, at_ms - exchange.free_ms)
        yield from self._whole(exchange, None if frame.left_out else frame.payload)

    def _whole(self, each: Exchange, answer: bytes | None) -> Iterator[Row]:
        if each.api not in READ and each.api != "DeleteTopics":
            return
        content = (
            *(each.asked_ms, each.asked_at, each.behind, each.free_ms, each.answered_ms),
            *(each.api, each.api_version, each.actor, None if each.fault else each.frame, answer),
            each.is_answered,
        )
        groups, transactional_id = named_in(each)
        if groups is None:
            self._unread.append(content)
            return
        when = (each.asked_ms, self.name, each.asked_at)
        for group in groups if transactional_id else ():
            if (link := (transactional_id, group)) not in self._linked:
                self._linked.add(link)
                yield Row("", RowKind.MEMBERSHIP, *when, link)
        self.groups.update(dict.fromkeys(groups))
        for group in groups if each.api not in OF_TRANSACTIONS else ():
            yield Row(group, RowKind.EXCHANGE, *when, content)
        if not groups or each.api in OF_TRANSACTIONS or shows_missing_topics(each, answer):
            yield Row("", RowKind.COMMON, *when, (*content, transactional_id))

    def _kept_of_response(self, head: bytes) -> int:
        waiting = self.waiting.by_id.get(int.from_bytes(head, "big", signed=True))
        return FRAME_BYTES_KEPT if waiting and waiting[0].api in WANTED else _RESPONSE_HEAD_BYTES

    def _search_requests(self, data: bytes) -> tuple[int, bool]:
        """Find a request in a stream of which bytes are missing."""
        if _is_one_request(data):
            return 0, True
        for found in _LIKE_A_REQUEST.finditer(data):
            begin = found.start()
            size = int.from_bytes(data[begin : begin + _SIZE_BYTES], "big")
            head = request_head(data[begin + _SIZE_BYTES : begin + _SEARCHED_HEAD_BYTES])
            is_of_client = self.client_id in (None, head.client_id)
            is_possible = _REQUEST_HEAD_BYTES - 2 <= size <= REQUEST_BYTES_MAX
            if head.api is not None and is_possible and is_of_client:
                return begin, True
        return max(len(data) - _SEARCHED_HEAD_BYTES, 0), False

    def _search_responses(self, data: bytes) -> tuple[int, bool]:
        """Find an answer that can be read and belongs to a request that awaits one."""
        begins, awaited = len(data), self.waiting.by_id
        for correlation_id in list(awaited)[-_SEARCHED_FOR:]:
            pattern = correlation_id.to_bytes(4, "big", signed=True)
            place = data.find(pattern, _SIZE_BYTES)
            while place >= 0:
                begin = place - _SIZE_BYTES
                is_answer = _is_answer(data[begin:], awaited[correlation_id][0], is_first=begin == 0)
                if is_answer:
                    return begin, True
                if is_answer is None:
                    begins = min(begins, begin)
                place = data.find(pattern, place + 1)
        can_wait = len(data) - begins <= _SEARCHED_BYTES_MAX
        return (begins, False) if begins < len(data) and can_wait else (max(len(data) - 7, 0), False)

    def _is_awaited(self) -> bool:
        """Return whether a replay needs any of the answers that may be missing."""
        return any(each.api in READ for waiting in self.waiting.by_id.values() for each in waiting)


def _kept_of_request(head: bytes) -> int:
    if request_head(head).api in WANTED:
        return FRAME_BYTES_KEPT
    client_id_size = int.from_bytes(head[_CLIENT_ID_SIZE], "big", signed=True)
    return _REQUEST_HEAD_BYTES + min(max(client_id_size, 0), _CLIENT_ID_KEPT)


def _is_one_request(data: bytes) -> bool:
    """Return whether bytes are exactly one request, of any client, as most segments are."""
    size = int.from_bytes(data[:_SIZE_BYTES], "big", signed=True)
    if size < _REQUEST_HEAD_BYTES or len(data) != _SIZE_BYTES + size:
        return False
    head, payload = request_head(data[_SIZE_BYTES:]), data[_SIZE_BYTES:]
    is_known = head.api is not None
    return is_known and fields_of(decode_request, head.api or "", head.version, payload) is not None


def _is_answer(data: bytes, asked: Exchange, *, is_first: bool) -> bool | None:
    """Return whether a stream goes on with the answer to a request; None if more bytes are needed."""
    size = int.from_bytes(data[:_SIZE_BYTES], "big", signed=True)
    if not _RESPONSE_HEAD_BYTES <= size <= RESPONSE_BYTES_MAX:
        return False
    if asked.api not in WANTED:
        return is_first
    if size > FRAME_BYTES_KEPT:
        return False
    payload = data[_SIZE_BYTES : _SIZE_BYTES + size]
    if len(payload) < size:
        return None
    try:
        read_response(asked.api, asked.api_version, KeptFrame(payload=payload, left_out=0))
    except WireError:
        return False
    return True
