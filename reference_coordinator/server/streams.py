"""A client's bytes, cut into requests that wait until they are handled, and limits on their size.

A connection's next request is handled when the answer to the one before has been sent. Until then only a
limited amount is read from it; the rest stays with the client, as when Kafka mutes a channel.

Source: SocketServer.Processor#processCompletedReceives, #processCompletedSends (4.3.1).
"""

from collections import deque
from typing import Final

from reference_coordinator.broker.listener import ConnectionId
from reference_coordinator.server.long_requests import LongRequest

_SIZE_BYTES: Final = 4
_WAITING_BYTES_MAX: Final = 1 << 16
"""How many bytes of a connection may wait before the server stops reading from it."""
_UNCONFIRMED_BYTES_MAX: Final = 1 << 18
"""How many bytes may be in flight to a client before it must take some of them."""


class Stream:
    """The requests of one connection, and the amount of its answers in flight."""

    def __init__(self, connection: ConnectionId, number: int, *, request_max_bytes: int) -> None:
        """Begin.

        Args:
            connection: the listener's id of the connection.
            number: the I/O process's number of the connection.
            request_max_bytes: the largest request that is accepted.
        """
        self.connection = connection
        self.number = number
        self.frames: deque[bytes] = deque()
        """Requests that wait to be handled."""
        self.fault: str | None = None
        """Why the bytes after them are not a request; None if they may be one."""
        self.is_paused = False
        """Whether nothing is read from the client for now."""
        self.is_queued = False
        """Whether its next request is about to be handled."""
        self.took_s: float | None = None
        """How long its next request may take, estimated from its last ones; None before the first."""
        self.awaits_confirmation = False
        """Whether the client must take answers before its next request is handled."""
        self.unsent = memoryview(b"")
        """The rest of the last answer, which is sent as the client takes what was sent before."""
        self.long_request: LongRequest | None = None
        """The request that is handled in slices."""
        self.is_withheld = False
        """Whether an answer has to be saved before it is sent."""
        self._request_max_bytes = request_max_bytes
        self._incomplete = bytearray()
        self._wanted_bytes = 0
        self._waiting_bytes = 0
        self._unconfirmed_bytes = 0

    def take(self, data: bytes) -> None:
        """Process received bytes; those after a fault are ignored."""
        if self.fault is not None:
            return
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._wanted_bytes:
                return
            data = bytes(self._incomplete)
        frames, position, size = _cut(data, self._request_max_bytes)
        self.frames.extend(frames)
        self._waiting_bytes += sum(map(len, frames))
        self._incomplete = bytearray(data[position:])
        self._wanted_bytes = _SIZE_BYTES + size
        if not 0 <= size <= self._request_max_bytes:
            self.fault = f"a request of {size} bytes was announced"
            self._incomplete.clear()

    def next_frame(self) -> bytes:
        """Remove and return the request that has waited longest; there must be one."""
        frame = self.frames.popleft()
        self._waiting_bytes -= len(frame)
        return frame

    def pauses(self, *, is_busy: bool) -> bool:
        """Return whether reading must pause. A request that could be handled at once is read to its end."""
        waiting = self._waiting_bytes + (len(self._incomplete) if is_busy or self.frames else 0)
        return waiting > _WAITING_BYTES_MAX

    def sent(self, size: int) -> None:
        """Count bytes that are in flight to the client."""
        self._unconfirmed_bytes += size

    @property
    def is_blocked(self) -> bool:
        """Whether answers must be made and sent before the next request is handled."""
        return self.awaits_confirmation or self.is_withheld or self.long_request is not None

    @property
    def wants_confirmation(self) -> bool:
        """Whether so much is in flight, or to be sent, that the client must take some of it first."""
        return bool(self.unsent) or self._unconfirmed_bytes > _UNCONFIRMED_BYTES_MAX

    def confirmed(self) -> None:
        """Note that the client has taken everything that was in flight."""
        self.awaits_confirmation = False
        self._unconfirmed_bytes = 0


def _cut(stream: bytes, request_max_bytes: int) -> tuple[list[bytes], int, int]:
    """Return the complete frames, and the position and announced size of the first incomplete one."""
    frames: list[bytes] = []
    position, length, size = 0, len(stream), 0
    while length - position >= _SIZE_BYTES:
        begin = position + _SIZE_BYTES
        size = int.from_bytes(stream[position:begin], "big", signed=True)
        if not 0 <= size <= min(length - begin, request_max_bytes):
            return frames, position, size
        position = begin + size
        frames.append(stream[begin:position])
    return frames, position, 0
