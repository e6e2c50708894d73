"""Streams of bytes, parsed into frames only as far as passing them on requires.

Of a request, the first twelve bytes are read, and of a response the first eight. Responses that may lead
clients elsewhere are buffered until they are complete, and decoded. All other bytes are passed on as they
came. Where a stream cannot consist of frames, the rest is passed on unread, since refusing it is up to the
broker.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.apis.table import APIS
from harness.tap.journal import Endpoint, Remark
from harness.targets.external.guard import PRODUCE_BY_NAME_MAX, Guard, NotOurs
from harness.wire.errors import WireError
from harness.wire.rewriting import API_VERSIONS_KEY, NEWEST_READ, Relocate, may_lead_elsewhere, rewritten
from harness.wire.schema import API_NAMES, api_key

FRAME_BYTES_KEPT: Final = 1 << 18
"""The bytes of each frame that are kept for the trace; a longer frame has a log's records."""
FRAME_BYTES_BUFFERED_MAX: Final = 1 << 24
"""The longest response that is buffered: one of 16 MB would name hundreds of thousands of brokers."""
REQUEST_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's own limit. Source: SocketServerConfigs#socket.request.max.bytes."""
RESPONSE_BYTES_MAX: Final = (1 << 31) - 1
"""The largest size that the length prefix can have, since brokers have no limit."""
_REQUEST_HEAD: Final = struct.Struct(">ihhi")
"""Size, API key, API version, correlation id."""
_RESPONSE_HEAD: Final = struct.Struct(">ii")
"""Size, correlation id."""
_SIZE: Final = struct.Struct(">i")
_SIZE_BYTES: Final = _SIZE.size
_REQUEST_BYTES_MIN: Final = _REQUEST_HEAD.size - _SIZE_BYTES
_VERSION_AT: Final = slice(6, 8)
_UNKNOWN_VERSION: Final = b"\x7f\xff"
_GIVE_EPOCHS: Final = frozenset(each.key for each in APIS.values() if each.gives_epoch)
_NEWEST_GUARDED: Final = {**NEWEST_READ, api_key("Produce"): PRODUCE_BY_NAME_MAX}
_SASL_AUTHENTICATE: Final = api_key("SaslAuthenticate")
"""Its request has a password, or a proof of one, so only its head goes into the trace."""
_AWAITED_MAX: Final = 4096
"""Requests without an answer (Produce with acks=0) are dropped once so many newer ones are awaited."""


@dataclass(slots=True)
class Dialogue:
    """What both streams of a connection share."""

    relocate: Relocate
    remark: Callable[[Remark], None]
    """Called with what a trace should say about bytes, before they are passed on."""
    conversation: str = ""
    """The name of the conversation that the client belongs to."""
    guard: Guard | None = None
    """Checks every request before it is passed on; None if clients are unrestricted."""
    refused: str | None = None
    """Why the guard refused a request; nothing is passed on after it."""
    awaited: dict[int, tuple[int, int]] = field(default_factory=dict)
    """API key and version by correlation id, of requests whose responses are decoded."""


@dataclass(slots=True)
class Stream:
    """One direction of a connection: the position in a frame, what is buffered, and what is left out."""

    dialogue: Dialogue
    offset: int = 0
    """The offset of the first byte that has not arrived yet."""
    left_out: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of the stream that are passed on but left out of the trace, first to last."""
    _is_unread: bool = False
    _remaining: int = 0
    """The number of bytes of the current frame that have not arrived yet."""
    _buffer: bytearray = field(default_factory=bytearray)
    """The beginning of a frame that is passed on only when more of it has arrived."""
    _wanted: int = 0
    """The number of bytes to buffer before that."""

    def take(self, data: bytes) -> bytes:
        """Process received bytes, and return the bytes to pass on."""
        self.offset += len(data)
        if self._is_unread:
            return data
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._wanted:
                return b""
            data = self.flush()
        return self._followed(data)

    def flush(self) -> bytes:
        """Empty the buffer and return its bytes, at the end of the stream or to process them again."""
        buffered = bytes(self._buffer)
        self._buffer.clear()
        return buffered

    def parts(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """Split the bytes just received into parts that are kept (True) and left out (False)."""
        position, end = self.offset - len(data), self.offset
        while self.left_out and self.left_out[0][0] < end:
            begin, until = self.left_out[0]
            if begin > position:
                yield True, data[position - end : begin - end]
                position = begin
            cut = min(until, end)
            yield False, data[position - end : cut - end or None]
            position = cut
            if until > end:
                return
            del self.left_out[0]
        if position < end:
            yield True, data[position - end :]

    def _followed(self, data: bytes) -> bytes:
        raise NotImplementedError

    def _buffer_up_to(self, data: bytes, position: int, wanted: int) -> bytes:
        self._remaining = 0
        self._buffer += data[position:]
        self._wanted = wanted
        return data[:position]

    def _give_up(self, data: bytes, side: Endpoint, announced: int) -> bytes:
        self._is_unread = True
        text = f"a frame of {announced} bytes announced: from here on bytes are passed unread"
        self.dialogue.remark(Remark(side=side, correlation_id=None, text=text))
        return data

    def _leave_out(self, to_come: int, size: int, *, kept: int = FRAME_BYTES_KEPT) -> None:
        """Keep only the beginning of a frame; `to_come` bytes have arrived since it began."""
        begin = self.offset - to_come + _SIZE_BYTES
        self.left_out.append((begin + kept, begin + size))


class RequestStream(Stream):
    """The stream from the client."""

    __slots__ = ()

    def _followed(self, data: bytes) -> bytes:
        position, end = self._remaining, len(data)
        while end - position >= _REQUEST_HEAD.size:
            size, key, version, correlation_id = _REQUEST_HEAD.unpack_from(data, position)
            if not _REQUEST_BYTES_MIN <= size <= REQUEST_BYTES_MAX:
                return self._give_up(data, Endpoint.CLIENT, size)
            if may_lead_elsewhere(key, version):
                data = self._awaiting(data, position, key, version, correlation_id)
            kept = _REQUEST_BYTES_MIN if key == _SASL_AUTHENTICATE else FRAME_BYTES_KEPT
            if size > kept:
                self._leave_out(end - position, size, kept=kept)
            position += _SIZE_BYTES + size
        if position >= end:
            self._remaining = position - end
            return data
        if end - position >= _SIZE_BYTES:
            (size,) = _SIZE.unpack_from(data, position)
            if not _REQUEST_BYTES_MIN <= size <= REQUEST_BYTES_MAX:
                return self._give_up(data, Endpoint.CLIENT, size)
        return self._buffer_up_to(
            data, position, _SIZE_BYTES if end - position < _SIZE_BYTES else _REQUEST_HEAD.size
        )

    def _awaiting(self, data: bytes, position: int, key: int, version: int, correlation_id: int) -> bytes:
        awaited = self.dialogue.awaited
        awaited[correlation_id] = (key, version)
        if len(awaited) > _AWAITED_MAX:
            del awaited[next(iter(awaited))]
        if key != API_VERSIONS_KEY or version <= NEWEST_READ[key]:
            return data
        # A broker answers an unknown version with the versions that it supports. Source: KIP-511.
        changed = bytearray(data)
        changed[position + _VERSION_AT.start : position + _VERSION_AT.stop] = _UNKNOWN_VERSION
        text = f"v{version} passed on as a version that nobody knows, for the client to ask in an older"
        self.dialogue.remark(Remark(side=Endpoint.CLIENT, correlation_id=correlation_id, text=text))
        return bytes(changed)


class GuardedRequestStream(RequestStream):
    """The stream from a client of the run to an external broker, whose complete requests are checked.

    From the first refused request on, nothing is passed on; `Dialogue.refused` has the reason.
    """

    __slots__ = ()

    def take(self, data: bytes) -> bytes:
        """Process received bytes, and return the complete requests that may be passed on."""
        self._buffer += data
        position = 0
        while self.dialogue.refused is None and len(self._buffer) - position >= _SIZE_BYTES:
            (size,) = _SIZE.unpack_from(self._buffer, position)
            begin, end = position + _SIZE_BYTES, position + _SIZE_BYTES + size
            if not _REQUEST_BYTES_MIN <= size <= REQUEST_BYTES_MAX:
                self._refuse(f"a frame of {size} bytes cannot be looked at", None)
            elif end > len(self._buffer):
                break
            elif self._may_pass(bytes(self._buffer[begin:end])):
                position = end
        passed = bytes(self._buffer[:position])
        del self._buffer[:position]
        self.offset += len(passed)
        return self._followed(passed)

    def flush(self) -> bytes:
        """Return no bytes, since the buffer has only an incomplete request."""
        return b""

    def _leave_out(self, to_come: int, size: int, *, kept: int = FRAME_BYTES_KEPT) -> None:
        """Leave nothing out: bytes are kept before they are passed on."""

    def _may_pass(self, payload: bytes) -> bool:
        _, key, version, correlation_id = _REQUEST_HEAD.unpack(_SIZE.pack(0) + payload[:_REQUEST_BYTES_MIN])
        assert self.dialogue.guard is not None
        try:
            self.dialogue.guard.refuse_frame(payload)
        except NotOurs as refused:
            self._refuse(str(refused), correlation_id)
            return False
        if key in _GIVE_EPOCHS:
            self.dialogue.awaited[correlation_id] = (key, version)
        return True

    def _refuse(self, why: str, correlation_id: int | None) -> None:
        self.dialogue.refused = why
        self.dialogue.remark(
            Remark(side=Endpoint.CLIENT, correlation_id=correlation_id, text=f"refused: {why}")
        )


class ResponseStream(Stream):
    """The stream from the broker."""

    __slots__ = ()

    def _followed(self, data: bytes) -> bytes:
        position, end = self._remaining, len(data)
        awaited = self.dialogue.awaited
        while end - position >= _RESPONSE_HEAD.size:
            size, correlation_id = _RESPONSE_HEAD.unpack_from(data, position)
            if size < _SIZE_BYTES:
                return self._give_up(data, Endpoint.BROKER, size)
            if correlation_id in awaited and self._is_buffered(size, correlation_id):
                if end - position < _SIZE_BYTES + size:
                    return self._buffer_up_to(data, position, _SIZE_BYTES + size)
                data, opened_size = self._opened(data, position, size)
                position += opened_size - size
                end = len(data)
            if size > FRAME_BYTES_KEPT:
                self._leave_out(end - position, size)
            position += _SIZE_BYTES + size
        if position >= end:
            self._remaining = position - end
            return data
        return self._buffer_up_to(data, position, _RESPONSE_HEAD.size)

    def _is_buffered(self, size: int, correlation_id: int) -> bool:
        if size <= FRAME_BYTES_BUFFERED_MAX:
            return True
        del self.dialogue.awaited[correlation_id]
        self._say(correlation_id, "too long to be kept back: passed as it came, with any address in it")
        return False

    def _opened(self, data: bytes, position: int, size: int) -> tuple[bytes, int]:
        """Return the data with the frame at a position rewritten, and the frame's new size."""
        begin, end = position + _SIZE_BYTES, position + _SIZE_BYTES + size
        payload = data[begin:end]
        (correlation_id,) = _SIZE.unpack_from(payload)
        key, version = self.dialogue.awaited.pop(correlation_id)
        guard = self.dialogue.guard
        if guard is not None and key in _GIVE_EPOCHS:
            guard.note_answer(API_NAMES[key], version, payload)
        newest = NEWEST_READ if guard is None else _NEWEST_GUARDED
        try:
            looked_at = rewritten(key, version, payload, self.dialogue.relocate, newest=newest)
        except (WireError, OSError) as error:
            self._say(correlation_id, f"passed as it came, with any address in it: {error}")
            return data, size
        if looked_at.note is None:
            return data, size
        self._say(correlation_id, looked_at.note)
        changed = looked_at.payload
        return data[:position] + _SIZE.pack(len(changed)) + changed + data[end:], len(changed)

    def _say(self, correlation_id: int, text: str) -> None:
        self.dialogue.remark(Remark(side=Endpoint.BROKER, correlation_id=correlation_id, text=text))
