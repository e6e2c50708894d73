"""Frames in a recorded stream: how they are cut, whatever of the stream is missing, and decoded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple, TypeVar, cast

from harness.invariants.exchange import Exchange, Waiting
from harness.tap.framing import REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX
from harness.tap.journal import Endpoint
from harness.wire.codec import Decoded, decode_request, decode_response
from harness.wire.errors import WireError
from harness.wire.schema import API_NAMES

_SIZE_BYTES: Final = 4
_HEAD: Final = Struct(">hhi")
"""API key, version, correlation id."""
ID_IN_REQUEST: Final = 4
"""Where a request has its correlation id; a response begins with it."""
_CLIENT_ID_SIZE: Final = slice(8, 10)
_REQUEST_HEAD_BYTES: Final = 8
_REMEMBERED_BYTES_MAX: Final = 512
_NEGOTIATION: Final = "ApiVersions"
_NO_ID: Final = bytes(4)
Read = TypeVar("Read")


class KeptFrame(NamedTuple):
    """A frame without its length prefix, as far as it was recorded."""

    payload: bytes
    left_out: int
    """How many of its bytes were not recorded."""


@dataclass(slots=True)
class FrameCutter:
    """Cuts one stream into frames, of which it keeps as many bytes as somebody reads."""

    side: Endpoint
    """The side that sends it."""
    head_bytes: int = 0
    """How many bytes of a frame decide how many are kept."""
    kept_of: Callable[[bytes], int] = lambda _: RESPONSE_BYTES_MAX
    """Returns how many bytes of a frame are kept, by its first bytes."""
    search: Callable[[bytes], tuple[int, bool]] | None = None
    """Finds the next frame where bytes are missing: returns how many bytes cannot start one, and whether one
    starts after them. Without it, a stream that is not one of frames is given up."""
    is_missed: Callable[[], bool] = lambda: True
    """Returns whether somebody needs a frame that may be missing now."""
    is_found: bool = True
    """Whether the start of the next frame is known."""
    buffer: bytearray = field(default_factory=bytearray)
    """The start of a frame, or the bytes that are searched for one."""
    announced: int | None = None
    """The size that no frame can have, because of which the stream was given up."""
    size: int = -1
    """The size of the frame in the buffer; -1 if its head is incomplete."""
    kept: int = 0
    to_skip: int = 0
    """How many bytes of the frame are still to come after the kept ones."""
    last_ms: float = 0.0
    """When the last whole frame was complete."""
    lost: int = 0
    """How many bytes are missing."""
    skipped: int = 0
    """How many bytes are there and belong to no whole frame."""
    gaps: dict[float, float] = field(default_factory=dict)
    """The times between which frames may be missing."""
    least: int = field(init=False)
    """The fewest bytes that a frame can have."""
    most: int = field(init=False)
    """The most bytes that it can have."""

    def __post_init__(self) -> None:
        """Set the limits of the stream's frames."""
        is_request = self.side is Endpoint.CLIENT
        self.least = _REQUEST_HEAD_BYTES if is_request else _SIZE_BYTES
        self.most = REQUEST_BYTES_MAX if is_request else RESPONSE_BYTES_MAX

    def take(
        self, data: bytes, *, at_ms: float = 0.0, lost: int = 0, left_out: int = 0
    ) -> Iterator[KeptFrame]:
        """Process the next bytes; yield the frames that are now complete.

        Before them, `lost` bytes are missing, and the recorder left out others of the current frame.
        """
        if self.announced is not None:
            return
        size, is_next = len(data) - _SIZE_BYTES, self.is_found and not (lost or left_out or self.buffer)
        if is_next and self.least <= size <= self.most and size == int.from_bytes(data[:_SIZE_BYTES], "big"):
            # A piece that is exactly one frame, as most are, need not be put together.
            self.last_ms = at_ms
            kept = min(size, self.kept_of(data[_SIZE_BYTES : _SIZE_BYTES + self.head_bytes]))
            yield KeptFrame(data[_SIZE_BYTES : _SIZE_BYTES + kept], size - kept)
            return
        if left_out and not self.to_skip and self._begins(is_cut=True):
            self.kept = min(self.kept, len(self.buffer) - _SIZE_BYTES)
            self.to_skip = self.size - self.kept
        skipped = min(left_out, self.to_skip)
        if lost > self.to_skip:
            self._lose(lost, at_ms)
        elif lost and self.search is not None:
            self.lost += lost
            skipped = lost
        if self.to_skip:
            from_data = min(self.to_skip - skipped, len(data))
            data = data[from_data:]
            self.to_skip -= skipped + from_data
            if self.to_skip:
                return
            yield self._whole(at_ms)
        self.buffer += data
        yield from self._whole_frames(at_ms)

    def end(self) -> None:
        """Count the bytes of an incomplete frame as skipped, unless only its unneeded rest is missing."""
        if not self.to_skip:
            self._skip(len(self.buffer))

    def _whole_frames(self, at_ms: float) -> Iterator[KeptFrame]:
        while self.is_found or self._found(at_ms):
            if self.size < 0 and not self._begins():
                if self.is_found or self.announced is not None:
                    return
                # Nothing begins here, whatever the search says of it.
                self._miss(at_ms)
                self._skip(1)
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

    def _whole(self, at_ms: float) -> KeptFrame:
        self.last_ms = at_ms
        end = _SIZE_BYTES + self.kept
        frame = KeptFrame(bytes(self.buffer[_SIZE_BYTES:end]), self.size - self.kept)
        del self.buffer[:end]
        self.size = -1
        return frame

    def _begins(self, *, is_cut: bool = False) -> bool:
        """Read the head of the frame in the buffer; return False if it is incomplete or not a valid head."""
        if len(self.buffer) < _SIZE_BYTES:
            return False
        size = int.from_bytes(self.buffer[:_SIZE_BYTES], "big", signed=True)
        if not self.least <= size <= self.most:
            self.is_found = False
            self.announced = size if self.search is None else None
            return False
        if len(self.buffer) - _SIZE_BYTES < min(size, self.head_bytes) and not is_cut:
            return False
        self.size = size
        head = bytes(self.buffer[_SIZE_BYTES : _SIZE_BYTES + self.head_bytes])
        self.kept = min(size, self.kept_of(head))
        return True

    def _lose(self, count: int, at_ms: float) -> None:
        self.lost += count
        self._skip(len(self.buffer))
        self.size, self.to_skip, self.is_found = -1, 0, False
        self._miss(at_ms)

    def _skip(self, count: int) -> None:
        if self.search is not None:
            self.skipped += count
            del self.buffer[:count]

    def _miss(self, until_ms: float) -> None:
        if self.search is not None and self.is_missed():
            self.gaps[self.last_ms] = until_ms  # The same one may go on.

    def _found(self, at_ms: float) -> bool:
        """Search for the start of a frame, skip the bytes before it, and return whether there is one."""
        if not self.buffer or self.search is None:
            return False
        place, is_begin = self.search(bytes(self.buffer))
        if place:
            self._miss(at_ms)
        self._skip(place)
        self.is_found = is_begin
        return is_begin


class RequestHead(NamedTuple):
    """The fields that every request begins with."""

    api: str | None
    """None if no known release has the key."""
    key: int
    version: int
    correlation_id: int
    client_id: str | None


def request_head(payload: bytes) -> RequestHead:
    """Read the beginning of a request, which must have the fewest bytes that a request can have."""
    key, version, correlation_id = _HEAD.unpack_from(payload)
    size = int.from_bytes(payload[_CLIENT_ID_SIZE], "big", signed=True)
    begin = _CLIENT_ID_SIZE.stop
    return RequestHead(
        api=API_NAMES.get(key),
        key=key,
        version=version,
        correlation_id=correlation_id,
        client_id=payload[begin : begin + size].decode("utf-8", errors="replace") if size > 0 else None,
    )


@dataclass(slots=True, kw_only=True)
class Line:
    """One connection: its streams are cut into frames, and its requests are paired with their answers."""

    cutters: dict[Endpoint, FrameCutter] = field(
        default_factory=lambda: {each: FrameCutter(each) for each in (Endpoint.CLIENT, Endpoint.BROKER)}
    )
    waiting: Waiting = field(default_factory=Waiting)
    client_id: str | None = None
    """The last one that a request had."""
    asked_count: int = 0

    def ask(self, frame: KeptFrame, at_ms: float) -> Exchange:
        """Return the exchange that a request begins."""
        head = request_head(frame.payload)
        self.client_id = head.client_id or self.client_id
        exchange = Exchange(
            api=head.api or "",
            api_version=head.version,
            actor=self.client_id,
            request={},
            asked_ms=at_ms,
            asked_at=self.asked_count,
        )
        self.asked_count += 1
        self.waiting.ask(exchange, head.correlation_id)
        return exchange

    def answer(self, frame: KeptFrame, at_ms: float) -> Exchange | None:
        """Return the exchange that an answer completes; None if no request awaits it."""
        correlation_id = int.from_bytes(frame.payload[:_SIZE_BYTES], "big", signed=True)
        return self.waiting.answer(correlation_id, at_ms=at_ms, at=self.asked_count)


def read_request(api: str, version: int, frame: KeptFrame) -> Decoded:
    """Decode a whole request.

    Raises:
        WireError: it is not a request, was not recorded whole, or is of an unknown API or version.
    """
    if not api:
        raise WireError(f"no API is known by the key {_HEAD.unpack_from(frame.payload)[0]}")
    return read_once(decode_request, api, version, payload=_whole(frame), id_at=ID_IN_REQUEST)


def read_response(api: str, version: int, frame: KeptFrame) -> Decoded:
    """Decode a whole response to a request of this API and version.

    Raises:
        WireError: it is not a response, was not recorded whole, or is of an unknown API or version.
    """
    if not api:
        raise WireError("no API is known by the key of its request")
    payload = _whole(frame)
    try:
        return read_once(decode_response, api, version, payload=payload, id_at=0)
    except WireError:
        if api != _NEGOTIATION or version == 0:
            raise
        # A broker answers a version that it does not support with a response of version 0. Source: KIP-511.
        return read_once(decode_response, api, 0, payload=payload, id_at=0)


def _whole(frame: KeptFrame) -> bytes:
    if frame.left_out:
        size = len(frame.payload) + frame.left_out
        raise WireError(f"of {size} bytes the first {len(frame.payload)} were kept")
    return frame.payload


def read_once(read: Callable[..., Read], *how: object, payload: bytes, id_at: int) -> Read:
    """Return what a function reads in a message; what it reads in small ones is remembered.

    Heartbeats and empty fetches repeat the same bytes but for the correlation id, so that is zeroed.
    """
    if len(payload) > _REMEMBERED_BYTES_MAX:
        return read(*how, payload)
    anonymous = payload[:id_at] + _NO_ID + payload[id_at + _SIZE_BYTES :]
    return cast("Read", _remembered(read, *how, anonymous))


@lru_cache(maxsize=16_384)
def _remembered(read: Callable[..., object], *what: object) -> object:
    return read(*what)
