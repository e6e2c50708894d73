"""What a client sends, cut into requests that wait until they are handled, and how much of it there may be.

A connection's next request is handled when the answer to the one before has left, and only so much is read
from it before that: the rest stays with the client, as Kafka mutes a channel.

Source: SocketServer.Processor#processCompletedReceives, #processCompletedSends (4.3.1).
"""

from collections import deque
from typing import Final

from reference_coordinator.broker.listener import ConnectionId

_SIZE_BYTES: Final = 4
_WAITING_BYTES_MAX: Final = 1 << 16
"""What may wait of a connection before the rest is left with the client."""
_UNCONFIRMED_BYTES_MAX: Final = 1 << 18
"""What may be on its way to a client before it has to take some of it."""


class Stream:
    """What a connection's client sends, and what of the answers it has not taken yet."""

    def __init__(self, connection: ConnectionId, number: int, *, request_max_bytes: int) -> None:
        """Begin.

        Args:
            connection: as the listener knows it.
            number: as the process with the sockets knows it.
            request_max_bytes: the largest request that is taken.
        """
        self.connection = connection
        self.number = number
        self.frames: deque[bytes] = deque()
        """Requests that wait."""
        self.fault: str | None = None
        """Why what comes behind them is no request."""
        self.is_paused = False
        """Whether the client is not read from."""
        self.is_queued = False
        """Whether its next request is about to be handled."""
        self.took_s: float | None = None
        """How long its next request may take to handle, as its last ones tell; None before the first."""
        self.awaits_confirmation = False
        """Whether the client has to take answers before its next request is handled."""
        self.is_withheld = False
        """Whether an answer has to be saved before it is sent."""
        self._request_max_bytes = request_max_bytes
        self._incomplete = bytearray()
        self._wanted_bytes = 0
        self._waiting_bytes = 0
        self._unconfirmed_bytes = 0

    def take(self, data: bytes) -> None:
        """Take in bytes; nothing counts that comes behind a fault."""
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
        """Take out the request that has waited longest; there is one."""
        frame = self.frames.popleft()
        self._waiting_bytes -= len(frame)
        return frame

    def pauses(self, *, is_busy: bool) -> bool:
        """Whether enough is here for now. A request that nothing stands in the way of is read to its end."""
        waiting = self._waiting_bytes + (len(self._incomplete) if is_busy or self.frames else 0)
        return waiting > _WAITING_BYTES_MAX

    def sent(self, size: int) -> None:
        """Count what is on its way to the client."""
        self._unconfirmed_bytes += size

    @property
    def is_blocked(self) -> bool:
        """Whether answers have to leave before the next request is handled."""
        return self.awaits_confirmation or self.is_withheld

    @property
    def wants_confirmation(self) -> bool:
        """Whether so much is on its way that the client has to take some of it first."""
        return self._unconfirmed_bytes > _UNCONFIRMED_BYTES_MAX

    def confirmed(self) -> None:
        """Learn that the client has taken all that was on its way."""
        self.awaits_confirmation = False
        self._unconfirmed_bytes = 0


def _cut(stream: bytes, request_max_bytes: int) -> tuple[list[bytes], int, int]:
    """Return the whole frames, where the first that is not begins, and what size it announces, if it does."""
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
