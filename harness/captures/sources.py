"""The files that are judged: captures, and journals of taps."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from harness.captures.exchanges import ConnectionReader, Content, Row
from harness.captures.files import first_packet_ms, is_capture, packets_of
from harness.captures.framing import entries_of
from harness.captures.notes import Notes
from harness.captures.segments import segments_of
from harness.captures.streams import pieces_of
from harness.results.errors import ReportError
from harness.tap.journal import JOURNAL, MAGIC, Beginning, Entry, Kind, Opening, next_entry, open_journal
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError, from_json, json_object

# As in `exchanges`: Python 3.11 looks up members of an enumeration slowly.
_OPENED: Final = Kind.OPENED
_CLOSED: Final = Kind.CLOSED
_GONE: Final = Kind.GONE
CONVERSATION: Final = "capture"
"""The name of the conversation that all connections of a judgement are part of."""
_IN_MS: Final = 1_000.0
_LATE_MS: Final = 10_000.0
"""How long after the end of a tapped connection entries of it may still come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Files that are judged together."""

    captures: tuple[Path, ...]
    journals: tuple[Path, ...]
    unread: tuple[str, ...]
    """Files that are neither a capture nor a journal, each with the reason."""
    began_ms: float
    """When the earliest of the files begins, since 1970."""


def sources_of(paths: Sequence[Path]) -> Sources:
    """Sort files into captures and journals, and search folders for journals.

    Raises:
        ReportError: a file does not exist, or a folder has no journal.
        TraceError: none of the files can be judged.
    """
    captures, journals, unread = [], [], []
    for path in _files(paths):
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
        if is_capture(begin):
            captures.append(path)
        elif begin == MAGIC:
            journals.append(path)
        else:
            unread.append(f"{path}: no capture: it begins like neither pcap nor pcapng, nor a tap's journal")
    if not captures and not journals:
        raise TraceError("\n".join(unread))
    began = [*map(first_packet_ms, captures), *map(_started_ms, journals)]
    return Sources(
        captures=tuple(captures), journals=tuple(journals), unread=tuple(unread), began_ms=min(began)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TappedBroker:
    """What a tap recorded of the broker that it tapped."""

    profile: str
    broker_config: Mapping[str, str]
    """All properties that the broker named, not only the coordinator's."""


def tapped_broker(paths: Sequence[Path]) -> TappedBroker | None:
    """Return which broker all files were recorded from; None if that is not known, or if there are several.

    Raises:
        ReportError: a file does not exist, or a folder has no journal.
        TraceError: a tap's header is damaged.
    """
    found: list[TappedBroker] = []
    for path in _files(paths):
        folder, target = RunFolder(path.parent.parent.parent), path.parent.name
        if path.name != JOURNAL or not folder.headers_json(target).is_file():
            return None
        for header in folder.read_headers(target):
            config = json_object(
                header.broker_config, where=f"{folder.headers_json(target)}: `broker_config`"
            )
            properties = {name: str(value) for name, value in config.items()}
            found.append(TappedBroker(profile=header.profile, broker_config=properties))
    return found[0] if found and all(each == found[0] for each in found) else None


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob(JOURNAL))
            if not found:
                raise ReportError(f"{path}: there is no {JOURNAL} in this folder")
            yield from found
        elif path.is_file():
            yield path
        else:
            raise ReportError(f"{path}: there is no such file")


def _started_ms(path: Path) -> float:
    """Return when a tap began, since 1970; 0 if its journal does not contain the time."""
    with open_journal(path) as file:
        try:
            first = next_entry(file, path)
            beginning = None if first is None else from_json(Beginning, first.content, where=str(path))
        except TraceError:
            return 0.0
    return 0.0 if beginning is None else datetime.fromisoformat(beginning.started_at).timestamp() * _IN_MS


def rows_of_captures(sources: Sources, ports: frozenset[int], notes: Notes) -> Iterator[Row]:
    """Yield all rows in the captures that replays need."""
    packets = packets_of(sources.captures, notes, began_ms=sources.began_ms)
    yield from rows_of_entries(
        entries_of(pieces_of(segments_of(packets, ports, notes), notes), notes, conversation=CONVERSATION),
        notes,
    )


def rows_of_journal(sources: Sources, place: int, notes: Notes) -> Iterator[Row]:
    """Yield all rows in one of the journals that replays need; a damaged journal is read up to the damage."""
    path = sources.journals[place]
    since_ms = _started_ms(path) - sources.began_ms
    yield from rows_of_entries(_entries(path, notes), notes, since_ms=since_ms, prefix=f"{place + 1}:")


def _entries(path: Path, notes: Notes) -> Iterator[Entry]:
    size = path.stat().st_size
    with open_journal(path) as file:
        try:
            while (entry := next_entry(file, path)) is not None:
                yield entry
            why = "cut short within an entry" if file.tell() < size else ""
        except TraceError as error:
            why = str(error)
        if why:
            where = f"damaged behind byte {file.tell()} of {size}"
            notes.damages.append(f"{path}: {where}: {why}; read up to there")


def rows_of_entries(
    entries: Iterable[Entry], notes: Notes, *, since_ms: float = 0.0, prefix: str = ""
) -> Iterator[Row]:
    """Yield all rows in streams of frames that replays need.

    Args:
        entries: the entries of a tap's journal, or in its form.
        notes: contains the gaps of each connection; connections are counted here.
        since_ms: when the entries begin, since the first of all files.
        prefix: the prefix of connection names; if it is set, connections are numbered and counted.
    """
    open_now: dict[int, ConnectionReader] = {}
    closed: deque[tuple[float, int]] = deque()
    for entry in entries:
        while closed and closed[0][0] < entry.at_ms - _LATE_MS:
            yield from _ended(open_now, closed.popleft()[1], notes)
        if entry.kind is _OPENED:
            open_now[entry.connection] = _opened(entry, prefix)
            notes.connections += 1 if prefix else 0
        elif entry.kind is _GONE:
            yield from _ended(open_now, entry.connection, notes)
        elif entry.connection in open_now:
            yield from open_now[entry.connection].take(entry, since_ms)
        if entry.kind is _CLOSED and prefix:
            closed.append((entry.at_ms, entry.connection))
    for connection in list(open_now):
        yield from _ended(open_now, connection, notes)


def _opened(entry: Entry, prefix: str) -> ConnectionReader:
    opening = from_json(Opening, entry.content, where="a journal")
    name = f"{prefix}{entry.connection} {opening.address} from {opening.client}"
    return ConnectionReader(name=name if prefix else opening.broker)


def _ended(open_now: dict[int, ConnectionReader], connection: int, notes: Notes) -> Iterator[Row]:
    reader = open_now.pop(connection, None)
    if reader is not None:
        yield from reader.end(_gaps(notes, reader.name))


def _gaps(notes: Notes, name: str) -> tuple[Content, ...]:
    found = notes.gaps.get(name, ())
    return tuple((gap.since_ms, gap.until_ms, gap.is_before) for gap in found)
