"""The reference on a TCP port: frames in, effects out, and a clock. No behaviour of Kafka's lives here.

Clients' sockets are in a process beside this one, the door, so that the coordinator has a core to itself.
"""

import contextlib
import logging
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.ids import Millis
from reference_coordinator.server import door

_SIZE_BYTES: Final = 4
_REQUEST_MAX_BYTES: Final = 100 * 1024 * 1024
"""Kafka's `socket.request.max.bytes`."""
_RECEIVE_BYTES: Final = 1 << 18
_BACKLOG: Final = 512
_MILLIS_PER_SECOND: Final = 1000
_LOST: Final = "the process with the clients' sockets has ended"
_LOGGER: Final = logging.getLogger(__name__)

ListenerFactory = Callable[[str, int], Listener]
"""Makes the listener when host and port are known; clients are told these."""


class DoorLostError(Exception):
    """The process with the sockets has ended, and nobody can be served any more."""


class Server:
    """Carries a listener's frames over the link to its door, and keeps its clock.

    What comes in at once is handled at once: the clock is read, the listener asked for its next deadline and
    the link written to a single time, however many frames there were.
    """

    def __init__(self, listener: Listener, *, link: socket.socket, port: int) -> None:
        self.port = port
        """Where clients find it."""
        self._listener = listener
        self._link = link
        self._unpacking = door.Unpacking()
        self._streams: dict[int, _Stream] = {}
        self._numbers: dict[ConnectionId, int] = {}
        self._unsent: dict[ConnectionId, list[bytes]] = {}
        self._parcels: list[bytes] = []
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._link, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        # The log outlives the process, so the time in it is everybody's; between starts it never goes back.
        self._began_ms = (time.time() - time.monotonic()) * _MILLIS_PER_SECOND

    def run(self) -> None:
        """Serve until somebody calls `stop`.

        Raises:
            DoorLostError: the process with the sockets has ended.
        """
        while True:
            ready = self._selector.select(self._until_deadline_s())
            if any(key.fileobj is self._woken for key, _ in ready):
                return
            now_ms = self._now_ms()
            if ready:
                self._take_in(now_ms=now_ms)
            deadline_ms = self._listener.next_deadline()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self._carry_out(self._listener.advance(now_ms=now_ms))
            self._send_all()

    def stop(self) -> None:
        """Make `run` return soon; any thread and any signal handler may call it, at any time."""
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def close(self) -> None:
        """Hang up, which closes every connection."""
        for each in (self._selector, self._link, self._wake, self._woken):
            each.close()

    def _until_deadline_s(self) -> float | None:
        deadline_ms = self._listener.next_deadline()
        return None if deadline_ms is None else max(deadline_ms - self._now_ms(), 0) / _MILLIS_PER_SECOND

    def _now_ms(self) -> Millis:
        return Millis(int(self._began_ms + time.monotonic() * _MILLIS_PER_SECOND))

    def _take_in(self, *, now_ms: Millis) -> None:
        data = self._link.recv(_RECEIVE_BYTES)
        if not data:
            raise DoorLostError(_LOST)
        for kind, number, content in self._unpacking.parcels(data):
            if kind == door.OPENED:
                self._connected(number, client_host=content.decode())
            elif number in self._streams:
                stream = self._streams[number]
                if kind == door.BYTES:
                    self._received(stream, content, now_ms=now_ms)
                else:
                    self._disconnected(stream.connection, now_ms=now_ms)

    def _connected(self, number: int, *, client_host: str) -> None:
        connection = self._listener.connected(client_host=client_host)
        self._streams[number] = _Stream(connection)
        self._numbers[connection] = number

    def _received(self, stream: "_Stream", data: bytes, *, now_ms: Millis) -> None:
        connection = stream.connection
        for frame in stream.frames(data):
            self._carry_out(self._listener.received(connection, frame, now_ms=now_ms))
        if stream.fault is not None and connection in self._numbers:
            self._close(connection, stream.fault)
            self._carry_out(self._listener.disconnected(connection, now_ms=now_ms))

    def _disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> None:
        del self._streams[self._numbers.pop(connection)]
        self._unsent.pop(connection, None)
        self._carry_out(self._listener.disconnected(connection, now_ms=now_ms))

    def _carry_out(self, outgoing: Iterable[Outgoing]) -> None:
        for each in outgoing:
            if isinstance(each, SendFrame):
                unsent = self._unsent.setdefault(each.connection, [])
                unsent.append(len(each.frame).to_bytes(_SIZE_BYTES, "big"))
                unsent.append(each.frame)
            else:
                self._close(each.connection, each.reason)

    def _close(self, connection: ConnectionId, reason: str) -> None:
        _LOGGER.warning("connection %d is closed: %s", connection, reason)
        self._pack(connection, self._unsent.pop(connection, ()))
        number = self._numbers.pop(connection)
        del self._streams[number]
        self._parcels.append(door.header(door.CLOSED, number, 0))

    def _pack(self, connection: ConnectionId, parts: Iterable[bytes]) -> None:
        content = b"".join(parts)
        self._parcels.append(door.header(door.BYTES, self._numbers[connection], len(content)))
        self._parcels.append(content)

    def _send_all(self) -> None:
        for connection, parts in self._unsent.items():
            self._pack(connection, parts)
        self._unsent.clear()
        # The door always reads, so that this does not wait for anybody who waits for it.
        try:
            self._link.sendall(b"".join(self._parcels))
        except ConnectionError as error:
            raise DoorLostError(_LOST) from error
        self._parcels.clear()


class _Stream:
    """What a connection's client sends, cut into frames."""

    def __init__(self, connection: ConnectionId) -> None:
        self.connection = connection
        self.fault: str | None = None
        """Why the rest of the bytes are no frames."""
        self._incomplete = bytearray()
        self._wanted_bytes = 0

    def frames(self, data: bytes) -> list[bytes]:
        """Return the frames that these bytes complete."""
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._wanted_bytes:
                return []
            data = bytes(self._incomplete)
        frames, position, size = _cut(data)
        self._incomplete = bytearray(data[position:])
        self._wanted_bytes = _SIZE_BYTES + size
        if not 0 <= size <= _REQUEST_MAX_BYTES:
            self.fault = f"a request of {size} bytes was announced"
        return frames


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


@contextlib.contextmanager
def serving(make_listener: ListenerFactory, *, host: str, port: int) -> Iterator[Server]:
    """Listen on an address, port 0 being a free one, for as long as the context is open.

    Clients are accepted from now on, and served while somebody runs the server.

    Raises:
        OSError: the address cannot be listened on.
    """
    with _door(host, port) as (link, bound_port):
        server = Server(make_listener(host, bound_port), link=link, port=bound_port)
        try:
            yield server
        finally:
            server.close()


@contextlib.contextmanager
def _door(host: str, port: int) -> Iterator[tuple[socket.socket, int]]:
    """Open a door, which ends when the link to it is closed; yields the link, and the port that it is at."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.create_server(address, family=family, backlog=_BACKLOG) as acceptor:
        bound_port: int = acceptor.getsockname()[1]
        link, doors_link = socket.socketpair()
        with doors_link:
            passed = (acceptor.fileno(), doors_link.fileno())
            process = subprocess.Popen(  # noqa: S603 - a program of ours, and numbers
                [sys.executable, "-I", "-S", door.__file__, *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=passed,
            )
    try:
        yield link, bound_port
    finally:
        link.close()
        process.wait()
