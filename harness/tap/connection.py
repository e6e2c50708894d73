"""One client's connection, carried to a broker: two sockets, and what waits between them.

Neither end is read while the other cannot take what was read before: whoever is slow is felt at the far end,
as without a tap, and no more than one piece of bytes, and a response that is kept back, lies between the two.
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
"""Called with what a socket is ready for."""

_RECEIVE_BYTES: Final = 1 << 17
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
PATIENCE_S: Final = 30.0
"""For a broker that does not accept, and for an end that lives on after the other has ended."""
_FAILED: Final = EPOLLERR | EPOLLHUP


class Surroundings(Protocol):
    """What a connection needs of the tap around it."""

    def watch(self, watched: socket.socket, events: int, react: React) -> None:
        """Have a function called when a socket is ready for these events, and when it has failed."""

    def discard(self, finished: socket.socket) -> None:
        """Watch a socket no more, and close it soon."""

    def keep(self, kind: Kind, connection: int, content: bytes) -> None:
        """Put bytes into the journal."""

    def keep_closing(self, connection: int, side: Endpoint, how: str) -> None:
        """Put into the journal who ended a connection, and how."""

    def over(self, connection: "Connection") -> None:
        """Hear that a connection is gone."""


class End:
    """A socket at one end of a connection, with the bytes that it could not take yet."""

    def __init__(self, connected: socket.socket, side: Endpoint, stream: Stream) -> None:
        connected.settimeout(0)
        if connected.family != socket.AF_UNIX:  # as it is on the way to a secured broker
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self.side = side
        self.stream = stream
        """Of what comes from it."""
        is_client = side is Endpoint.CLIENT
        self.kind = Kind.REQUEST_BYTES if is_client else Kind.RESPONSE_BYTES
        self.kind_left_out = Kind.REQUEST_BYTES_LEFT_OUT if is_client else Kind.RESPONSE_BYTES_LEFT_OUT
        self.unsent = b""
        self.has_ended = False
        """Whether nothing more comes from it."""
        self.is_reported = False
        """Whether it knows that nothing more will come for it."""
        self.watched_for = 0

    def send(self, data: bytes) -> None:
        """Send what was kept and then this, as much as goes, and keep the rest."""
        if self.unsent:
            data = self.unsent + data
        if data:
            try:
                sent = self.socket.send(data)
            except BlockingIOError:
                sent = 0
            self.unsent = data[sent:] if sent < len(data) else b""

    def say_no_more(self) -> None:
        """Tell it that nothing more will come for it."""
        self.is_reported = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


class Connection:
    """A client's socket and the one to a broker.

    Attributes:
        number: from 1, in the order of connecting.
        dialogue: what both its directions share.
        deadline_s: on the monotonic clock, when it is given up; None while it is alive at both ends.
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
        """Begin to connect to the broker; the client is not read before that has worked."""
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
        """Begin to carry: the socket to the broker is connected."""
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
        # Only now: what is kept costs those who wait for it no time.
        self._keep(end, data)
        if self.dialogue.refused is not None:
            self.end(Endpoint.TAP, self.dialogue.refused, reset=False)
        elif other.unsent:
            self._settle()

    def _send(self, end: End, data: bytes) -> None:
        """Send more, or what could not be sent before."""
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
        """Pass on that nothing more comes from one end; the other may still have something to say."""
        end.has_ended = True
        if not other.has_ended:
            self._around.keep_closing(self.number, end.side, "closed")
        self.deadline_s = time.monotonic() + PATIENCE_S
        self._send(other, end.stream.flush())
        self._settle()

    def _settle(self) -> None:
        """Watch both ends for what they can do now, and end what has come to its end."""
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
        """End it at both ends at once.

        Args:
            side: who has brought it about.
            how: for people.
            reset: whether the ends are told by a reset, not as if all were said.
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
