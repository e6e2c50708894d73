"""Reassemble the two streams of each connection from segments: in order, once, and with the bytes lost."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.captures.notes import Notes
from harness.captures.segments import Address, Segment, in_words
from harness.tap.journal import Endpoint

_WAITING_BYTES_MAX: Final = 1 << 22
"""The most bytes of one direction that wait behind missing ones; larger than any window that brokers use."""
_WAITING_SEGMENTS_MAX: Final = 1 << 12
_SEQUENCES: Final = 1 << 32
_HALF: Final = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first segment of a connection was captured."""

    connection: int
    at_ms: float
    name: str
    """Broker and client, and the ordinal of the connection between them from the second on."""
    client: str
    broker: str
    is_whole: bool
    """Whether the connection was captured from its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes of one direction, or the number of bytes missing there."""

    connection: int
    at_ms: float
    side: Endpoint
    """The side that sent the bytes."""
    data: bytes = b""
    lost: int = 0
    """How many bytes before the data are missing from the capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The first FIN or RST of a connection was captured."""

    connection: int
    at_ms: float
    side: Endpoint
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """No more pieces of a connection will come."""

    connection: int


Happening: TypeAlias = Opened | Piece | Ended | Gone


@dataclass(slots=True)
class _Direction:
    """The stream that one side sends."""

    next_seq: int | None = None
    position: int = 0
    """The position of `next_seq`, counted from the first byte; unlike sequence numbers it only grows."""
    acknowledged: int = 0
    """The position up to which the other side has acknowledged all bytes."""
    waiting: dict[int, bytes] = field(default_factory=dict)
    """Data that came out of order, by position."""
    waiting_bytes: int = 0
    end: int | None = None
    """The position after the last byte, if it is known."""

    @property
    def is_over(self) -> bool:
        """Whether the stream has ended and is complete."""
        return self.end is not None and self.position >= self.end

    def place(self, seq: int) -> int:
        """Return the position of a sequence number, which wraps around."""
        assert self.next_seq is not None
        return self.position + (seq - self.next_seq + _HALF) % _SEQUENCES - _HALF

    def take(self, seq: int, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Add a segment; yield the data that is now in order, each with the count of bytes lost before it."""
        begin = self.place(seq)
        if begin + len(data) <= self.position:
            return
        if begin > self.position and len(data) > len(self.waiting.get(begin, b"")):
            self.waiting_bytes += len(data) - len(self.waiting.get(begin, b""))
            self.waiting[begin] = data
        elif begin <= self.position:
            yield 0, self._advance(data[self.position - begin :])
        yield from self._ready()
        if begin > self.position and begin <= self.acknowledged:
            yield from self.lose_up_to(begin)
        if self.waiting_bytes > _WAITING_BYTES_MAX or len(self.waiting) > _WAITING_SEGMENTS_MAX:
            yield from self.lose_up_to(min(self.waiting))

    def lose_up_to(self, end: int) -> Iterator[tuple[int, bytes]]:
        """Give up the missing bytes before a position: the capture lacks them."""
        while self.position < end:
            place = min([end, *self.waiting])
            lost = place - self.position
            self._skip(lost)
            yield lost, b""
            yield from self._ready()

    def lose_all(self) -> Iterator[tuple[int, bytes]]:
        """Give up all missing bytes."""
        while self.waiting:
            yield from self.lose_up_to(min(self.waiting))
        yield from self.lose_up_to(self.acknowledged if self.end is None else self.end)

    def _ready(self) -> Iterator[tuple[int, bytes]]:
        while self.waiting and (begin := min(self.waiting)) <= self.position:
            data = self.waiting.pop(begin)
            self.waiting_bytes -= len(data)
            if begin + len(data) > self.position:
                yield 0, self._advance(data[self.position - begin :])

    def _advance(self, data: bytes) -> bytes:
        self._skip(len(data))
        return data

    def _skip(self, count: int) -> None:
        assert self.next_seq is not None
        self.position += count
        self.next_seq = (self.next_seq + count) % _SEQUENCES


@dataclass(slots=True)
class _Connection:
    number: int
    opening_seq: int | None
    """The client's first sequence number, if its SYN was captured."""
    directions: dict[Endpoint, _Direction] = field(
        default_factory=lambda: {Endpoint.CLIENT: _Direction(), Endpoint.BROKER: _Direction()}
    )
    is_ended: bool = False

    def is_of_the_former(self, segment: Segment) -> bool:
        """Return whether a broker's segment is about an earlier connection with the same ports.

        It acknowledges what that one sent, where it should answer this one's SYN (RFC 9293, 3.5.1).
        """
        return (
            segment.side is Endpoint.BROKER
            and self.opening_seq is not None
            and self.directions[Endpoint.BROKER].next_seq is None
            and segment.ack != (self.opening_seq + 1) % _SEQUENCES
            and not (segment.is_syn or segment.is_rst or segment.data)
        )


class _Streams:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: dict[tuple[Address, Address], _Connection] = {}
        self._names: Counter[str] = Counter()
        self._now_ms = 0.0

    def take(self, segment: Segment) -> Iterator[Happening]:
        self._now_ms = segment.at_ms
        key = (segment.client, segment.broker)
        is_new = segment.is_syn and segment.side is Endpoint.CLIENT
        connection = self._open.get(key)
        if connection is not None and is_new and connection.opening_seq != segment.seq:
            yield from self._give_up(self._open.pop(key))
            connection = None
        if connection is None:
            if not (is_new or segment.data):
                return
            connection = self._open[key] = self._opened(segment, is_new=is_new)
            yield Opened(
                connection=connection.number,
                at_ms=self._now_ms,
                name=self._name(segment),
                client=in_words(segment.client),
                broker=in_words(segment.broker),
                is_whole=is_new,
            )
        if connection.is_of_the_former(segment):
            return
        yield from self._follow(connection, segment)
        if segment.is_rst or all(each.is_over for each in connection.directions.values()):
            yield from self._give_up(self._open.pop(key))

    def finish(self) -> Iterator[Happening]:
        """Give up the missing bytes of all connections at the end of the capture."""
        for connection in self._open.values():
            yield from self._give_up(connection)

    def _name(self, segment: Segment) -> str:
        name = f"{in_words(segment.broker)} from {in_words(segment.client)}"
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}, its connection {self._names[name]}"

    def _opened(self, segment: Segment, *, is_new: bool) -> _Connection:
        self._notes.connections += 1
        return _Connection(self._notes.connections, segment.seq if is_new else None)

    def _follow(self, connection: _Connection, segment: Segment) -> Iterator[Piece | Ended]:
        mine = connection.directions[segment.side]
        others = connection.directions[
            Endpoint.BROKER if segment.side is Endpoint.CLIENT else Endpoint.CLIENT
        ]
        if segment.ack is not None:
            yield from self._acknowledge(connection, others, segment)
        begin = segment.seq + 1 if segment.is_syn else segment.seq
        if mine.next_seq is None and not segment.is_rst:
            mine.next_seq = begin % _SEQUENCES
        if segment.data and mine.next_seq is not None:
            yield from self._pieces(connection, segment.side, mine.take(begin, segment.data))
        if segment.is_fin and mine.next_seq is not None:
            mine.end = mine.place(begin + len(segment.data))
        if (segment.is_rst or segment.is_fin) and not connection.is_ended:
            connection.is_ended = True
            how = "reset" if segment.is_rst else "closed"
            yield Ended(connection=connection.number, at_ms=self._now_ms, side=segment.side, how=how)

    def _acknowledge(self, connection: _Connection, others: _Direction, segment: Segment) -> Iterator[Piece]:
        assert segment.ack is not None
        if others.next_seq is None:
            others.next_seq = segment.ack
            return
        others.acknowledged = max(others.acknowledged, others.place(segment.ack))
        if segment.data and others.acknowledged > others.position and others.end is None:
            side = Endpoint.BROKER if segment.side is Endpoint.CLIENT else Endpoint.CLIENT
            yield from self._pieces(connection, side, others.lose_up_to(others.acknowledged))

    def _give_up(self, connection: _Connection) -> Iterator[Happening]:
        for side, direction in connection.directions.items():
            yield from self._pieces(connection, side, direction.lose_all())
        yield Gone(connection=connection.number)

    def _pieces(
        self, connection: _Connection, side: Endpoint, parts: Iterable[tuple[int, bytes]]
    ) -> Iterator[Piece]:
        for lost, data in parts:
            yield Piece(connection=connection.number, at_ms=self._now_ms, side=side, data=data, lost=lost)


def pieces_of(segments: Iterable[Segment], notes: Notes) -> Iterator[Happening]:
    """Reassemble the streams of all connections; yield each piece as soon as all pieces before it are there.

    A missing piece is lost when the other side has acknowledged it, or when too much data waits behind it.
    """
    streams = _Streams(notes)
    for segment in segments:
        yield from streams.take(segment)
    yield from streams.finish()
