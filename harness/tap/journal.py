"""The file that a tap writes: everything that it received, in order, each piece with its time.

It begins with `MAGIC`, followed by entries. An entry's header has its kind, its connection, the nanoseconds
since the tap's start and the size of the content. A journal is append-only; one that ends within an entry was
cut short there.
"""

import json
import os
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from os import SEEK_CUR
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from harness.trace.plain_files import open_plain
from harness.trace.schema import TraceError

JOURNAL: Final = "journal.bin"
"""The journal's file name, in the folder of the target's trace."""
MAGIC: Final = b"kafka-conformance tap 1\n"
_HEADER: Final = struct.Struct(">BIQI")
_NANOSECONDS_IN_MS: Final = 1_000_000
_COUNT: Final = struct.Struct(">Q")


class Kind(IntEnum):
    """The kinds of entries."""

    BEGUN = 0
    """The first entry: a `Beginning`, JSON."""
    OPENED = 1
    """A client has connected; the content is an `Opening`, JSON."""
    REQUEST_BYTES = 2
    """Bytes that the client sent."""
    RESPONSE_BYTES = 3
    """Bytes that the broker sent, before any were changed."""
    REQUEST_BYTES_LEFT_OUT = 4
    """The number of bytes of a large frame that were passed on and not recorded."""
    RESPONSE_BYTES_LEFT_OUT = 5
    REMARK = 6
    """A `Remark`, JSON, ahead of the bytes that it is about."""
    CLOSED = 7
    """A `Closing`, JSON: who ended the connection and how. Entries in flight may still come after it."""


_KINDS: Final = {int(each): each for each in Kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The data known of a tap when it starts."""

    started_at: str
    """ISO 8601 in UTC."""
    bootstrap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The data known of a connection when it begins."""

    conversation: str
    client: str
    """The client's `host:port`."""
    broker: str
    """The broker's name for people: `bootstrap`, or `node 1`."""
    address: str
    """That broker's `host:port`."""


class Endpoint(StrEnum):
    """The side that did something."""

    CLIENT = "client"
    BROKER = "broker"
    TAP = "tap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A note for people about a frame that one side sent."""

    side: str
    correlation_id: int | None
    """None if the stream no longer consists of frames."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """How a connection ended."""

    side: str
    how: str


class Entry(NamedTuple):
    """One entry of a journal."""

    kind: Kind
    connection: int
    at_ms: float
    content: bytes

    @property
    def piece(self) -> tuple["Endpoint", bytes, int] | None:
        """The side that sent bytes, the bytes, and how many were left out; None if it is about no bytes."""
        found = _PIECES.get(self.kind)
        if found is None:
            return None
        side, is_left_out = found
        return (side, b"", int(_COUNT.unpack(self.content)[0])) if is_left_out else (side, self.content, 0)


_PIECES: Final = {
    Kind.REQUEST_BYTES: (Endpoint.CLIENT, False),
    Kind.RESPONSE_BYTES: (Endpoint.BROKER, False),
    Kind.REQUEST_BYTES_LEFT_OUT: (Endpoint.CLIENT, True),
    Kind.RESPONSE_BYTES_LEFT_OUT: (Endpoint.BROKER, True),
}


def header(kind: Kind, connection: int, at_ns: int, size: int) -> bytes:
    """Return the header of an entry whose content has that many bytes."""
    return _HEADER.pack(kind, connection, at_ns, size)


def left_out(count: int) -> bytes:
    """Return the content of an entry about bytes that were left out."""
    return _COUNT.pack(count)


def read_journal(path: Path) -> Iterator[Entry]:
    """Read entries until the end of the file, or until the first incomplete one.

    Raises:
        TraceError: the file is missing, or is not a journal.
    """
    with open_journal(path) as file:
        yield from entries_in(file, path)


def entries_in(file: BinaryIO, path: Path) -> Iterator[Entry]:
    """Read the entries from a file's position on; it stays before the first one that is incomplete.

    Raises:
        TraceError: the bytes there are not an entry.
    """
    while len(head := file.read(_HEADER.size)) == _HEADER.size:
        kind, connection, at_ns, size = _HEADER.unpack(head)
        content = file.read(size)
        if len(content) < size:
            file.seek(-len(content), SEEK_CUR)
            break
        known = _KINDS.get(kind)
        if known is None:
            begin = file.tell() - len(head) - size
            raise TraceError(f"{path}: damaged at byte {begin}: no entry is of kind {kind}")
        yield Entry(kind=known, connection=connection, at_ms=at_ns / _NANOSECONDS_IN_MS, content=content)
    file.seek(-len(head), SEEK_CUR)


def refuse_torn(path: Path) -> None:
    """Refuse a journal that ends within an entry.

    Raises:
        TraceError: it does, or is missing, or is not a journal.
    """
    with open_journal(path) as file:
        deque(entries_in(file, path), maxlen=0)
        begin, size = file.tell(), path.stat().st_size
        if begin < size:
            raise TraceError(f"{path}: cut short within the entry at byte {begin} of {size}")


def open_journal(path: Path) -> BinaryIO:
    """Open a journal at its first entry.

    Raises:
        TraceError: the file is missing, or is not a journal.
    """
    try:
        file = open_plain(path)
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    if file.read(len(MAGIC)) != MAGIC:
        file.close()
        raise TraceError(f"{path}: no journal of a tap")
    return file


class Journal:
    """A journal, each entry of which is handed to the operating system at once."""

    def __init__(self, path: Path, bootstrap: str, *, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._now_ns = now_ns
        self._began_ns = now_ns()
        began = Beginning(
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"), bootstrap=bootstrap
        )
        self._write(MAGIC)
        self.keep_record(Kind.BEGUN, 0, began)

    def keep(self, kind: Kind, connection: int, content: bytes) -> None:
        """Write an entry."""
        at_ns = self._now_ns() - self._began_ns
        self._write(header(kind, connection, at_ns, len(content)) + content)

    def keep_record(
        self, kind: Kind, connection: int, record: Beginning | Opening | Closing | Remark
    ) -> None:
        """Write an entry whose content is JSON."""
        self.keep(kind, connection, json.dumps(asdict(record)).encode())

    def _write(self, entry: bytes) -> None:
        while entry:
            entry = entry[os.write(self._descriptor, entry) :]
