"""One client's connection, carried to a broker: each direction is read only as fast as its other end accepts.

So backpressure reaches the far end, as without a tap.
"""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.tap.framing import Dialogue, RequestStream, ResponseStream, Stream
from harness.tap.journal import Closing, Endpoint, Kind, left_out

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
CHUNK_BYTES: Final = 1 << 17
_PATIENCE_S: Final = 30.0
"""How long to wait for one end to close after the other has."""
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class _End:
    """One end of a connection, with the stream of bytes from it."""

    side: Endpoint
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    stream: Stream


class Connection:
    """A client's streams and those of a broker."""

    def __init__(
        self, client: Streams, dialogue: Dialogue, keep: Callable[[Kind, bytes | Closing], None]
    ) -> None:
        """Begin with the client alone; `keep` writes to the journal."""
        self._dialogue, self._keep = dialogue, keep
        self._ends = [_End(Endpoint.CLIENT, *client, RequestStream(dialogue))]
        self._has_ended = False
        """Whether one end has ended, which is in the journal."""
        self._is_over = False

    async def carry(self, broker: Streams) -> None:
        """Carry bytes in both directions until both ends have closed, or one is lost."""
        (client,) = self._ends
        other = _End(Endpoint.BROKER, *broker, ResponseStream(self._dialogue))
        self._ends.append(other)
        if self._is_over:  # It ended while the broker was being reached.
            other.writer.close()
            return
        ways = [asyncio.ensure_future(self._one_way(*each)) for each in ((client, other), (other, client))]
        try:
            _, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if pending and not self._is_over:
                await asyncio.wait(pending, timeout=_PATIENCE_S)
        finally:
            for way in ways:
                way.cancel()
            self._close()

    async def _one_way(self, source: _End, target: _End) -> None:
        reading = source
        try:
            while data := await source.reader.read(CHUNK_BYTES):
                reading = target
                target.writer.write(source.stream.take(data))
                # Sent first, so that recording does not delay the receiver.
                self._record(source)
                if self._dialogue.refused is not None:
                    self.end(Endpoint.TAP, self._dialogue.refused, reset=False)
                    return
                await target.writer.drain()
                reading = source
        except OSError as error:
            self.end(reading.side, os.strerror(error.errno or 0), reset=True)
            return
        if self._is_over:
            return
        target.writer.write(source.stream.flush())
        self._record(source)
        self._note_end(source.side, "closed")
        if target.writer.can_write_eof():
            with contextlib.suppress(OSError):
                target.writer.write_eof()
        else:
            # TLS has no half-closed connections, so ending one direction ends both.
            self._close()

    def _record(self, source: _End) -> None:
        is_client = source.side is Endpoint.CLIENT
        kind = Kind.REQUEST_BYTES if is_client else Kind.RESPONSE_BYTES
        kind_left_out = Kind.REQUEST_BYTES_LEFT_OUT if is_client else Kind.RESPONSE_BYTES_LEFT_OUT
        for kept, count in source.stream.kept:
            if kept:
                self._keep(kind, bytes(kept))
            if count:
                self._keep(kind_left_out, left_out(count))
        source.stream.kept.clear()

    def _note_end(self, side: Endpoint, how: str) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._keep(Kind.CLOSED, Closing(side=side, how=how))

    def end(self, side: Endpoint, how: str, *, reset: bool) -> None:
        """End the connection at both ends at once.

        Args:
            side: the side that caused it.
            how: a description for people.
            reset: whether the ends get a reset instead of an orderly close.
        """
        if self._is_over:
            return
        for each in self._ends:
            each.stream.flush()
            self._record(each)
        self._note_end(side, how)
        for each in self._ends if reset else ():
            with contextlib.suppress(OSError):
                connected: socket.socket = each.writer.get_extra_info("socket")
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            each.writer.transport.abort()
        self._close()

    def _close(self) -> None:
        self._is_over = True
        for each in self._ends:
            each.writer.close()

    async def closed(self) -> None:
        """Wait until both ends are closed."""
        for each in self._ends:
            with contextlib.suppress(OSError):
                await each.writer.wait_closed()
