"""The reference on a TCP port: frames in, effects out, one timer. No behaviour of Kafka's lives here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, cast

from typing_extensions import override

from reference_coordinator.ids import Millis
from reference_coordinator.listener import CloseConnection, ConnectionId, Listener, Outgoing, SendFrame

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
    """Carries a listener's frames over connections, and keeps its clock."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._connections: dict[ConnectionId, asyncio.Transport] = {}
        self._timer: asyncio.TimerHandle | None = None

    def connected(self, transport: asyncio.Transport) -> ConnectionId:
        """Take a new connection."""
        client_host, *_ = transport.get_extra_info("peername")
        connection = self._listener.connected(client_host=client_host)
        self._connections[connection] = transport
        return connection

    def received(self, connection: ConnectionId, frame: bytes) -> None:
        """Pass a frame on."""
        self._carry_out(self._listener.received(connection, frame, now_ms=self._now_ms()))

    def disconnected(self, connection: ConnectionId) -> None:
        """Forget a connection that is gone."""
        if self._connections.pop(connection, None) is not None:
            self._carry_out(self._listener.disconnected(connection, now_ms=self._now_ms()))

    def refuse(self, connection: ConnectionId, reason: str) -> None:
        """Close a connection whose bytes are no frames."""
        _LOGGER.warning("connection %d is closed: %s", connection, reason)
        self._connections[connection].close()
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
            match each:
                case SendFrame(connection=connection, frame=frame):
                    self._connections[connection].write(len(frame).to_bytes(_SIZE_BYTES, "big") + frame)
                case CloseConnection(connection=connection, reason=reason):
                    _LOGGER.warning("connection %d is closed: %s", connection, reason)
                    self._connections.pop(connection).close()
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline_ms = self._listener.next_deadline()
        self._timer = (
            None
            if deadline_ms is None
            else self._loop.call_at(deadline_ms / _MILLIS_PER_SECOND, self._fire, deadline_ms)
        )

    def _fire(self, deadline_ms: Millis) -> None:
        # The loop may fire a timer a little early; the deadline has passed all the same.
        now_ms = max(self._now_ms(), deadline_ms)
        self._carry_out(self._listener.advance(now_ms=now_ms))

    def _now_ms(self) -> Millis:
        return Millis(int(self._loop.time() * _MILLIS_PER_SECOND))


class _Connection(asyncio.Protocol):
    """Cuts a stream into frames."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()
        self._id = ConnectionId(0)
        self._is_refused = False

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A stream protocol is always given a stream transport, which the base class cannot say.
        self._id = self._server.connected(cast("asyncio.Transport", transport))

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while not self._is_refused and len(self._buffer) >= _SIZE_BYTES:
            size = int.from_bytes(self._buffer[:_SIZE_BYTES], "big", signed=True)
            if not 0 <= size <= _REQUEST_MAX_BYTES:
                self._is_refused = True
                self._server.refuse(self._id, f"a request of {size} bytes was announced")
                return
            end = _SIZE_BYTES + size
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[_SIZE_BYTES:end])
            del self._buffer[:end]
            self._server.received(self._id, frame)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._server.disconnected(self._id)


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
