"""The reference on a TCP port: frames in, effects out, and a clock. It implements no behaviour of Kafka.

Clients' sockets are in a separate I/O process, so that the coordinator has a core to itself.
"""

import contextlib
import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final

from reference_coordinator.broker.listener import ConnectionId, Outgoing, SendFrame
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.parts import ANSWER_MAX_BYTES, AnswerTooLargeError
from reference_coordinator.log.batches import StoreFullError
from reference_coordinator.server import io_process
from reference_coordinator.server.answers import Answers
from reference_coordinator.server.long_requests import LONG_ANSWER_BYTES, LongRequest
from reference_coordinator.server.served import Commands, Connect, Served
from reference_coordinator.server.streams import Stream
from reference_coordinator.server.turns import Turns

_SLICE_S: Final = 0.02
"""How long requests are handled before newly arrived ones are received."""
_LONG_AT_ONCE: Final = 2
"""How many long requests are handled in turn; the parts of their answers take memory."""
_SIZE_BYTES: Final = 4
_PIECE_BYTES: Final = 1 << 18
"""How much of an answer is sent before its client must take some of it."""
_SAVE_AGAIN_S: Final = 0.5
_FRAME_BYTES_LOGGED: Final = 4096
_RECEIVE_BYTES: Final = 1 << 18
_MILLIS_PER_SECOND: Final = 1000
_LOST: Final = "the process with the clients' sockets has ended"
_LOGGER: Final = logging.getLogger(__name__)


class IoProcessLostError(Exception):
    """The process with the sockets has ended, so no client can be served any more."""


class Server:
    """Carries a listener's frames over the link to its I/O process, and drives its clock.

    Frames that arrive together are handled together: the clock is read, the next deadline is computed and the
    link is written to once, however many frames there are. Their changes are saved before that. No connection
    delays others for longer than one request and a time slice, since short requests come first (`Turns`). No
    connection is read from while it does not read its answers. A large answer is made and sent in pieces, and
    other clients are served between them (`LongRequest`).
    """

    def __init__(
        self,
        listener: Served,
        connect: Connect,
        *,
        link: socket.socket,
        ports: Sequence[int],
        request_max_bytes: int,
        commands: Commands | None = None,
    ) -> None:
        self.port = ports[0]
        """The port of the broker, or of the first one."""
        self.ports = tuple(ports)
        self.save: Callable[[], None] | None = None
        """Stores the changes that answers depend on; called before the answers leave the process."""
        self._listener = listener
        self._connect = connect
        self._request_max_bytes = request_max_bytes
        self._commands = commands
        self._link = link
        self._unpacking = io_process.Unpacking()
        self._streams: dict[int, Stream] = {}
        self._stream_of: dict[ConnectionId, Stream] = {}
        self._turns = Turns()
        self._long: deque[Stream] = deque()
        """The connections with a long request; only the first ones have turns."""
        self._touched: dict[int, Stream] = {}
        """The connections that sent or were handled since it was last decided which are read from."""
        self._answers = Answers()
        self._withheld: Answers | None = None
        """Answers that depend on changes which cannot be saved at the moment."""
        self._parcels: list[bytes] = []
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._link, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        if commands is not None:
            self._selector.register(commands.socket, selectors.EVENT_READ)
        # The log outlives the process, so its times are wall-clock times; within a process they never go
        # back.
        self._began_ms = (time.time() - time.monotonic()) * _MILLIS_PER_SECOND
        self._advance_again_ms = Millis(0)
        listener.report_failures(_log_failure)

    def run(self) -> None:
        """Serve until somebody calls `stop`.

        Raises:
            IoProcessLostError: the process with the sockets has ended.
            StoreError: changes cannot be saved; no answer that depends on them was sent.
        """
        while True:
            ready = self._selector.select(0 if self._turns else self._until_deadline_s())
            if any(key.fileobj is self._woken for key, _ in ready):
                self._shut_down()
                return
            now_ms = self.now_ms()
            for key, _ in ready:
                if key.fileobj is self._link:
                    self._take_in(now_ms=now_ms)
                elif self._commands is not None:
                    self._obey(self._commands, now_ms=now_ms)
            self._handle_queued(now_ms=now_ms)
            deadline_ms = self._next_deadline()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self._advance(now_ms=now_ms)
            self._save()
            self._send_all()

    def _shut_down(self) -> None:
        """Answer waiting requests, if the release does so, and wait until the I/O process has all answers."""
        try:
            outgoing = self._listener.shut_down(now_ms=self.now_ms())
        except Exception:
            _LOGGER.exception("those who wait cannot be answered before the end")
            outgoing = ()
        # Connections close anyway when the I/O process ends.
        self._carry_out(each for each in outgoing if isinstance(each, SendFrame))
        self._save()
        self._send_all()
        # If it cannot send to the server, the I/O process ends before it has read what is for clients.
        with contextlib.suppress(ConnectionError):
            self._link.shutdown(socket.SHUT_WR)
            while self._link.recv(_RECEIVE_BYTES):
                pass

    def stop(self) -> None:
        """Make `run` return soon; any thread and any signal handler may call it, at any time."""
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def close(self) -> None:
        """Close the link, which closes every connection."""
        for each in (self._selector, self._link, self._wake, self._woken):
            each.close()

    def _until_deadline_s(self) -> float | None:
        deadline_ms = self._next_deadline()
        until_s = None if deadline_ms is None else max(deadline_ms - self.now_ms(), 0) / _MILLIS_PER_SECOND
        if self._withheld is None:
            return until_s
        return _SAVE_AGAIN_S if until_s is None else min(until_s, _SAVE_AGAIN_S)

    def _next_deadline(self) -> Millis | None:
        deadline_ms = self._listener.next_deadline()
        return None if deadline_ms is None else max(deadline_ms, self._advance_again_ms)

    def now_ms(self) -> Millis:
        """Return the time of the server's clock."""
        return Millis(int(self._began_ms + time.monotonic() * _MILLIS_PER_SECOND))

    def _take_in(self, *, now_ms: Millis) -> None:
        data = self._link.recv(_RECEIVE_BYTES)
        if not data:
            raise IoProcessLostError(_LOST)
        for kind, number, content in self._unpacking.parcels(data):
            stream = self._streams.get(number)
            if kind == io_process.OPENED:
                self._connected(number, content.decode())
            elif stream is None:
                continue
            elif kind == io_process.BYTES:
                stream.take(content)
                self._enqueue(stream)
            elif kind == io_process.TAKEN:
                stream.confirmed()
                if stream.unsent:
                    self._send_piece(stream)
                self._enqueue(stream)
            else:
                self._disconnected(stream, now_ms=now_ms)

    def _connected(self, number: int, origin: str) -> None:
        acceptor, _, client_host = origin.partition(" ")
        connection = self._connect(int(acceptor), client_host)
        if connection is None:
            self._answers.close(number)
            return
        stream = Stream(connection, number, request_max_bytes=self._request_max_bytes)
        self._streams[number] = self._stream_of[connection] = stream

    def _enqueue(self, stream: Stream) -> None:
        """Queue a connection's next request, unless something must happen before."""
        self._touched[stream.number] = stream
        if stream.is_queued or stream.is_blocked or not (stream.frames or stream.fault):
            return
        if not self._listener.is_busy(stream.connection):
            self._turns.add(stream)

    def _handle_queued(self, *, now_ms: Millis) -> None:
        """Handle requests, one of each connection in turn, for a time slice."""
        at_s = time.monotonic()
        end_s = at_s + _SLICE_S
        while self._turns and at_s <= end_s:
            stream = self._turns.take()
            if stream.number not in self._streams and stream.long_request is None:
                continue
            began_s = at_s
            self._handle_next(stream, now_ms=now_ms)
            at_s = time.monotonic()
            self._turns.handled(stream, took_s=at_s - began_s)
            if stream.number in self._streams:
                self._enqueue(stream)
        for stream in self._touched.values():
            self._pause_or_resume(stream)
        self._touched.clear()

    def _handle_next(self, stream: Stream, *, now_ms: Millis) -> None:
        connection = stream.connection
        if stream.long_request is not None:
            self._proceed(stream, stream.long_request, now_ms=now_ms)
            return
        if not stream.frames:
            self._end(connection, stream.fault or "", now_ms=now_ms)
            return
        frame = stream.next_frame()
        try:
            size_bytes = self._listener.answer_bytes(connection, frame)
            if size_bytes > ANSWER_MAX_BYTES:
                self._end(connection, str(AnswerTooLargeError(size_bytes)), now_ms=now_ms)
            elif size_bytes > LONG_ANSWER_BYTES:
                stream.long_request = LongRequest(partial(self._received, connection, frame))
                self._long.append(stream)
                self._let_first_long_ones_proceed()
            else:
                self._carry_out(self._listener.received(connection, frame, now_ms=now_ms))
        except Exception as error:  # noqa: BLE001 - a fault of ours costs the connection, and nobody else's
            _log_failure(frame, error)
            self._end(connection, f"its request failed: {error!r}", now_ms=now_ms)

    def _received(self, connection: ConnectionId, frame: bytes, now_ms: Millis) -> tuple[Outgoing, ...]:
        try:
            return self._listener.received(connection, frame, now_ms=now_ms)
        except Exception as error:
            _log_failure(frame, error)
            raise

    def _let_first_long_ones_proceed(self) -> None:
        for each in islice(self._long, _LONG_AT_ONCE):
            self._turns.add(each)

    def _proceed(self, stream: Stream, request: LongRequest, *, now_ms: Millis) -> None:
        """Handle a long request for a slice of time, unless its client has gone before it began."""
        is_wanted = request.has_begun or stream.number in self._streams
        if is_wanted and not request.proceed(now_ms=now_ms):
            self._turns.add(stream)
            return
        self._long.remove(stream)
        stream.long_request = None
        self._let_first_long_ones_proceed()
        try:
            self._carry_out(request.outcome())
        except Exception as error:  # noqa: BLE001 - as for any other request
            self._end(stream.connection, f"its request failed: {error!r}", now_ms=now_ms)

    def _end(self, connection: ConnectionId, reason: str, *, now_ms: Millis) -> None:
        """Close a connection, unless it is closed already, and forget it."""
        if connection in self._stream_of:
            self._close(connection, reason)
            self._carry_out(self._listener.disconnected(connection, now_ms=now_ms))

    def _pause_or_resume(self, stream: Stream) -> None:
        if stream.number not in self._streams:
            return
        is_busy = stream.is_blocked or self._listener.is_busy(stream.connection)
        pauses = stream.pauses(is_busy=is_busy)
        if pauses != stream.is_paused:
            stream.is_paused = pauses
            self._parcels.append(
                io_process.header(io_process.PAUSE if pauses else io_process.RESUME, stream.number, 0)
            )

    def _obey(self, commands: Commands, *, now_ms: Millis) -> None:
        self._carry_out(commands.obey(now_ms=now_ms))
        for stream in tuple(self._streams.values()):
            self._enqueue(stream)

    def _advance(self, *, now_ms: Millis) -> None:
        try:
            self._carry_out(self._listener.advance(now_ms=now_ms))
        except Exception:
            _LOGGER.exception("what was due cannot be done; it is tried again in a second")
            self._advance_again_ms = Millis(now_ms + _MILLIS_PER_SECOND)

    def _disconnected(self, stream: Stream, *, now_ms: Millis) -> None:
        del self._streams[stream.number], self._stream_of[stream.connection]
        self._answers.forget(stream.number)
        self._carry_out(self._listener.disconnected(stream.connection, now_ms=now_ms))

    def _carry_out(self, outgoing: Iterable[Outgoing]) -> None:
        for each in outgoing:
            if isinstance(each, SendFrame):
                self._send(each)
            else:
                self._close(each.connection, each.reason)

    def _send(self, answer: SendFrame) -> None:
        stream = self._stream_of[answer.connection]
        self._answers.add(stream.number, len(answer.frame).to_bytes(_SIZE_BYTES, "big"))
        if len(answer.frame) <= _PIECE_BYTES:
            self._send_bytes(stream, answer.frame)
        else:
            stream.unsent = memoryview(answer.frame)
            self._send_piece(stream)

    def _send_piece(self, stream: Stream) -> None:
        piece, stream.unsent = stream.unsent[:_PIECE_BYTES], stream.unsent[_PIECE_BYTES:]
        self._send_bytes(stream, piece)

    def _send_bytes(self, stream: Stream, data: bytes | memoryview) -> None:
        self._answers.add(stream.number, data)
        stream.sent(len(data))
        if stream.wants_confirmation and not stream.awaits_confirmation:
            stream.awaits_confirmation = True
            self._answers.confirm(stream.number)
        self._enqueue(stream)

    def _close(self, connection: ConnectionId, reason: str) -> None:
        _LOGGER.warning("connection %d is closed: %s", connection, reason)
        stream = self._stream_of.pop(connection)
        del self._streams[stream.number]
        self._answers.close(stream.number)

    def _save(self) -> None:
        """Save the changes that answers depend on, or withhold the answers until that is possible.

        Meanwhile requests for topics' logs are refused, and all others are answered.
        """
        if self.save is None:
            return
        try:
            self.save()
        except StoreFullError:
            if self._withheld is None:
                self._withheld, self._answers = self._answers, Answers()
                self._listener.refuse_topics(refuses=True)
                for number in self._withheld.numbers() & self._streams.keys():
                    self._streams[number].is_withheld = True
        else:
            if self._withheld is not None:
                self._listener.refuse_topics(refuses=False)
                self._parcels += self._withheld.parcels()
                for number in self._withheld.numbers() & self._streams.keys():
                    self._streams[number].is_withheld = False
                    self._enqueue(self._streams[number])
                self._withheld = None

    def _send_all(self) -> None:
        self._parcels += self._answers.parcels()
        self._answers = Answers()
        # The I/O process always reads, so this cannot deadlock.
        try:
            self._link.sendall(b"".join(self._parcels))
        except ConnectionError as error:
            raise IoProcessLostError(_LOST) from error
        self._parcels.clear()


def _log_failure(frame: bytes, error: Exception) -> None:
    """Log the request on which a handler failed, so that it can be sent again."""
    shown = frame[:_FRAME_BYTES_LOGGED].hex()
    _LOGGER.error("a request of %d bytes cannot be handled: %s", len(frame), shown, exc_info=error)
