"""A loopback network from which a node of a local cluster can be disconnected.

Every node advertises a *reserved port*, which forwards connections to the port that the node listens on. A
disconnected node cannot be reached through its own reserved port, and its connections through those of others
are not forwarded. The other end of a connection is identified by its process, which Linux shows to the same
user; any process that is not a node is a client.
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
"""Whether this system can identify the process at the other end of a connection."""
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _INODE = 1, 2, 9
"""Columns of the system's tables of connections. Source: proc_net_tcp.txt of Linux."""
_CHUNK_BYTES: Final = 1 << 16
_BACKLOG: Final = 2000
"""The same as the brokers': all scenarios of one broker begin at once."""
_Pids = Callable[[], Mapping[int, int]]


@dataclass(slots=True, kw_only=True, eq=False)
class _Link:
    """A connection through a reserved port."""

    ends: frozenset[int]
    """The node behind the reserved port, and the connecting one if it is a node."""
    writers: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    is_cut: bool = False
    """Whether data is dropped for now, without either side being informed."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def has_client(self) -> bool:
        """Whether the connecting process is not a node."""
        return len(self.ends) == 1

    def abort(self) -> None:
        """Close both sides' connections."""
        for writer in self.writers:
            writer.transport.abort()
        self.ended.set()


class LoopbackNetwork:
    """The reserved ports of a cluster's nodes, and the nodes that are disconnected."""

    def __init__(self, pids: _Pids) -> None:
        """Start without reserved ports.

        Args:
            pids: returns the node ids of the running nodes by their process ids.
        """
        self._pids = pids
        self._reserved_ports: dict[int, _ReservedPort] = {}
        self._without: set[int] = set()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def open_port(self, node_id: int, port: int) -> int:
        """Return the port for others to connect to a node that listens, or will listen, on another port."""
        reserved_port = _ReservedPort(lambda reader, writer: self._let_in(node_id, port, reader, writer))
        self._reserved_ports[node_id] = reserved_port
        await reserved_port.open()
        return reserved_port.port

    def disconnect(self, node_id: int) -> None:
        """Disconnect a node: clients are cut off and refused, and data between nodes is dropped."""
        self._without.add(node_id)
        self._reserved_ports[node_id].shut()
        for link in self._links_of(node_id):
            link.is_cut = True
            if link.has_client:
                link.abort()

    async def reconnect(self, node_id: int) -> None:
        """Reconnect a node; earlier connections are reset, and dropped data stays lost."""
        self._without.discard(node_id)
        for link in self._links_of(node_id):
            link.abort()
        await self._reserved_ports[node_id].open()

    async def close(self) -> None:
        """Close all reserved ports and their connections. Idempotent."""
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
        # The loop closes aborted connections, and may be about to end.
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
        # This also applies if the task is cancelled before it has begun.
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
                # The node may have been disconnected during the connect.
                if not ends & self._without:
                    await self._carry(link, (reader, onward_reader))
                link.abort()
        except OSError:
            pass  # Nobody listens behind the reserved port, so the other end's connection is closed.

    async def _carry(self, link: _Link, readers: tuple[asyncio.StreamReader, asyncio.StreamReader]) -> None:
        """Forward data both ways until one side closes."""
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
        # The close of one side is dropped as well.
        await link.ended.wait()


async def _sent(writer: asyncio.StreamWriter) -> None:
    """Wait until all written data is sent, since an abort follows."""
    if not writer.is_closing():
        writer.close()
    await writer.wait_closed()


class _ReservedPort:
    """A port that stays reserved while nobody listens on it."""

    def __init__(self, let_in: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]) -> None:
        self._let_in = let_in
        self._owner = _bound(free_port())
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port number."""
        return int(self._owner.getsockname()[1])

    async def open(self) -> None:
        """Start listening."""
        self._server = await asyncio.start_server(self._let_in, sock=_bound(self.port), backlog=_BACKLOG)

    def shut(self) -> None:
        """Stop listening, so that connections are refused."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def take_away(self) -> None:
        """Stop listening, and give up the port."""
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
    """Return the node at the other end of a connection, or None if it is not a node."""
    peer, own = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
    if peer is None or own is None:
        return None
    links = {f"socket:[{inode}]" for inode in _inodes(local=peer[1], remote=own[1])}
    return next((node_id for pid, node_id in pids.items() if _has_any(pid, links)), None)


def _inodes(*, local: int, remote: int) -> Iterator[str]:
    """Yield the inodes of sockets on one port that are connected to another."""
    ports = (f":{local:04X}", f":{remote:04X}")
    for table in _TABLES:
        with suppress(OSError), table.open(encoding="ascii") as lines:
            for line in lines:
                columns = line.split()
                if columns[_LOCAL].endswith(ports[0]) and columns[_REMOTE].endswith(ports[1]):
                    yield columns[_INODE]


def _has_any(pid: int, links: set[str]) -> bool:
    """Return whether a process has one of some sockets open."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()) in links:
                    return True
    return False
