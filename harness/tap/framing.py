"""Streams of bytes, cut into frames, which are passed on and recorded.

Of a request, the first twelve bytes are read, and of a response the first eight. Responses that may lead
clients elsewhere are decoded. All other bytes are passed on as they came, whole frames at a time. Where a
stream cannot consist of frames, the rest is passed on unread, since refusing it is up to the broker.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

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
    """One direction of a connection, which is passed on frame by frame, or unread if it has no frames.

    A long frame is passed on once its beginning has arrived.
    """

    dialogue: Dialogue
    kept: list[tuple[bytearray, int]] = field(default_factory=list)
    """What to record: bytes, each with the number of bytes after them that are left out. Readers empty it."""
    _is_unread: bool = False
    _to_come: int = 0
    """How many bytes of a frame have not arrived yet, whose beginning was passed on."""
    _buffer: bytearray = field(default_factory=bytearray)

    side: ClassVar[Endpoint]
    head: ClassVar[int]
    """The fewest bytes that a frame has, its size included."""
    most: ClassVar[int]
    """The largest size that one can have."""

    def take(self, data: bytes) -> bytes:
        """Process received bytes, and return the bytes to pass on."""
        self._buffer += data
        passed = bytearray()
        while (piece := self._next()) is not None:
            passed += piece
        return bytes(passed)

    def flush(self) -> bytes:
        """Return the bytes of an incomplete frame at the end of the stream."""
        rest = self._cut(len(self._buffer))
        self._keep(rest, 0)
        return rest

    def _next(self) -> bytes | None:
        """Return what may be passed on next; None before more has arrived."""
        if self._is_unread:
            return self.flush() or None
        if self._to_come:
            rest = self._cut(self._to_come)
            self._to_come -= len(rest)
            self._keep(b"", len(rest))
            return rest or None
        if len(self._buffer) < _SIZE_BYTES:
            return None
        (size,) = _SIZE.unpack_from(self._buffer)
        if not self.head - _SIZE_BYTES <= size <= self.most:
            return self._given_up(size)
        if len(self._buffer) < self.head:
            return None
        awaited, kept = (min(size, each) for each in self._limits(size))
        if len(self._buffer) < _SIZE_BYTES + awaited:
            return None
        frame = self._cut(_SIZE_BYTES + awaited)
        self._to_come = size - awaited
        self._keep(frame[: _SIZE_BYTES + kept], awaited - kept)
        return self._passed(frame)

    def _cut(self, size: int) -> bytes:
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        return piece

    def _keep(self, kept: bytes, left_out: int) -> None:
        if not (self.kept and kept and not self.kept[-1][1]):
            self.kept.append((bytearray(), 0))
        self.kept[-1] = (self.kept[-1][0] + kept, left_out)

    def _given_up(self, announced: int) -> bytes | None:
        """Return what is passed on of a stream that is not one of frames, because none has such a size."""
        self._is_unread = True
        text = f"a frame of {announced} bytes announced: from here on bytes are passed unread"
        if self.dialogue.guard is not None and self.side is Endpoint.CLIENT:
            self.dialogue.refused = f"a frame of {announced} bytes cannot be looked at"
            text = f"refused: {self.dialogue.refused}"
        self._say(None, text)
        return self.flush()

    def _say(self, correlation_id: int | None, text: str) -> None:
        self.dialogue.remark(Remark(side=self.side, correlation_id=correlation_id, text=text))

    def _limits(self, size: int) -> tuple[int, int]:
        """Return how many bytes of a frame are awaited before any are passed on, and how many recorded."""
        raise NotImplementedError

    def _passed(self, frame: bytes) -> bytes:
        """Return a frame, or its beginning, as it is passed on."""
        raise NotImplementedError


class RequestStream(Stream):
    """The stream from the client.

    A guard checks whole requests. From the first one that it refuses on, nothing is passed on, and
    `Dialogue.refused` has the reason.
    """

    __slots__ = ()
    side, head, most = Endpoint.CLIENT, _REQUEST_HEAD.size, REQUEST_BYTES_MAX

    def take(self, data: bytes) -> bytes:
        """Process received bytes, and return the requests to pass on."""
        # Slots make a new class, which `super()` without arguments does not find.
        return b"" if self.dialogue.refused is not None else Stream.take(self, data)

    def flush(self) -> bytes:
        """Return the bytes of an incomplete request, which a guard does not let pass."""
        rest = Stream.flush(self)
        return rest if self.dialogue.guard is None else b""

    def _limits(self, size: int) -> tuple[int, int]:
        _, key, _, _ = _REQUEST_HEAD.unpack_from(self._buffer)
        kept = _REQUEST_BYTES_MIN if key == _SASL_AUTHENTICATE else FRAME_BYTES_KEPT
        return FRAME_BYTES_KEPT if self.dialogue.guard is None else size, kept

    def _passed(self, frame: bytes) -> bytes:
        _, key, version, correlation_id = _REQUEST_HEAD.unpack_from(frame)
        awaited, guard = self.dialogue.awaited, self.dialogue.guard
        if self.dialogue.refused is not None:
            return b""
        if guard is not None:
            try:
                guard.refuse_frame(frame[_SIZE_BYTES:])
            except NotOurs as refused:
                self.dialogue.refused = str(refused)
                self._say(correlation_id, f"refused: {refused}")
                return b""
        if may_lead_elsewhere(key, version) or (guard is not None and key in _GIVE_EPOCHS):
            awaited[correlation_id] = (key, version)
            if len(awaited) > _AWAITED_MAX:
                del awaited[next(iter(awaited))]
        if key != API_VERSIONS_KEY or version <= NEWEST_READ[key]:
            return frame
        # A broker answers an unknown version with the versions that it supports. Source: KIP-511.
        text = f"v{version} passed on as a version that nobody knows, for the client to ask in an older"
        self._say(correlation_id, text)
        return frame[: _VERSION_AT.start] + _UNKNOWN_VERSION + frame[_VERSION_AT.stop :]


class ResponseStream(Stream):
    """The stream from the broker."""

    __slots__ = ()
    side, head, most = Endpoint.BROKER, _RESPONSE_HEAD.size, RESPONSE_BYTES_MAX

    def _limits(self, size: int) -> tuple[int, int]:
        _, correlation_id = _RESPONSE_HEAD.unpack_from(self._buffer)
        if correlation_id in self.dialogue.awaited:
            if size <= FRAME_BYTES_BUFFERED_MAX:
                return size, FRAME_BYTES_KEPT
            del self.dialogue.awaited[correlation_id]
            self._say(correlation_id, "too long to be kept back: passed as it came, with any address in it")
        return FRAME_BYTES_KEPT, FRAME_BYTES_KEPT

    def _passed(self, frame: bytes) -> bytes:
        _, correlation_id = _RESPONSE_HEAD.unpack_from(frame)
        if correlation_id not in self.dialogue.awaited:
            return frame
        key, version = self.dialogue.awaited.pop(correlation_id)
        payload, guard = frame[_SIZE_BYTES:], self.dialogue.guard
        if guard is not None and key in _GIVE_EPOCHS:
            guard.note_answer(API_NAMES[key], version, payload)
        newest = NEWEST_READ if guard is None else _NEWEST_GUARDED
        try:
            looked_at = rewritten(key, version, payload, self.dialogue.relocate, newest=newest)
        except (WireError, OSError) as error:
            self._say(correlation_id, f"passed as it came, with any address in it: {error}")
            return frame
        if looked_at.note is None:
            return frame
        self._say(correlation_id, looked_at.note)
        return _SIZE.pack(len(looked_at.payload)) + looked_at.payload
