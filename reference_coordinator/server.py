"""The reference on a TCP port: frames in, effects out, one timer. No behaviour of Kafka's lives here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, cast

from typing_extensions import override

from reference_coordinator.ids import Millis
from reference_coordinator.listener import ConnectionId, Listener, Outgoing, SendFrame

_SIZE_BYTES: Final = 4
_REQUEST_MAX_BYTES: Final = 100 * 1024 * 1024
"""Kafka's `socket.request.max.bytes`."""
_MILLIS_PER_SECOND: Final = 1000
_TURNS_TO_SETTLE: Final = 5
"""More turns of the loop than a connection takes from accepted to made, or from aborted to closed."""
_LOGGER: Final = logging.getLogger(__name__)

ListenerFactory = Callable[[str, int], Listener]
"""Makes the listener when host and port are known; clients are told these."""


class Server:
    """Carries a listener's frames over connections, and keeps its clock.

    What comes in at once is handled at once: the clock is read, the timer set and each connection written
    to a single time, however many frames there were.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._connections: dict[ConnectionId, asyncio.Transport] = {}
        self._unsent: dict[ConnectionId, list[bytes]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: Millis | None = None
        self._clock_ms = Millis(0)

    def connected(self, transport: asyncio.Transport) -> ConnectionId:
        """Take a new connection."""
        client_host, *_ = transport.get_extra_info("peername")
        connection = self._listener.connected(client_host=client_host)
        self._connections[connection] = transport
        return connection

    def received(self, connection: ConnectionId, frames: Iterable[bytes]) -> None:
        """Pass frames on that came together."""
        now_ms = self._now_ms()
        for frame in frames:
            self._carry_out(self._listener.received(connection, frame, now_ms=now_ms))
        self._settle()

    def disconnected(self, connection: ConnectionId) -> None:
        """Forget a connection that is gone."""
        if self._connections.pop(connection, None) is not None:
            self._carry_out(self._listener.disconnected(connection, now_ms=self._now_ms()))
            self._settle()

    def refuse(self, connection: ConnectionId, reason: str) -> None:
        """Close a connection whose bytes are no frames."""
        transport = self._connections.get(connection)
        if transport is not None:
            _LOGGER.warning("connection %d is closed: %s", connection, reason)
            transport.close()
            self.disconnected(connection)

    def stop(self) -> None:
        """Close every connection and let no timer fire any more."""
        if self._timer is not None:
            self._timer.cancel()
        transports = tuple(self._connections.values())
        self._connections.clear()
        for transport in transports:
            transport.abort()

    def _carry_out(self, outgoing: Iterable[Outgoing]) -> None:
        for each in outgoing:
            connection = each.connection
            if isinstance(each, SendFrame):
                unsent = self._unsent.setdefault(connection, [])
                unsent.append(len(each.frame).to_bytes(_SIZE_BYTES, "big"))
                unsent.append(each.frame)
            else:
                _LOGGER.warning("connection %d is closed: %s", connection, each.reason)
                self._send(connection)
                self._connections.pop(connection).close()

    def _settle(self) -> None:
        """Send what is to be sent, and set the timer for the deadline that is now the first."""
        for connection in tuple(self._unsent):
            self._send(connection)
        self._arm()

    def _send(self, connection: ConnectionId) -> None:
        unsent = self._unsent.pop(connection, None)
        if unsent is not None:
            self._connections[connection].write(b"".join(unsent))

    def _arm(self) -> None:
        # Deadlines mostly move away, since every heartbeat begins a session anew: a timer that fires before
        # there is anything to do costs less than to set it for each of them.
        deadline_ms = self._listener.next_deadline()
        if deadline_ms is None or (self._timer_ms is not None and self._timer_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline_ms / _MILLIS_PER_SECOND, self._fire, deadline_ms)
        self._timer_ms = deadline_ms

    def _fire(self, deadline_ms: Millis) -> None:
        self._timer = self._timer_ms = None
        # The loop may fire a timer a little early; the deadline has passed all the same, and for good.
        self._clock_ms = max(self._clock_ms, deadline_ms)
        self._carry_out(self._listener.advance(now_ms=self._now_ms()))
        self._settle()

    def _now_ms(self) -> Millis:
        self._clock_ms = max(self._clock_ms, Millis(int(self._loop.time() * _MILLIS_PER_SECOND)))
        return self._clock_ms


class _Connection(asyncio.Protocol):
    """Cuts a stream into frames."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._incomplete = bytearray()
        self._wanted_bytes = 0
        self._id = ConnectionId(0)
        self._is_refused = False

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A stream protocol is always given a stream transport, which the base class cannot say.
        self._id = self._server.connected(cast("asyncio.Transport", transport))

    @override
    def data_received(self, data: bytes) -> None:
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._wanted_bytes:
                return
            data = bytes(self._incomplete)
        frames, position, size = _cut(data)
        self._incomplete = bytearray(data[position:])
        self._wanted_bytes = _SIZE_BYTES + size
        if frames and not self._is_refused:
            self._server.received(self._id, frames)
        if not self._is_refused and not 0 <= size <= _REQUEST_MAX_BYTES:
            self._is_refused = True
            self._server.refuse(self._id, f"a request of {size} bytes was announced")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._server.disconnected(self._id)


def _cut(stream: bytes) -> tuple[list[bytes], int, int]:
    """Return the whole frames, where the first that is not begins, and what size it announces, if it does."""
    frames: list[bytes] = []
    position, length, size = 0, len(stream), 0
    while length - position >= _SIZE_BYTES:
        begin = position + _SIZE_BYTES
        size = int.from_bytes(stream[position:begin], "big", signed=True)
        if not 0 <= size <= min(length - begin, _REQUEST_MAX_BYTES):
            return frames, position, size
        position = begin + size
        frames.append(stream[begin:position])
    return frames, position, 0


@contextlib.asynccontextmanager
async def serving(make_listener: ListenerFactory, *, host: str, port: int) -> AsyncIterator[int]:
    """Serve for as long as the context is open; yields the port, which is a free one for port 0.

    Raises:
        OSError: the address cannot be listened on.
    """
    loop = asyncio.get_running_loop()
    servers: list[Server] = []
    # Nothing is accepted before the listener is there, since its address is the socket's.
    acceptor = await loop.create_server(
        lambda: _Connection(servers[0]), host=host, port=port, start_serving=False
    )
    bound_port: int = acceptor.sockets[0].getsockname()[1]
    servers.append(Server(make_listener(host, bound_port)))
    try:
        await acceptor.start_serving()
        yield bound_port
    finally:
        # A connection accepted in the last moment outlives an acceptor that is closed under it, so
        # accepting ends first.
        for each in acceptor.sockets:
            loop.remove_reader(each.fileno())
        await _let_connections_settle()
        servers[0].stop()
        acceptor.close()
        await acceptor.wait_closed()
        await _let_connections_settle()


async def _let_connections_settle() -> None:
    for _ in range(_TURNS_TO_SETTLE):
        await asyncio.sleep(0)
