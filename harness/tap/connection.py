"""One client's connection, carried to a broker: two sockets, and the bytes that wait between them.

An end is not read while the other cannot accept what was read before. So backpressure reaches the far end, as
without a tap, and at most one chunk of bytes and one buffered response are between the two.
"""

import contextlib
import errno
import os
import socket
import struct
import time
from collections.abc import Callable
from select import EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT
from typing import Final, Protocol, TypeAlias

from harness.tap.framing import Dialogue, GuardedRequestStream, RequestStream, ResponseStream, Stream
from harness.tap.journal import Endpoint, Kind, left_out

React: TypeAlias = Callable[[int], None]
"""Called with the events that a socket is ready for."""

_RECEIVE_BYTES: Final = 1 << 17
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
PATIENCE_S: Final = 30.0
"""How long to wait for a broker to accept, and for one end to close after the other has."""
_FAILED: Final = EPOLLERR | EPOLLHUP


class Surroundings(Protocol):
    """The functions of the tap that a connection needs."""

    def watch(self, watched: socket.socket, events: int, react: React) -> None:
        """Call a function when a socket is ready for these events, and when it has failed."""

    def discard(self, finished: socket.socket) -> None:
        """Stop watching a socket, and close it soon."""

    def keep(self, kind: Kind, connection: int, content: bytes) -> None:
        """Write bytes to the journal."""

    def keep_closing(self, connection: int, side: Endpoint, how: str) -> None:
        """Write to the journal which side ended a connection, and how."""

    def over(self, connection: "Connection") -> None:
        """Handle the end of a connection."""


class End:
    """A socket at one end of a connection, with the bytes that it could not accept yet."""

    def __init__(self, connected: socket.socket, side: Endpoint, stream: Stream) -> None:
        connected.settimeout(0)
        if connected.family != socket.AF_UNIX:  # which connections to secured brokers use
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self.side = side
        self.stream = stream
        """The stream of bytes from this end."""
        is_client = side is Endpoint.CLIENT
        self.kind = Kind.REQUEST_BYTES if is_client else Kind.RESPONSE_BYTES
        self.kind_left_out = Kind.REQUEST_BYTES_LEFT_OUT if is_client else Kind.RESPONSE_BYTES_LEFT_OUT
        self.unsent = b""
        self.has_ended = False
        """Whether no more bytes come from this end."""
        self.is_reported = False
        """Whether this end was informed that no more bytes will be sent to it."""
        self.watched_for = 0

    def send(self, data: bytes) -> None:
        """Send as much of the unsent bytes and these as possible, and keep the rest."""
        if self.unsent:
            data = self.unsent + data
        if data:
            try:
                sent = self.socket.send(data)
            except BlockingIOError:
                sent = 0
            self.unsent = data[sent:] if sent < len(data) else b""

    def say_no_more(self) -> None:
        """Inform this end that no more bytes will be sent to it."""
        self.is_reported = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class Connection:
    """A client's socket and the one to a broker.

    Attributes:
        number: counted from 1, in the order of connecting.
        dialogue: the state that both directions share.
        deadline_s: when it is given up, on the monotonic clock; None while both ends are open.
    """

    def __init__(
        self,
        number: int,
        client: socket.socket,
        broker: socket.socket,
        dialogue: Dialogue,
        around: Surroundings,
    ) -> None:
        self.number = number
        self.deadline_s: float | None = time.monotonic() + PATIENCE_S
        requests = RequestStream if dialogue.guard is None else GuardedRequestStream
        self.client = End(client, Endpoint.CLIENT, requests(dialogue))
        self.broker = End(broker, Endpoint.BROKER, ResponseStream(dialogue))
        self.dialogue = dialogue
        self._around = around
        self._is_over = False

    def connect(self, address: tuple[object, ...]) -> None:
        """Begin to connect to the broker; the client is read only after that has succeeded."""
        status = self.broker.socket.connect_ex(address)
        if status in (0, errno.EINPROGRESS):
            self._around.watch(self.broker.socket, EPOLLOUT, self._connecting)
        else:
            self.end(Endpoint.BROKER, os.strerror(status), reset=True)

    def _connecting(self, _: int) -> None:
        status = self.broker.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if status:
            self.end(Endpoint.BROKER, os.strerror(status), reset=True)
            return
        self.connected()

    def connected(self) -> None:
        """Begin to carry bytes, after the socket to the broker has connected."""
        self.deadline_s = None
        for end, other in ((self.client, self.broker), (self.broker, self.client)):
            end.watched_for = EPOLLIN
            self._around.watch(end.socket, EPOLLIN, self._carrier(end, other))

    def _carrier(self, end: End, other: End) -> React:
        def react(events: int) -> None:
            if self._is_over:
                return  # Both ends were ready, and the first of them has ended it.
            if events & EPOLLIN and end.watched_for & EPOLLIN:
                self._receive(end, other)
            elif events & EPOLLOUT and end.watched_for & EPOLLOUT:
                self._send(end, b"")
                self._settle()
            elif events & _FAILED:
                self.end(end.side, os.strerror(errno.ECONNRESET), reset=True)

        return react

    def _receive(self, end: End, other: End) -> None:
        try:
            data = end.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self.end(end.side, os.strerror(error.errno or 0), reset=True)
            return
        if not data:
            self._end_of(end, other)
            return
        self._send(other, end.stream.take(data))
        # Sent first, so that recording does not delay the receiver.
        self._keep(end, data)
        if self.dialogue.refused is not None:
            self.end(Endpoint.TAP, self.dialogue.refused, reset=False)
        elif other.unsent:
            self._settle()

    def _send(self, end: End, data: bytes) -> None:
        """Send bytes, after those that could not be sent before."""
        try:
            end.send(data)
        except OSError as error:
            self.end(end.side, os.strerror(error.errno or 0), reset=True)

    def _keep(self, end: End, data: bytes) -> None:
        if not end.stream.left_out:
            self._around.keep(end.kind, self.number, data)
            return
        for is_kept, part in end.stream.parts(data):
            if is_kept:
                self._around.keep(end.kind, self.number, part)
            else:
                self._around.keep(end.kind_left_out, self.number, left_out(len(part)))

    def _end_of(self, end: End, other: End) -> None:
        """Handle the end of one direction; the other may still have bytes to send."""
        end.has_ended = True
        if not other.has_ended:
            self._around.keep_closing(self.number, end.side, "closed")
        self.deadline_s = time.monotonic() + PATIENCE_S
        self._send(other, end.stream.flush())
        self._settle()

    def _settle(self) -> None:
        """Update the events watched for at both ends, and close the connection once both have ended."""
        if self._is_over:
            return
        for end, other in ((self.client, self.broker), (self.broker, self.client)):
            if other.has_ended and not end.unsent and not end.is_reported:
                end.say_no_more()
            events = EPOLLOUT if end.unsent else 0
            if not end.has_ended and not other.unsent:
                events |= EPOLLIN
            if events != end.watched_for:
                end.watched_for = events
                self._around.watch(end.socket, events, self._carrier(end, other))
        if self.client.is_reported and self.broker.is_reported:
            self._close()

    def end(self, side: Endpoint, how: str, *, reset: bool) -> None:
        """End the connection at both ends at once.

        Args:
            side: the side that caused it.
            how: a description for people.
            reset: whether the ends get a reset instead of an orderly close.
        """
        if self._is_over:
            return
        if not (self.client.has_ended or self.broker.has_ended):
            self._around.keep_closing(self.number, side, how)
        if reset:
            for end in (self.client, self.broker):
                end.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._close()

    def _close(self) -> None:
        self._is_over = True
        for end in (self.client, self.broker):
            self._around.discard(end.socket)
        self._around.over(self)
