"""Streams of bytes followed from frame to frame, as far as passing them on needs it and no further.

Of a request, twelve bytes are looked at; of a response eight. Responses that may lead clients elsewhere are
kept until they are whole and opened; all else is passed as it came. A stream that cannot be one of frames
is passed on unread from there, for it is the broker's to refuse it.
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
"""Of each frame, for the trace; what is longer is some log's records."""
FRAME_BYTES_BUFFERED_MAX: Final = 1 << 24
"""No longer response is kept back: one of 16 MB would name brokers by the hundred thousand."""
REQUEST_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's own limit. Source: SocketServerConfigs#socket.request.max.bytes."""
RESPONSE_BYTES_MAX: Final = (1 << 31) - 1
"""Brokers have none."""
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
"""Its request has a password, or a proof of one: only its head is for the trace."""
_AWAITED_MAX: Final = 4096
"""Requests without an answer (Produce with acks=0) are forgotten when so many are newer."""


@dataclass(slots=True)
class Dialogue:
    """What both streams of a connection share."""

    relocate: Relocate
    remark: Callable[[Remark], None]
    """Told what a trace should say, before the bytes that it is about are passed."""
    conversation: str = ""
    """Of the clients that it is with."""
    guard: Guard | None = None
    """What looks at every request before it is passed; None where clients are free."""
    refused: str | None = None
    """Why the guard did not let a request pass; nothing is passed after it."""
    awaited: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Correlation ids of requests whose responses are to be opened, with API key and version."""


@dataclass(slots=True)
class Stream:
    """One direction: where in a frame it is, what is kept back of it, and what of it is not kept."""

    dialogue: Dialogue
    offset: int = 0
    """Of the first byte that has not come yet."""
    left_out: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of the stream that are passed and not for the trace, first to last."""
    _is_unread: bool = False
    _remaining: int = 0
    """Bytes of the frame that is being passed which have not come yet."""
    _buffer: bytearray = field(default_factory=bytearray)
    """The beginning of a frame that is not passed before more of it came."""
    _wanted: int = 0
    """So many bytes."""

    def take(self, data: bytes) -> bytes:
        """Take in what came, and return what is to be passed on."""
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
        """Return what is kept back, for nothing more will come or it is to be looked at again."""
        buffered = bytes(self._buffer)
        self._buffer.clear()
        return buffered

    def parts(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """Cut what was just taken in where it is not to be kept; True is with what is."""
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
        """Keep only the beginning of a frame; `to_come` is how much of the stream came from its begin on."""
        begin = self.offset - to_come + _SIZE_BYTES
        self.left_out.append((begin + kept, begin + size))


class RequestStream(Stream):
    """From the client."""

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
        # Asked in a version that nobody knows, a broker says so and which it knows. Source: KIP-511.
        changed = bytearray(data)
        changed[position + _VERSION_AT.start : position + _VERSION_AT.stop] = _UNKNOWN_VERSION
        text = f"v{version} passed on as a version that nobody knows, for the client to ask in an older"
        self.dialogue.remark(Remark(side=Endpoint.CLIENT, correlation_id=correlation_id, text=text))
        return bytes(changed)


class GuardedRequestStream(RequestStream):
    """From a client of the run to a broker of others: each request is looked at when it is whole.

    Nothing is passed from the first request on that may not be: `Dialogue.refused` says why.
    """

    __slots__ = ()

    def take(self, data: bytes) -> bytes:
        """Take in what came, and return the requests that may be passed, each of them whole."""
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
        """Return nothing: what is kept back is no whole request."""
        return b""

    def _leave_out(self, to_come: int, size: int, *, kept: int = FRAME_BYTES_KEPT) -> None:
        """Keep every frame whole: what is kept runs ahead of what is passed."""

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
    """From the broker."""

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
        """Return the data with the frame that begins there looked at, and that frame's size now."""
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
