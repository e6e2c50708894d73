"""A loopback network that a node of a local cluster can lose.

Every node is told to others by the port of a *door*, which carries what comes to where the node listens. A
node without a network cannot be reached through its own door, and what it wants of others is not carried by
theirs. Who comes to a door is told by the process that has the other end of the connection, which Linux lets
its owner see; whoever is no node is a client.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.base.ports import free_port
from harness.targets.kafka.properties import HOST

CAN_TELL_PROCESSES: Final = sys.platform == "linux"
"""Whether it can be told here which process has the other end of a connection."""
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _INODE = 1, 2, 9
"""Columns of the system's tables of connections. Source: proc_net_tcp.txt of Linux."""
_CHUNK_BYTES: Final = 1 << 16
_BACKLOG: Final = 2000
"""As the brokers behind have it: all scenarios that share one begin at once."""
_Pids = Callable[[], Mapping[int, int]]


@dataclass(slots=True, kw_only=True, eq=False)
class _Link:
    """A connection through a door."""

    ends: frozenset[int]
    """The node behind the door, and the one that came if it is a node."""
    writers: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    is_cut: bool = False
    """What is sent meanwhile is lost, and neither side learns of it."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def has_client(self) -> bool:
        """Whether who came is no node."""
        return len(self.ends) == 1

    def abort(self) -> None:
        """Let both sides learn that it is over."""
        for writer in self.writers:
            writer.transport.abort()
        self.ended.set()


class LoopbackNetwork:
    """The doors of a cluster's nodes, and which nodes are without a network."""

    def __init__(self, pids: _Pids) -> None:
        """Begin without a door.

        Args:
            pids: the nodes that run as process ids, with their node ids.
        """
        self._pids = pids
        self._reserved_ports: dict[int, _ReservedPort] = {}
        self._without: set[int] = set()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def open_port(self, node_id: int, port: int) -> int:
        """Return the port by which others are to reach a node that listens, or will listen, on another."""
        reserved_port = _ReservedPort(lambda reader, writer: self._let_in(node_id, port, reader, writer))
        self._reserved_ports[node_id] = reserved_port
        await reserved_port.open()
        return reserved_port.port

    def disconnect(self, node_id: int) -> None:
        """Take the network from a node: clients are refused and cut off, nodes hear nothing of each other."""
        self._without.add(node_id)
        self._reserved_ports[node_id].shut()
        for link in self._links_of(node_id):
            link.is_cut = True
            if link.has_client:
                link.abort()

    async def reconnect(self, node_id: int) -> None:
        """Give a node its network back; connections from before are reset, and what was lost stays lost."""
        self._without.discard(node_id)
        for link in self._links_of(node_id):
            link.abort()
        await self._reserved_ports[node_id].open()

    async def close(self) -> None:
        """Close all doors and what goes through them. Idempotent."""
        self._is_closed = True
        for reserved_port in self._reserved_ports.values():
            reserved_port.take_away()
        self._reserved_ports.clear()
        for link in tuple(self._links):
            link.abort()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        # What was aborted is closed by the loop, which may be at its end.
        await asyncio.sleep(0)

    def _links_of(self, node_id: int) -> tuple[_Link, ...]:
        return tuple(link for link in self._links if node_id in link.ends)

    def _let_in(
        self, node_id: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._is_closed:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._connect(node_id, port, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Also where it is cancelled before it has begun.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _connect(
        self, node_id: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        came = _owner(writer, self._pids())
        ends = frozenset({node_id} if came is None else {node_id, came})
        try:
            if not ends & self._without:
                onward_reader, onward_writer = await asyncio.open_connection(HOST, port)
                link = _Link(ends=ends, writers=(writer, onward_writer))
                # It may have lost its network since it was asked.
                if not ends & self._without:
                    await self._carry(link, (reader, onward_reader))
                link.abort()
        except OSError:
            pass  # Nobody listens behind the door, which who came learns as the end of its connection.

    async def _carry(self, link: _Link, readers: tuple[asyncio.StreamReader, asyncio.StreamReader]) -> None:
        """Carry both ways until one side ends it."""
        self._links.add(link)
        ways: list[Coroutine[None, None, object]] = [
            _carry_one_way(link, reader, writer)
            for reader, writer in zip(readers, reversed(link.writers), strict=True)
        ]
        tasks = {asyncio.ensure_future(way) for way in (*ways, link.ended.wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(link)
            link.abort()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _carry_one_way(link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            if not link.is_cut:
                writer.write(data)
                await writer.drain()
        await _sent(writer)
    if link.is_cut:
        # That one side has ended it is lost as well.
        await link.ended.wait()


async def _sent(writer: asyncio.StreamWriter) -> None:
    """Have all that was written sent, for what comes after is an abort."""
    if not writer.is_closing():
        writer.close()
    await writer.wait_closed()


class _ReservedPort:
    """A port that stays ours while nobody listens there."""

    def __init__(self, let_in: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]) -> None:
        self._let_in = let_in
        self._owner = _bound(free_port())
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Its number."""
        return int(self._owner.getsockname()[1])

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._let_in, sock=_bound(self.port), backlog=_BACKLOG)

    def shut(self) -> None:
        """Listen no more, so that who comes is refused."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def take_away(self) -> None:
        """Listen no more, and give up the port."""
        self.shut()
        self._owner.close()


def _bound(port: int) -> socket.socket:
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        holder.bind((HOST, port))
    except OSError as error:
        holder.close()
        raise TargetError(f"{HOST}:{port}: {error.strerror}: another process took the port") from error
    return holder


def _owner(writer: asyncio.StreamWriter, pids: Mapping[int, int]) -> int | None:
    """Return the node that has the other end of a connection to us; None if no node does."""
    peer, own = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
    if peer is None or own is None:
        return None
    links = {f"socket:[{inode}]" for inode in _inodes(local=peer[1], remote=own[1])}
    return next((node_id for pid, node_id in pids.items() if _has_any(pid, links)), None)


def _inodes(*, local: int, remote: int) -> Iterator[str]:
    """Find the sockets on one port that are connected to another."""
    ports = (f":{local:04X}", f":{remote:04X}")
    for table in _TABLES:
        with suppress(OSError), table.open(encoding="ascii") as lines:
            for line in lines:
                columns = line.split()
                if columns[_LOCAL].endswith(ports[0]) and columns[_REMOTE].endswith(ports[1]):
                    yield columns[_INODE]


def _has_any(pid: int, links: set[str]) -> bool:
    """Tell whether a process has one of some sockets open."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()) in links:
                    return True
    return False
