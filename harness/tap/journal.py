"""The file that a tap keeps: what came, in the order of coming, each piece with its time.

It begins with `MAGIC`; then come entries, whose header says kind, connection, nanoseconds since the tap's
start and size of the content. It is only ever appended to; one that ends within an entry was cut short there.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import BinaryIO, Final

from harness.trace.schema import TraceError

JOURNAL: Final = "journal.bin"
"""Its name, in the folder of the target's trace."""
MAGIC: Final = b"kafka-conformance tap 1\n"
_HEADER: Final = struct.Struct(">BIQI")
_NANOSECONDS_IN_MS: Final = 1_000_000
_COUNT: Final = struct.Struct(">Q")


class Kind(IntEnum):
    """What an entry is about."""

    BEGUN = 0
    """The first entry: a `Beginning`, JSON."""
    OPENED = 1
    """A client has connected; the content is an `Opening`, JSON."""
    REQUEST_BYTES = 2
    """What the client sent."""
    RESPONSE_BYTES = 3
    """What the broker sent, before anything of it was changed."""
    REQUEST_BYTES_LEFT_OUT = 4
    """So many bytes, a number, of a large frame were passed and not kept."""
    RESPONSE_BYTES_LEFT_OUT = 5
    REMARK = 6
    """A `Remark`, JSON, ahead of the bytes that it is about."""
    CLOSED = 7
    """Who ended the connection and how, a `Closing`, JSON; what was under way may still come after it."""
    GONE = 8
    """Nothing more comes of the connection; no file has this, who reads a capture says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is known of a tap when it starts."""

    started_at: str
    """ISO 8601 in UTC."""
    bootstrap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is known of a connection when it begins."""

    conversation: str
    client: str
    """The client's `host:port`."""
    broker: str
    """Which broker it leads to, for people: `bootstrap`, or `node 1`."""
    address: str
    """That broker's `host:port`."""


class Endpoint(StrEnum):
    """Who did something."""

    CLIENT = "client"
    BROKER = "broker"
    TAP = "tap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What people should know of a frame that one side sent."""

    side: str
    correlation_id: int | None
    """None for a stream that is no longer one of frames."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """How a connection ended."""

    side: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened."""

    kind: Kind
    connection: int
    at_ms: float
    content: bytes

    @property
    def count(self) -> int:
        """Of an entry about bytes that were left out, how many."""
        (count,) = _COUNT.unpack(self.content)
        return int(count)


def header(kind: Kind, connection: int, at_ns: int, size: int) -> bytes:
    """What comes before an entry's content of that many bytes."""
    return _HEADER.pack(kind, connection, at_ns, size)


def left_out(count: int) -> bytes:
    """The content of an entry about bytes that were left out."""
    return _COUNT.pack(count)


def read_journal(path: Path) -> Iterator[Entry]:
    """Read entries until the end of the file, or until the first that is not whole.

    Raises:
        TraceError: it is missing, or is no journal.
    """
    with open_journal(path) as file:
        while (entry := next_entry(file, path)) is not None:
            yield entry


def refuse_torn(path: Path) -> None:
    """Refuse a journal that ends within an entry.

    Raises:
        TraceError: it does, or is missing, or is no journal.
    """
    size = path.stat().st_size if path.exists() else 0
    with open_journal(path) as file:
        while head := file.read(_HEADER.size):
            begin = file.tell() - len(head)
            end = begin + _HEADER.size + (_HEADER.unpack(head)[3] if len(head) == _HEADER.size else 0)
            if len(head) < _HEADER.size or end > size:
                raise TraceError(f"{path}: cut short within the entry at byte {begin} of {size}")
            file.seek(end)


def open_journal(path: Path) -> BinaryIO:
    """Open a journal at its first entry.

    Raises:
        TraceError: it is missing, or is no journal.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    if file.read(len(MAGIC)) != MAGIC:
        file.close()
        raise TraceError(f"{path}: no journal of a tap")
    return file


def next_entry(file: BinaryIO, path: Path) -> Entry | None:
    """Read the next entry; None where there is no whole one, with the file's position where it was.

    Raises:
        TraceError: what stands there is no entry.
    """
    begin = file.tell()
    head = file.read(_HEADER.size)
    if len(head) == _HEADER.size:
        kind, connection, at_ns, size = _HEADER.unpack(head)
        content = file.read(size)
        if len(content) == size:
            try:
                known = Kind(kind)
            except ValueError:
                raise TraceError(f"{path}: damaged at byte {begin}: no entry is of kind {kind}") from None
            at_ms = at_ns / _NANOSECONDS_IN_MS
            return Entry(kind=known, connection=connection, at_ms=at_ms, content=content)
    file.seek(begin)
    return None
