"""The files that are judged: captures, and journals of taps."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from harness.captures.connection import ConnectionReader
from harness.captures.notes import Notes
from harness.captures.rows import Row
from harness.results.stored_data import ReportError, is_clients_folder, run_kind
from harness.tap.journal import (
    JOURNAL,
    MAGIC,
    Beginning,
    Closing,
    Entry,
    Kind,
    Opening,
    entries_in,
    open_journal,
)
from harness.tap.reading import refuse_cut_short
from harness.trace.events import RunKind, TraceHeader
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError, from_json

_MAGICS: Final = frozenset(
    bytes.fromhex(each)
    for each in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)
"""The beginnings of pcap files, of seconds in all forms and byte orders, and of pcapng."""
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
        if begin[:4] in _MAGICS:
            captures.append(path)
        elif begin == MAGIC:
            journals.append(path)
        else:
            unread.append(f"{path}: no capture: it begins like neither pcap nor pcapng, nor a tap's journal")
    if not captures and not journals:
        raise TraceError("\n".join(unread))
    began = [_started_ms(each) for each in journals]
    if captures:
        from harness.captures.segments import first_packet_ms  # noqa: PLC0415 - dpkt is an extra that runs do without

        began += map(first_packet_ms, captures)
    return Sources(
        captures=tuple(captures), journals=tuple(journals), unread=tuple(unread), began_ms=min(began)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Files that were recorded of one broker or cluster, and are judged together."""

    files: tuple[Path, ...]
    header: TraceHeader | None = None
    """What the run's folder says of the broker; None if the files are in no run's folder."""
    is_whole: bool = False
    """Whether it is known to have everything that was ever sent about its groups."""
    is_raced: bool = False
    """Whether its requests overlap on purpose, in a run of races."""
    run: RunFolder | None = None
    """The tap's run, which gets the results."""
    damages: tuple[str, ...] = ()
    """What a journal lacks without that its bytes show it."""


def recordings_of(paths: Sequence[Path]) -> tuple[Recording, ...]:
    """Sort files, and the journals in folders, by what they were recorded of.

    Raises:
        ReportError: a file does not exist, or a folder has no journal.
        TraceError: a tap's header is damaged, or its journal lacks entries that it once had.
    """
    found: dict[object, Recording] = {}
    for path in _files(paths):
        each = _recording(path)
        header = each.header
        kind = (each.is_whole, each.is_raced)
        key = header and (header.target, header.profile, header.broker_config, kind)
        known = found.setdefault(key, each)
        if known is not each:
            damages = known.damages + each.damages
            found[key] = replace(known, files=(*known.files, path), damages=damages)
    return tuple(found.values())


def _recording(path: Path) -> Recording:
    run, target = RunFolder(path.absolute().parent.parent.parent.parent), path.parent.name
    if path.name != JOURNAL or not run.headers_json(target).is_file():
        return Recording(files=(path,))
    is_raced, is_tap = run_kind(run.path) is RunKind.RACES, not is_clients_folder(run.path)
    damages: tuple[str, ...] = ()
    if is_tap and (footer := run.read_footer()) is not None:
        try:
            refuse_cut_short(path, run.path, target, footer)
        except TraceError as error:
            damages = (str(error),)
    header = next(iter(run.read_headers(target)), None)
    if header is None:
        raise TraceError(f"{run.headers_json(target)}: contains no header")
    return Recording(
        files=(path,),
        header=header,
        is_whole=is_raced or not is_tap,
        is_raced=is_raced,
        run=run if is_tap else None,
        damages=damages,
    )


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
            first = next(entries_in(file, path), None)
            beginning = None if first is None else from_json(Beginning, first.content, where=str(path))
        except TraceError:
            return 0.0
    return 0.0 if beginning is None else datetime.fromisoformat(beginning.started_at).timestamp() * _IN_MS


def rows_of_captures(sources: Sources, ports: frozenset[int], notes: Notes) -> Iterator[Row]:
    """Yield all rows in the captures that replays need."""
    if sources.captures:
        from harness.captures.streams import rows_of_packets  # noqa: PLC0415 - likewise

        yield from rows_of_packets(sources.captures, ports, notes, began_ms=sources.began_ms)


def rows_of_journal(sources: Sources, place: int, notes: Notes) -> Iterator[Row]:
    """Yield all rows in one of the journals that replays need; a damaged journal is read up to the damage."""
    path = sources.journals[place]
    since_ms = _started_ms(path) - sources.began_ms
    open_now: dict[int, ConnectionReader] = {}
    closed: deque[tuple[float, int]] = deque()
    for entry in _entries(path, notes):
        while closed and closed[0][0] < entry.at_ms - _LATE_MS:
            yield from open_now.pop(closed.popleft()[1]).end()
        if entry.kind is Kind.OPENED:
            opening = from_json(Opening, entry.content, where="a journal")
            name = f"{place + 1}:{entry.connection} {opening.address} from {opening.client}"
            open_now[entry.connection] = ConnectionReader(name, notes, since_ms=since_ms)
            notes.connections += 1
        reader = open_now.get(entry.connection)
        if reader is not None:
            if (piece := entry.piece) is not None:
                side, data, left_out = piece
                yield from reader.take(side, data, entry.at_ms, left_out=left_out)
            elif entry.kind is Kind.CLOSED:
                closing = from_json(Closing, entry.content, where="a journal")
                reader.closed(closing.side, entry.at_ms)
                closed.append((entry.at_ms, entry.connection))
    for reader in open_now.values():
        yield from reader.end()


def _entries(path: Path, notes: Notes) -> Iterator[Entry]:
    size = path.stat().st_size
    with open_journal(path) as file:
        try:
            yield from entries_in(file, path)
            why = "cut short within an entry" if file.tell() < size else ""
        except TraceError as error:
            why = str(error)
        if why:
            where = f"damaged behind byte {file.tell()} of {size}"
            notes.damages.append(f"{path}: {where}: {why}; read up to there")
