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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from reference_coordinator.broker.cluster import Cluster
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
Connect = Callable[[int, str], ConnectionId | None]
"""Opens a connection that came by a port, the first being 0, from an address; None where nobody is there."""


class Served(Protocol):
    """A listener, or several of a cluster. See `Listener` for each of them."""

    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Take a frame."""

    def disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Forget a connection."""

    def advance(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Let every deadline fire that is due."""

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""


class Commands(Protocol):
    """Where somebody tells what is to be done to what is served."""

    @property
    def socket(self) -> socket.socket:
        """Can be read when there is a command."""

    def obey(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Do what is told; returns what comes of it for clients."""


class DoorLostError(Exception):
    """The process with the sockets has ended, and nobody can be served any more."""


class Server:
    """Carries a listener's frames over the link to its door, and keeps its clock.

    What comes in at once is handled at once: the clock is read, the listener asked for its next deadline and
    the link written to a single time, however many frames there were. What they have changed is saved before.
    """

    def __init__(
        self,
        listener: Served,
        connect: Connect,
        *,
        link: socket.socket,
        ports: Sequence[int],
        commands: Commands | None = None,
    ) -> None:
        self.port = ports[0]
        """Where clients find it, or the first of its brokers."""
        self.ports = tuple(ports)
        self.save: Callable[[], None] | None = None
        """Has what answers tell of outlive the process; called before they leave it."""
        self._listener = listener
        self._connect = connect
        self._commands = commands
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
        if commands is not None:
            self._selector.register(commands.socket, selectors.EVENT_READ)
        # The log outlives the process, so the time in it is everybody's; between starts it never goes back.
        self._began_ms = (time.time() - time.monotonic()) * _MILLIS_PER_SECOND

    def run(self) -> None:
        """Serve until somebody calls `stop`.

        Raises:
            DoorLostError: the process with the sockets has ended.
            StoreError: what was changed cannot be saved, and nobody was told of it.
        """
        while True:
            ready = self._selector.select(self._until_deadline_s())
            if any(key.fileobj is self._woken for key, _ in ready):
                return
            now_ms = self.now_ms()
            for key, _ in ready:
                if key.fileobj is self._link:
                    self._take_in(now_ms=now_ms)
                elif self._commands is not None:
                    self._carry_out(self._commands.obey(now_ms=now_ms))
            deadline_ms = self._listener.next_deadline()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self._carry_out(self._listener.advance(now_ms=now_ms))
            if self.save is not None:
                self.save()
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
        return None if deadline_ms is None else max(deadline_ms - self.now_ms(), 0) / _MILLIS_PER_SECOND

    def now_ms(self) -> Millis:
        """The server's clock."""
        return Millis(int(self._began_ms + time.monotonic() * _MILLIS_PER_SECOND))

    def _take_in(self, *, now_ms: Millis) -> None:
        data = self._link.recv(_RECEIVE_BYTES)
        if not data:
            raise DoorLostError(_LOST)
        for kind, number, content in self._unpacking.parcels(data):
            if kind == door.OPENED:
                self._connected(number, content.decode())
            elif number in self._streams:
                stream = self._streams[number]
                if kind == door.BYTES:
                    self._received(stream, content, now_ms=now_ms)
                else:
                    self._disconnected(stream.connection, now_ms=now_ms)

    def _connected(self, number: int, origin: str) -> None:
        acceptor, _, client_host = origin.partition(" ")
        connection = self._connect(int(acceptor), client_host)
        if connection is None:
            self._parcels.append(door.header(door.CLOSED, number, 0))
            return
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
    with _door(host, [port]) as (link, ports):
        listener = make_listener(host, ports[0])
        server = Server(
            listener,
            lambda _, client_host: listener.connected(client_host=client_host),
            link=link,
            ports=ports,
        )
        try:
            yield server
        finally:
            server.close()


@contextlib.contextmanager
def serving_cluster(
    make_cluster: Callable[[Sequence[int]], Cluster],
    make_commands: Callable[[Cluster], Commands | None],
    *,
    host: str,
    ports: Sequence[int],
) -> Iterator[Server]:
    """Listen on a port for each broker of a cluster, as `serving` does for one.

    Raises:
        OSError: an address cannot be listened on.
    """
    with _door(host, ports) as (link, bound_ports):
        cluster = make_cluster(bound_ports)
        node_ids = cluster.node_ids_up

        def connect(acceptor: int, client_host: str) -> ConnectionId | None:
            node_id = node_ids[acceptor]
            if not cluster.is_reachable(node_id):
                return None
            return cluster.connected(node_id, client_host=client_host)

        server = Server(cluster, connect, link=link, ports=bound_ports, commands=make_commands(cluster))
        try:
            yield server
        finally:
            server.close()


@contextlib.contextmanager
def _door(host: str, ports: Sequence[int]) -> Iterator[tuple[socket.socket, tuple[int, ...]]]:
    """Open a door, which ends when the link to it is closed; yields the link, and the ports that it is at."""
    with contextlib.ExitStack() as opened:
        acceptors = [opened.enter_context(_acceptor(host, port)) for port in ports]
        bound_ports = tuple(each.getsockname()[1] for each in acceptors)
        link, doors_link = socket.socketpair()
        opened.enter_context(doors_link)
        passed = [each.fileno() for each in (doors_link, *acceptors)]
        process = subprocess.Popen(  # noqa: S603 - a program of ours, and numbers
            [sys.executable, "-I", "-S", door.__file__, *map(str, passed)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
        )
    try:
        yield link, bound_ports
    finally:
        link.close()
        process.wait()


def _acceptor(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(address, family=family, backlog=_BACKLOG)
