"""A server's sockets in a separate process, which carries bytes without parsing them.

The kernel's work on a client's socket costs a server more time than the answer itself. In a separate process
it costs the coordinator nothing, and everything that came meanwhile arrives there in one piece.

The link between the two carries parcels, whose header has the kind, the connection and the size of the
content. Server and I/O process use the same kinds. A parcel about a connection that the receiver has closed
is just late, not an error.

The server starts this file as a program, without the package around it.
"""

import contextlib
import errno
import os
import resource
import selectors
import signal
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

Parcel: TypeAlias = tuple[int, int, bytes]
"""Kind, connection, content."""

OPENED: Final = 0
"""A client has connected; the content is its acceptor's number and its address. Only sent to servers.
"""
BYTES: Final = 1
"""Bytes from a client or for it."""
CLOSED: Final = 2
"""A connection is closed, or must be closed as soon as everything is sent."""
TAKEN: Final = 3
"""A server requests a notice when a client has taken everything sent to it; the notice has the same kind."""
PAUSE: Final = 4
"""A connection must not be read from. Only servers send this kind and the next."""
RESUME: Final = 5
"""A connection may be read from again."""

_OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_HEADER: Final = struct.Struct(">BII")
_RECEIVE_BYTES: Final = 1 << 18
_PENDING_BYTES_MAX: Final = 1 << 20
"""How many bytes are buffered for the server before it must take them."""


def header(kind: int, connection: int, size: int) -> bytes:
    """Return the header of a parcel whose content has that many bytes."""
    return _HEADER.pack(kind, connection, size)


class Unpacking:
    """Splits the bytes from a link into parcels."""

    def __init__(self) -> None:
        self._incomplete = bytearray()
        self._wanted_bytes = 0

    def parcels(self, data: bytes) -> list[Parcel]:
        """Return the parcels that these bytes complete."""
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._wanted_bytes:
                return []
            data = bytes(self._incomplete)
        parcels: list[Parcel] = []
        position, length, self._wanted_bytes = 0, len(data), _HEADER.size
        while length - position >= _HEADER.size:
            kind, connection, size = _HEADER.unpack_from(data, position)
            begin = position + _HEADER.size
            if begin + size > length:
                self._wanted_bytes = _HEADER.size + size
                break
            position = begin + size
            parcels.append((kind, connection, data[begin:position]))
        self._incomplete = bytearray(data[position:])
        return parcels


class _Client:
    """A client's socket, with the bytes that it could not take yet."""

    def __init__(self, number: int, accepted: socket.socket) -> None:
        accepted.settimeout(0)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = number
        self.socket = accepted
        self.unsent: deque[memoryview] = deque()
        self.is_over = False
        """Whether no more is read, and the socket closes when everything is sent."""
        self.is_paused = False
        """Whether reading is paused."""
        self.is_watched = False
        """Whether the server waits for everything to be sent."""
        self.events = 0
        """The events that the selector waits for."""

    def receive(self) -> bytes:
        """Return the received bytes, or none if the connection has ended."""
        try:
            return self.socket.recv(_RECEIVE_BYTES)
        except OSError:
            return b""

    def send(self, content: bytes) -> None:
        """Send as much as possible, and buffer the rest."""
        self.unsent.append(memoryview(content))
        if len(self.unsent) == 1:
            self.send_unsent()

    def send_unsent(self) -> None:
        """Send as much of the buffer as possible."""
        try:
            while self.unsent:
                sent = self.socket.send(self.unsent[0])
                if sent < len(self.unsent[0]):
                    self.unsent[0] = self.unsent[0][sent:]
                else:
                    self.unsent.popleft()
        except BlockingIOError:
            return
        except OSError:
            # The next read from the socket detects that it is gone.
            self.unsent.clear()


class IoProcess:
    """Carries bytes between clients and a server until the server closes the link."""

    def __init__(self, acceptors: Sequence[socket.socket], link: socket.socket) -> None:
        for each in (*acceptors, link):
            each.settimeout(0)
        self._acceptors = acceptors
        self._link = link
        self._selector = selectors.DefaultSelector()
        self._only_link = selectors.DefaultSelector()
        self._unpacking = Unpacking()
        self._clients: dict[int, _Client] = {}
        self._connected = 0
        self._for_server: list[bytes] = []
        self._for_server_bytes = 0
        self._spare = _spare_descriptor()

    def run(self) -> None:
        """Carry bytes until the server closes the link."""
        self._selector.register(self._link, selectors.EVENT_READ, self._deliver)
        for number, acceptor in enumerate(self._acceptors):
            self._selector.register(acceptor, selectors.EVENT_READ, partial(self._accept, number))
        self._only_link.register(self._link, selectors.EVENT_READ | selectors.EVENT_WRITE)
        with contextlib.suppress(_ServerGoneError, ConnectionError):
            while True:
                for key, events in self._selector.select():
                    react: Callable[[int], None] = key.data
                    react(events)
                    if self._for_server_bytes > _PENDING_BYTES_MAX:
                        self._tell_server()
                while self._for_server:
                    self._tell_server()
        self._close()

    def _tell_server(self) -> None:
        reported = memoryview(b"".join(self._for_server))
        self._for_server.clear()
        self._for_server_bytes = 0
        while reported:
            try:
                reported = reported[self._link.send(reported) :]
            except BlockingIOError:
                # A server that does not read may be about to write, and neither must wait for the other.
                for _, events in self._only_link.select():
                    if events & selectors.EVENT_READ:
                        self._deliver(events)

    def _deliver(self, _: int) -> None:
        data = self._link.recv(_RECEIVE_BYTES)
        if not data:
            raise _ServerGoneError
        for kind, connection, content in self._unpacking.parcels(data):
            client = self._clients.get(connection)
            if client is None:
                continue
            if kind == BYTES:
                client.send(content)
            elif kind == TAKEN:
                client.is_watched = True
            elif kind == CLOSED:
                client.is_over = True
            else:
                client.is_paused = kind == PAUSE
            self._wait_for(client)

    def _accept(self, number: int, _: int) -> None:
        try:
            accepted, (host, *_) = self._acceptors[number].accept()
        except OSError as error:
            if error.errno in _OUT_OF_DESCRIPTORS:
                self._refuse(self._acceptors[number])
            return
        self._connected += 1
        client = self._clients[self._connected] = _Client(self._connected, accepted)
        self._wait_for(client)
        self._tell(OPENED, client, f"{number} {host}".encode())

    def _refuse(self, acceptor: socket.socket) -> None:
        """Close a connection for which there is no descriptor, so that its client need not wait."""
        if self._spare is not None:
            os.close(self._spare)
        with contextlib.suppress(OSError):
            refused, _ = acceptor.accept()
            refused.close()
        self._spare = _spare_descriptor()

    def _carry(self, client: _Client, events: int) -> None:
        if client.number not in self._clients:
            return  # The server closed it a moment before.
        if events & selectors.EVENT_WRITE:
            client.send_unsent()
            self._wait_for(client)
        if events & selectors.EVENT_READ and client.events & selectors.EVENT_READ:
            data = client.receive()
            if data:
                self._tell(BYTES, client, data)
            else:
                self._tell(CLOSED, client)
                self._forget(client)

    def _wait_for(self, client: _Client) -> None:
        """Update the events watched for at a client, and close it once everything is sent."""
        if client.is_watched and not client.unsent:
            client.is_watched = False
            self._tell(TAKEN, client)
        if client.is_over and not client.unsent:
            self._forget(client)
            return
        events = selectors.EVENT_WRITE if client.unsent else 0
        if not (client.is_over or client.is_paused):
            events |= selectors.EVENT_READ
        if events == client.events:
            return
        react = partial(self._carry, client)
        if not client.events:
            self._selector.register(client.socket, events, react)
        elif events:
            self._selector.modify(client.socket, events, react)
        else:
            self._selector.unregister(client.socket)
        client.events = events

    def _forget(self, client: _Client) -> None:
        del self._clients[client.number]
        if client.events:
            self._selector.unregister(client.socket)
        client.socket.close()

    def _close(self) -> None:
        for client in self._clients.values():
            client.socket.close()
        for each in (*self._acceptors, self._link):
            each.close()
        if self._spare is not None:
            os.close(self._spare)
        self._selector.close()
        self._only_link.close()

    def _tell(self, kind: int, client: _Client, content: bytes = b"") -> None:
        self._for_server.append(header(kind, client.number, len(content)))
        self._for_server.append(content)
        self._for_server_bytes += len(content)


class _ServerGoneError(Exception):
    """The server has closed the link."""


def _spare_descriptor() -> int | None:
    """Reserve a descriptor, to be freed when a connection must be refused for lack of one."""
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None


def main(link: str, *acceptors: str) -> None:
    """Run the I/O process of the server that passed these file descriptors."""
    for each in (signal.SIGINT, signal.SIGTERM):
        # These signals are meant for the server, which closes the link when it has ended.
        signal.signal(each, signal.SIG_IGN)
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    opened = [socket.socket(fileno=int(each)) for each in acceptors]
    IoProcess(opened, socket.socket(fileno=int(link))).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
