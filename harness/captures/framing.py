"""Cut streams into whole frames, in the form of a tap's journal; other bytes are skipped and counted.

Only the head is kept of frames that no replay needs, so that records of topics and passwords go no further.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Final, TypeAlias

from typing_extensions import override

from harness.captures.notes import Notes
from harness.captures.streams import Ended, Gone, Happening, Opened, Piece
from harness.replay.gaps import Gap
from harness.replay.history import READ
from harness.tap.frames import KeptFrame, RequestHead, read_request, read_response, request_head
from harness.tap.framing import FRAME_BYTES_KEPT, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX
from harness.tap.journal import Closing, Endpoint, Entry, Kind, Opening, left_out
from harness.wire.errors import WireError

WANTED: Final = READ | {"ApiVersions"}
"""APIs whose frames are kept: those that a replay reads, and the one in which clients name themselves."""
_SIZE_BYTES: Final = 4
_REQUEST_HEAD_BYTES: Final = 10
"""API key, version, correlation id, size of the client id."""
_RESPONSE_HEAD_BYTES: Final = 4
_CLIENT_ID_SIZE: Final = slice(8, 10)
_CLIENT_ID_KEPT: Final = 256
_SEARCHED_HEAD_BYTES: Final = _SIZE_BYTES + _REQUEST_HEAD_BYTES + _CLIENT_ID_KEPT
_AWAITED_MAX: Final = 4_096
"""How many correlation ids may await an answer; beyond that, the oldest is forgotten."""
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
_Frame: TypeAlias = tuple[bytes, int]
"""The kept start of a frame, and the size of the rest."""


@dataclass(slots=True)
class _Dialogue:
    """State that both streams of a connection share."""

    name: str
    client_id: str | None = None
    awaited: dict[int, deque[RequestHead]] = field(default_factory=dict)
    """Requests that are not answered yet, by correlation id."""


@dataclass(slots=True)
class _Frames:
    """The frames of one stream."""

    dialogue: _Dialogue
    notes: Notes
    is_found: bool
    """Whether the start of the next frame is known."""
    buffer: bytearray = field(default_factory=bytearray)
    """The start of a frame, or the bytes that are searched for one."""
    size: int = -1
    """The size of the frame in the buffer; -1 if its head is incomplete."""
    kept: int = 0
    """How many bytes of the frame are kept."""
    to_skip: int = 0
    """How many bytes of the frame are still to come after the kept ones."""
    last_ms: float = 0.0
    """When the last whole frame was complete."""

    side: Endpoint = Endpoint.CLIENT
    head_bytes: int = _REQUEST_HEAD_BYTES
    least: int = _REQUEST_HEAD_BYTES - 2
    most: int = REQUEST_BYTES_MAX

    def take(self, piece: Piece) -> Iterator[_Frame]:
        """Process the next piece; yield the frames that are now complete."""
        data, skipped = piece.data, 0
        if piece.lost > self.to_skip:
            self._lose(piece.lost, piece.at_ms)
        elif piece.lost:
            self.notes.lost[self.dialogue.name, self.side] += piece.lost
            skipped = piece.lost
        if self.to_skip:
            from_data = min(self.to_skip - skipped, len(data))
            data = data[from_data:]
            self.to_skip -= skipped + from_data
            if self.to_skip:
                return
            yield self._whole(piece.at_ms)
        self.buffer += data
        yield from self._whole_frames(piece.at_ms)

    def end(self) -> None:
        """Count the bytes of an incomplete frame as skipped, unless only its unneeded rest is missing."""
        if not self.to_skip:
            self._skip(len(self.buffer))

    def _whole_frames(self, at_ms: float) -> Iterator[_Frame]:
        while self.is_found or self._found(at_ms):
            if self.size < 0 and not self._begins():
                if self.is_found:
                    return
                continue
            there = len(self.buffer) - _SIZE_BYTES
            if there < self.kept:
                return
            extra = min(there, self.size) - self.kept
            self.to_skip = self.size - self.kept - extra
            del self.buffer[_SIZE_BYTES + self.kept : _SIZE_BYTES + self.kept + extra]
            if self.to_skip:
                return
            yield self._whole(at_ms)

    def _whole(self, at_ms: float) -> _Frame:
        self.last_ms = at_ms
        end = _SIZE_BYTES + self.kept
        frame = bytes(self.buffer[:end])
        del self.buffer[:end]
        rest, self.size = self.size - self.kept, -1
        return frame, rest

    def _begins(self) -> bool:
        """Read the head of the frame in the buffer; return False if it is incomplete or not a valid head."""
        if len(self.buffer) < _SIZE_BYTES:
            return False
        size = int.from_bytes(self.buffer[:_SIZE_BYTES], "big", signed=True)
        if not self.least <= size <= self.most:
            self.is_found = False
            return False
        if len(self.buffer) - _SIZE_BYTES < min(size, self.head_bytes):
            return False
        self.size = size
        self.kept = min(size, self._kept_of(bytes(self.buffer[_SIZE_BYTES : _SIZE_BYTES + self.head_bytes])))
        return True

    def _lose(self, count: int, at_ms: float) -> None:
        self.notes.lost[self.dialogue.name, self.side] += count
        self._skip(len(self.buffer))
        self.size, self.to_skip, self.is_found = -1, 0, False
        self._miss(at_ms)

    def _skip(self, count: int) -> None:
        if count:
            self.notes.skipped[self.dialogue.name, self.side] += count
            del self.buffer[:count]

    def _found(self, at_ms: float) -> bool:
        """Search for the start of a frame, skip the bytes before it, and return whether there is one."""
        if not self.buffer:
            return False
        place, is_begin = self._search(bytes(self.buffer))
        if place:
            self._miss(at_ms)
        self._skip(place)
        self.is_found = is_begin
        return is_begin

    def _kept_of(self, head: bytes) -> int:
        raise NotImplementedError

    def _search(self, data: bytes) -> tuple[int, bool]:
        """Return how many bytes cannot start a frame, and whether a frame starts after them."""
        raise NotImplementedError

    def _miss(self, until_ms: float) -> None:
        """Note that a frame may be missing between the last whole one and a time."""
        gap = Gap(connection=self.dialogue.name, since_ms=self.last_ms, until_ms=until_ms)
        self.notes.gaps[self.dialogue.name].append(gap)


class _Requests(_Frames):
    __slots__ = ()

    @override
    def _kept_of(self, head: bytes) -> int:
        if request_head(head).api in WANTED:
            return FRAME_BYTES_KEPT
        client_id_size = int.from_bytes(head[_CLIENT_ID_SIZE], "big", signed=True)
        return _REQUEST_HEAD_BYTES + min(max(client_id_size, 0), _CLIENT_ID_KEPT)

    @override
    def _search(self, data: bytes) -> tuple[int, bool]:
        if _is_one_request(data):
            return 0, True
        for found in _LIKE_A_REQUEST.finditer(data):
            begin = found.start()
            size = int.from_bytes(data[begin : begin + _SIZE_BYTES], "big")
            head = request_head(data[begin + _SIZE_BYTES : begin + _SEARCHED_HEAD_BYTES])
            is_of_client = self.dialogue.client_id in (None, head.client_id)
            if head.api is not None and size <= REQUEST_BYTES_MAX and is_of_client:
                return begin, True
        return max(len(data) - _SEARCHED_HEAD_BYTES, 0), False


def _is_one_request(data: bytes) -> bool:
    """Return whether bytes are exactly one request, of any client, as most segments are."""
    size = int.from_bytes(data[:_SIZE_BYTES], "big", signed=True)
    if size < _REQUEST_HEAD_BYTES or len(data) != _SIZE_BYTES + size:
        return False
    try:
        read_request(request_head(data[_SIZE_BYTES:]), KeptFrame(payload=data[_SIZE_BYTES:], left_out=0))
    except WireError:
        return False
    return True


class _Responses(_Frames):
    __slots__ = ()

    @override
    def _kept_of(self, head: bytes) -> int:
        correlation_id = int.from_bytes(head, "big", signed=True)
        waiting = self.dialogue.awaited.get(correlation_id)
        return FRAME_BYTES_KEPT if waiting and waiting[0].api in WANTED else _RESPONSE_HEAD_BYTES

    @override
    def _search(self, data: bytes) -> tuple[int, bool]:
        """Find an answer that can be read and belongs to a request that awaits one."""
        begins = len(data)
        for correlation_id in list(self.dialogue.awaited)[-_SEARCHED_FOR:]:
            head = self.dialogue.awaited[correlation_id][0]
            pattern = correlation_id.to_bytes(4, "big", signed=True)
            place = data.find(pattern, _SIZE_BYTES)
            while place >= 0:
                begin = place - _SIZE_BYTES
                is_answer = _is_answer(data[begin:], head, is_first=begin == 0)
                if is_answer:
                    return begin, True
                if is_answer is None:
                    begins = min(begins, begin)
                place = data.find(pattern, place + 1)
        can_wait = len(data) - begins <= _SEARCHED_BYTES_MAX
        return (begins, False) if begins < len(data) and can_wait else (max(len(data) - 7, 0), False)

    @override
    def _miss(self, until_ms: float) -> None:
        """Note a gap, unless no replay needs any of the answers that may be missing."""
        if any(head.api in READ for waiting in self.dialogue.awaited.values() for head in waiting):
            super()._miss(until_ms)


def _is_answer(data: bytes, head: RequestHead, *, is_first: bool) -> bool | None:
    """Return whether a stream goes on with the answer to a request; None if more bytes are needed."""
    size = int.from_bytes(data[:_SIZE_BYTES], "big", signed=True)
    if not _RESPONSE_HEAD_BYTES <= size <= RESPONSE_BYTES_MAX:
        return False
    if head.api not in WANTED:
        return is_first
    if size > FRAME_BYTES_KEPT:
        return False
    payload = data[_SIZE_BYTES : _SIZE_BYTES + size]
    if len(payload) < size:
        return None
    try:
        read_response(head, KeptFrame(payload=payload, left_out=0))
    except WireError:
        return False
    return True


class _Framed:
    """Cuts the two streams of one connection into frames."""

    def __init__(self, opened: Opened, notes: Notes) -> None:
        dialogue = _Dialogue(name=opened.name)
        self._dialogue, self._notes = dialogue, notes
        self._requests = _Requests(dialogue, notes, is_found=opened.is_whole, last_ms=opened.at_ms)
        self._responses = _Responses(
            dialogue,
            notes,
            is_found=opened.is_whole,
            last_ms=opened.at_ms,
            side=Endpoint.BROKER,
            head_bytes=_RESPONSE_HEAD_BYTES,
            least=_RESPONSE_HEAD_BYTES,
            most=RESPONSE_BYTES_MAX,
        )
        self._is_encrypted = False
        if not opened.is_whole:
            until_ms = opened.at_ms - _A_MOMENT_MS
            gap = Gap(connection=dialogue.name, since_ms=-1.0, until_ms=until_ms, is_before=True)
            notes.gaps[dialogue.name].append(gap)

    def take(self, piece: Piece) -> Iterator[Entry]:
        if self._is_encrypted:
            return
        frames = self._requests if piece.side is Endpoint.CLIENT else self._responses
        if not frames.buffer and not frames.to_skip and _TLS.match(piece.data):
            self._is_encrypted = True
            self._notes.encrypted.add(self._dialogue.name)
            return
        for frame, rest in frames.take(piece):
            if piece.side is Endpoint.CLIENT:
                self._note_request(frame)
            elif not self._takes_answer(frame):
                self._notes.without_request[self._dialogue.name] += 1
                continue
            yield from self._entries(piece, frame, rest)

    def end(self) -> None:
        """Count the bytes of incomplete frames as skipped."""
        if not self._is_encrypted:
            self._requests.end()
            self._responses.end()

    def _note_request(self, frame: bytes) -> None:
        head = request_head(frame[_SIZE_BYTES:])
        self._dialogue.client_id = head.client_id or self._dialogue.client_id
        awaited = self._dialogue.awaited
        awaited.setdefault(head.correlation_id, deque()).append(head)
        if len(awaited) > _AWAITED_MAX:
            del awaited[next(iter(awaited))]

    def _takes_answer(self, frame: bytes) -> bool:
        correlation_id = int.from_bytes(frame[_SIZE_BYTES:][:_RESPONSE_HEAD_BYTES], "big", signed=True)
        waiting = self._dialogue.awaited.get(correlation_id)
        if not waiting:
            return False
        waiting.popleft()
        if not waiting:
            del self._dialogue.awaited[correlation_id]
        return True

    def _entries(self, piece: Piece, frame: bytes, rest: int) -> Iterator[Entry]:
        is_request = piece.side is Endpoint.CLIENT
        kind = Kind.REQUEST_BYTES if is_request else Kind.RESPONSE_BYTES
        yield Entry(kind=kind, connection=piece.connection, at_ms=piece.at_ms, content=frame)
        if rest:
            kind = Kind.REQUEST_BYTES_LEFT_OUT if is_request else Kind.RESPONSE_BYTES_LEFT_OUT
            content = left_out(rest)
            yield Entry(kind=kind, connection=piece.connection, at_ms=piece.at_ms, content=content)


def entries_of(happenings: Iterable[Happening], notes: Notes, *, conversation: str) -> Iterator[Entry]:
    """Yield the whole frames and the end of each connection, as entries of a tap's journal.

    Args:
        happenings: the streams of the connections, from their starts to their ends.
        notes: skipped bytes, and times in which requests or answers may be missing, are added here.
        conversation: the name of the conversation that all connections are part of.
    """
    open_now: dict[int, _Framed] = {}
    for happening in happenings:
        match happening:
            case Opened():
                open_now[happening.connection] = _Framed(happening, notes)
                yield _opening(happening, conversation)
            case Piece():
                yield from open_now[happening.connection].take(happening)
            case Ended():
                yield _closing(happening)
            case Gone():
                open_now.pop(happening.connection).end()
                yield Entry(kind=Kind.GONE, connection=happening.connection, at_ms=0.0, content=b"")


def _opening(opened: Opened, conversation: str) -> Entry:
    opening = Opening(
        conversation=conversation,
        client=opened.client,
        broker=opened.name,
        address=opened.broker,
    )
    content = json.dumps(asdict(opening)).encode()
    return Entry(kind=Kind.OPENED, connection=opened.connection, at_ms=opened.at_ms, content=content)


def _closing(ended: Ended) -> Entry:
    content = json.dumps(asdict(Closing(side=ended.side, how=ended.how))).encode()
    return Entry(kind=Kind.CLOSED, connection=ended.connection, at_ms=ended.at_ms, content=content)
