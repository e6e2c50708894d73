"""Reassembly and decoding of the frames in a journal."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from harness.tap.framing import REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX
from harness.wire.codec import Decoded, decode_request, decode_response
from harness.wire.errors import WireError
from harness.wire.schema import API_NAMES

_SIZE_BYTES: Final = 4
_HEAD: Final = Struct(">hhi")
"""API key, version, correlation id."""
_CORRELATION_ID: Final = slice(4, 8)
_CLIENT_ID_SIZE: Final = slice(8, 10)
_REQUEST_HEAD_BYTES: Final = 8
_REMEMBERED_BYTES_MAX: Final = 512
_NEGOTIATION: Final = "ApiVersions"
_NO_CORRELATION_ID: Final = b"\0\0\0\0"


class KeptFrame(NamedTuple):
    """A frame without its length prefix, as far as it was recorded."""

    payload: bytes
    left_out: int
    """How many of its bytes were not recorded."""


@dataclass(slots=True)
class Assembler:
    """Reassembles the frames of one stream."""

    least: int
    """The fewest bytes that a frame of this stream can have."""
    most: int
    """The most bytes that it can have."""
    rest: bytearray = field(default_factory=bytearray)
    announced: int | None = None
    """A size that no frame can have, after which the stream no longer consists of frames."""
    is_given_up: bool = False
    """Whether that was reported."""
    _left_out: int = 0

    def frames(self, data: bytes, *, left_out: int = 0) -> Iterator[KeptFrame]:
        """Add the next bytes, or how many were left out, and yield the frames that are complete now."""
        if not (left_out or self._left_out or self.rest) and self._is_frame(data):
            yield KeptFrame(data[_SIZE_BYTES:], 0)
            return
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

    def _is_frame(self, data: bytes) -> bool:
        """Return whether a piece is exactly one frame, as most are. Such a piece need not be put together."""
        size = len(data) - _SIZE_BYTES
        is_possible = self.announced is None and self.least <= size <= self.most
        return is_possible and size == int.from_bytes(data[:_SIZE_BYTES], "big")


def request_assembler() -> Assembler:
    """Return an assembler for a client's requests."""
    return Assembler(least=_REQUEST_HEAD_BYTES, most=REQUEST_BYTES_MAX)


def response_assembler() -> Assembler:
    """Return an assembler for a broker's responses."""
    return Assembler(least=_SIZE_BYTES, most=RESPONSE_BYTES_MAX)


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


def read_request(head: RequestHead, frame: KeptFrame) -> Decoded:
    """Decode a whole request.

    Raises:
        WireError: it is not a request, was not recorded whole, or is of an unknown API or version.
    """
    payload = _whole(head, frame)
    assert head.api is not None
    if len(payload) > _REMEMBERED_BYTES_MAX:
        return decode_request(head.api, head.version, payload)
    anonymous = payload[: _CORRELATION_ID.start] + _NO_CORRELATION_ID + payload[_CORRELATION_ID.stop :]
    return _remembered_request(head.api, head.version, anonymous)


def read_response(head: RequestHead, frame: KeptFrame) -> Decoded:
    """Decode a whole response to the request with this head.

    Raises:
        WireError: it is not a response, was not recorded whole, or is of an unknown API or version.
    """
    payload = _whole(head, frame)
    assert head.api is not None
    try:
        return _read_response(head.api, head.version, payload)
    except WireError:
        if head.api != _NEGOTIATION or head.version == 0:
            raise
        # A broker answers a version that it does not support with a response of version 0. Source: KIP-511.
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


# Heartbeats and empty fetches repeat with the same bytes.
@lru_cache(maxsize=4096)
def _remembered_request(api: str, version: int, payload: bytes) -> Decoded:
    return decode_request(api, version, payload)


@lru_cache(maxsize=4096)
def _remembered_response(api: str, version: int, payload: bytes) -> Decoded:
    return decode_response(api, version, payload)
