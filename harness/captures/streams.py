"""Reassemble the two streams of each connection from segments: in order, once, and with the bytes lost."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, TypeAlias

from harness.captures.connection import ConnectionReader
from harness.captures.notes import Notes
from harness.captures.rows import Row
from harness.captures.segments import Address, Segment, in_words, packets_of, segments_of
from harness.tap.journal import Endpoint

_WAITING_BYTES_MAX: Final = 1 << 22
"""The most bytes of one direction that wait behind missing ones; larger than any window that brokers use."""
_WAITING_SEGMENTS_MAX: Final = 1 << 12
_OPEN_MAX: Final = 4_000
"""How many connections of a kind that have not ended are followed; beyond that, the one idle for longest is
given up."""
_COUNTED_MAX: Final = 10_000
"""Of how many pairs of addresses the connections are counted."""
_SEQUENCES: Final = 1 << 32
_HALF: Final = 1 << 31


_Ends: TypeAlias = tuple[Address, Address]
"""The addresses of client and broker."""


@dataclass(slots=True)
class _Direction:
    next_seq: int | None = None
    position: int = 0
    """The position of `next_seq`, counted from the first byte; unlike sequence numbers it only grows."""
    acknowledged: int = 0
    """The position up to which the other side has acknowledged all bytes."""
    waiting: dict[int, bytes] = field(default_factory=dict)
    """Data that came out of order, by position."""
    places: list[int] = field(default_factory=list)
    """A heap of these positions."""
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
            if begin not in self.waiting:
                heappush(self.places, begin)
            self.waiting[begin] = data
        elif begin <= self.position:
            yield 0, self._advance(data[self.position - begin :])
        yield from self._ready()
        if begin > self.position and begin <= self.acknowledged:
            yield from self.lose_up_to(begin)
        if self.waiting_bytes > _WAITING_BYTES_MAX or len(self.waiting) > _WAITING_SEGMENTS_MAX:
            yield from self.lose_up_to(self.places[0])

    def lose_up_to(self, end: int) -> Iterator[tuple[int, bytes]]:
        """Give up the missing bytes before a position: the capture lacks them."""
        while self.position < end:
            place = min([end, *self.places[:1]])
            lost = place - self.position
            self._skip(lost)
            yield lost, b""
            yield from self._ready()

    def lose_all(self) -> Iterator[tuple[int, bytes]]:
        """Give up all missing bytes."""
        while self.waiting:
            yield from self.lose_up_to(self.places[0])
        yield from self.lose_up_to(self.acknowledged if self.end is None else self.end)

    def _ready(self) -> Iterator[tuple[int, bytes]]:
        while self.places and self.places[0] <= self.position:
            begin = heappop(self.places)
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
    """Its number in the capture."""
    ends: _Ends
    opened_ms: float
    opening_seq: int | None
    """The client's first sequence number, if its SYN was captured."""
    reader: ConnectionReader | None = None
    """Made when there is something to read."""
    directions: dict[Endpoint, _Direction] = field(
        default_factory=lambda: {Endpoint.CLIENT: _Direction(), Endpoint.BROKER: _Direction()}
    )
    is_ended: bool = False
    speakers: set[Endpoint] = field(default_factory=set)
    """The sides that have sent data."""

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
        self._open: tuple[OrderedDict[_Ends, _Connection], ...] = tuple(OrderedDict() for _ in range(3))
        """By the number of sides that have sent data, the connection that was idle longest first: so port
        scans, and clients that get no answer, give up none on which brokers answer."""
        self._counts: dict[str, int] = {}
        self._now_ms = 0.0

    def take(self, segment: Segment) -> Iterator[Row]:
        self._now_ms = segment.at_ms
        key = (segment.client, segment.broker)
        is_new = segment.is_syn and segment.side is Endpoint.CLIENT
        connection = next((each.pop(key) for each in self._open if key in each), None)
        if connection is not None and is_new and connection.opening_seq != segment.seq:
            yield from self._give_up(connection)
            connection = None
        if connection is None:
            if not (is_new or segment.data):
                return
            self._notes.connections += 1
            opening_seq = segment.seq if is_new else None
            connection = _Connection(self._notes.connections, key, self._now_ms, opening_seq)
        if not connection.is_of_the_former(segment):
            yield from self._follow(connection, segment)
            if segment.is_rst or all(each.is_over for each in connection.directions.values()):
                yield from self._give_up(connection)
                return
        alike = self._open[len(connection.speakers)]
        alike[key] = connection
        if len(alike) > _OPEN_MAX:
            yield from self._give_up(alike.popitem(last=False)[1])

    def finish(self) -> Iterator[Row]:
        """Give up the missing bytes of all connections at the end of the capture."""
        opened = (connection for alike in self._open for connection in alike.values())
        for connection in sorted(opened, key=lambda each: each.number):
            yield from self._give_up(connection)

    def _reader(self, connection: _Connection) -> ConnectionReader:
        if connection.reader is None:
            connection.reader = ConnectionReader(self._name(connection), self._notes)
            is_whole = connection.opening_seq is not None
            connection.reader.is_captured(connection.opened_ms, is_whole=is_whole)
        return connection.reader

    def _name(self, connection: _Connection) -> str:
        """Return broker and client, and the ordinal of their connection from the second on; it is unique."""
        client, broker = map(in_words, connection.ends)
        name = f"{broker} from {client}"
        count = self._counts.get(name, 0) + 1
        if count == 1 and len(self._counts) >= _COUNTED_MAX:
            return f"{name}, connection {connection.number} of all"
        self._counts[name] = count
        return name if count == 1 else f"{name}, its connection {count}"

    def _follow(self, connection: _Connection, segment: Segment) -> Iterator[Row]:
        mine = connection.directions[segment.side]
        if segment.ack is not None:
            yield from self._acknowledge(connection, segment.ack, segment)
        begin = segment.seq + 1 if segment.is_syn else segment.seq
        if mine.next_seq is None and not segment.is_rst:
            mine.next_seq = begin % _SEQUENCES
        if segment.data:
            connection.speakers.add(segment.side)
        if segment.data and mine.next_seq is not None:
            yield from self._read(connection, segment.side, mine.take(begin, segment.data))
        if segment.is_fin and mine.next_seq is not None:
            mine.end = mine.place(begin + len(segment.data))
        if (segment.is_rst or segment.is_fin) and not connection.is_ended:
            connection.is_ended = True
            self._reader(connection).closed(segment.side, self._now_ms)

    def _acknowledge(self, connection: _Connection, ack: int, segment: Segment) -> Iterator[Row]:
        side = Endpoint.BROKER if segment.side is Endpoint.CLIENT else Endpoint.CLIENT
        others = connection.directions[side]
        if others.next_seq is None:
            others.next_seq = ack
            return
        others.acknowledged = max(others.acknowledged, others.place(ack))
        if segment.data and others.acknowledged > others.position and others.end is None:
            yield from self._read(connection, side, others.lose_up_to(others.acknowledged))

    def _give_up(self, connection: _Connection) -> Iterator[Row]:
        for side, direction in connection.directions.items():
            yield from self._read(connection, side, direction.lose_all())
        if connection.reader is not None:
            yield from connection.reader.end()

    def _read(
        self, connection: _Connection, side: Endpoint, parts: Iterable[tuple[int, bytes]]
    ) -> Iterator[Row]:
        for lost, data in parts:
            yield from self._reader(connection).take(side, data, self._now_ms, lost=lost)


def rows_of_segments(segments: Iterable[Segment], notes: Notes) -> Iterator[Row]:
    """Reassemble the streams of all connections; yield the rows that replays need.

    A piece is read as soon as all pieces before it are there. A missing piece is lost when the other side has
    acknowledged it, or when too much data waits behind it.
    """
    streams = _Streams(notes)
    for segment in segments:
        yield from streams.take(segment)
    yield from streams.finish()


def rows_of_packets(
    captures: Sequence[Path], ports: frozenset[int], notes: Notes, *, began_ms: float
) -> Iterator[Row]:
    """Yield all rows in captures that replays need."""
    packets = packets_of(captures, notes, began_ms=began_ms)
    yield from rows_of_segments(segments_of(packets, ports, notes), notes)
