"""Frames that were kept, put together again and read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from harness.tap.framing import REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX
from harness.wire.codec import Decoded, decode_request, decode_response
from harness.wire.errors import WireError
from harness.wire.schema import API_NAMES

_SIZE_BYTES: Final = 4
_KEY: Final = slice(0, 2)
_VERSION: Final = slice(2, 4)
_CORRELATION_ID: Final = slice(4, 8)
_CLIENT_ID_SIZE: Final = slice(8, 10)
_REQUEST_HEAD_BYTES: Final = 8
_REMEMBERED_BYTES_MAX: Final = 512
_NEGOTIATION: Final = "ApiVersions"
_NO_CORRELATION_ID: Final = b"\0\0\0\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFrame:
    """A frame without its length prefix, as far as it was kept."""

    payload: bytes
    left_out: int
    """How many bytes of it were not."""


@dataclass(slots=True)
class Assembler:
    """Puts the frames of one stream together."""

    least: int
    """The fewest bytes that a frame of this stream can have."""
    most: int
    """And the most."""
    rest: bytearray = field(default_factory=bytearray)
    announced: int | None = None
    """A size that no frame can have: the stream is not one of frames any more."""
    is_given_up: bool = False
    """Whether that was told."""
    _left_out: int = 0

    def frames(self, data: bytes, *, left_out: int = 0) -> Iterator[KeptFrame]:
        """Take in what comes next, or how much of it was left out, and yield what is whole now."""
        self.rest += data
        self._left_out += left_out
        position = 0
        while self.announced is None and len(self.rest) - position >= _SIZE_BYTES:
            begin = position + _SIZE_BYTES
            size = int.from_bytes(self.rest[position:begin], "big", signed=True)
            if not self.least <= size <= self.most:
                self.announced = size
                break
            if len(self.rest) + self._left_out - begin < size:
                break
            kept = size - self._left_out
            position = begin + kept
            yield KeptFrame(payload=bytes(self.rest[begin:position]), left_out=self._left_out)
            self._left_out = 0
        del self.rest[:position]


def request_assembler() -> Assembler:
    """Return what puts a client's requests together."""
    return Assembler(least=_REQUEST_HEAD_BYTES, most=REQUEST_BYTES_MAX)


def response_assembler() -> Assembler:
    """Return what puts a broker's responses together."""
    return Assembler(least=_SIZE_BYTES, most=RESPONSE_BYTES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """What every request begins with."""

    api: str | None
    """None for a key that no release known here has."""
    key: int
    version: int
    correlation_id: int
    client_id: str | None


def request_head(payload: bytes) -> RequestHead:
    """Read the beginning of a request, which has the least that one can have."""
    key = int.from_bytes(payload[_KEY], "big", signed=True)
    size = int.from_bytes(payload[_CLIENT_ID_SIZE], "big", signed=True)
    begin = _CLIENT_ID_SIZE.stop
    return RequestHead(
        api=API_NAMES.get(key),
        key=key,
        version=int.from_bytes(payload[_VERSION], "big", signed=True),
        correlation_id=int.from_bytes(payload[_CORRELATION_ID], "big", signed=True),
        client_id=payload[begin : begin + size].decode("utf-8", errors="replace") if size > 0 else None,
    )


def read_request(head: RequestHead, frame: KeptFrame) -> Decoded:
    """Read a whole request.

    Raises:
        WireError: it is none, was not kept whole, or is of an API or version that is not known.
    """
    payload = _whole(head, frame)
    assert head.api is not None
    if len(payload) > _REMEMBERED_BYTES_MAX:
        return decode_request(head.api, head.version, payload)
    anonymous = payload[: _CORRELATION_ID.start] + _NO_CORRELATION_ID + payload[_CORRELATION_ID.stop :]
    return _remembered_request(head.api, head.version, anonymous)


def read_response(head: RequestHead, frame: KeptFrame) -> Decoded:
    """Read a whole response to the request that began so.

    Raises:
        WireError: it is none, was not kept whole, or is of an API or version that is not known.
    """
    payload = _whole(head, frame)
    assert head.api is not None
    try:
        return _read_response(head.api, head.version, payload)
    except WireError:
        if head.api != _NEGOTIATION or head.version == 0:
            raise
        # In version 0, whatever was asked, a broker says which versions it knows. Source: KIP-511.
        return _read_response(head.api, 0, payload)


def _read_response(api: str, version: int, payload: bytes) -> Decoded:
    if len(payload) > _REMEMBERED_BYTES_MAX:
        return decode_response(api, version, payload)
    return _remembered_response(api, version, _NO_CORRELATION_ID + payload[_SIZE_BYTES:])


def _whole(head: RequestHead, frame: KeptFrame) -> bytes:
    if head.api is None:
        raise WireError(f"no API is known by the key {head.key}")
    if frame.left_out:
        size = len(frame.payload) + frame.left_out
        raise WireError(f"of {size} bytes the first {len(frame.payload)} were kept")
    return frame.payload


# Heartbeats, and fetches that bring nothing, come again and again with the same bytes.
@lru_cache(maxsize=4096)
def _remembered_request(api: str, version: int, payload: bytes) -> Decoded:
    return decode_request(api, version, payload)


@lru_cache(maxsize=4096)
def _remembered_response(api: str, version: int, payload: bytes) -> Decoded:
    return decode_response(api, version, payload)
