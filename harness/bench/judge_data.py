"""Recordings of any size for the benchmark of `judge`: a recording of real clients, copied with fresh ids.

Only those connections of a tap's journal are copied that have requests about a group. Each copy has its own
groups and members. In some copies one heartbeat has a wrong answer; a file beside the journals lists the
groups concerned. A giant is one group whose quiet time between two rebalances is repeated.
"""

import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

from harness.captures.exchanges import Row, RowKind, exchange_of
from harness.captures.notes import Notes
from harness.captures.sources import rows_of_journal, sources_of
from harness.invariants.exchange import text
from harness.tap.frames import request_assembler, request_head, response_assembler
from harness.tap.journal import MAGIC, Beginning, Entry, Kind, header, read_journal
from harness.trace.files import write_whole
from harness.trace.schema import TraceError, parsed_json
from harness.wire.codec import decode_response, encode_response

EXPECTED: Final = "expected.json"
"""The file with the groups in which a wrong answer is planted."""
_NANOSECONDS_IN_MS: Final = 1_000_000
_AT_ONCE: Final = 50
"""The number of copies that run at the same time."""
_FRESH_CHARACTERS: Final = 7
_SIZE_BYTES: Final = 4
_STARTED_AT: Final = "2026-01-01T00:00:00+00:00"
_CHANGES_MEMBERS: Final = frozenset(("JoinGroup", "SyncGroup", "LeaveGroup"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTap:
    """A tap's recording, in memory, to be multiplied."""

    entries: tuple[Entry, ...]
    """Whole frames, without connections that have no request about a group."""
    ids: re.Pattern[bytes]
    """Matches the ids of groups and members."""
    group: str
    """The group with the most exchanges."""
    connections: frozenset[int]
    """The connections that have requests about that group."""
    exchanges: Mapping[str, int]
    """The number of exchanges by group."""
    beats: tuple[tuple[int, int], ...]
    """Places of heartbeat answers without error, each with the version."""
    quiet_ms: tuple[float, float]
    """The longest period in which no member of any group joined or left."""

    @property
    def count(self) -> int:
        """The number of exchanges in one copy."""
        return sum(self.exchanges.values())

    @property
    def duration_ms(self) -> float:
        """The duration of one copy."""
        return self.entries[-1].at_ms + 1_000.0


def load_base(path: Path) -> BaseTap:
    """Read a tap's journal.

    Raises:
        TraceError: the journal has no request about a group, or an id is too short to be replaced.
    """
    sources = sources_of([path])
    rows = [row for row in rows_of_journal(sources, 0, Notes()) if row.group]
    of_groups = [row for row in rows if row.kind == RowKind.EXCHANGE]
    if not of_groups:
        raise TraceError(f"{path}: nobody spoke of a group in it")
    exchanges = [exchange_of(row, place) for place, row in enumerate(of_groups)]
    counts: dict[str, int] = {}
    for row in of_groups:
        counts[row.group] = counts.get(row.group, 0) + 1
    ids = {*counts, *(text(each.answer or {}, "member_id") for each in exchanges)} - {""}
    if short := next((each for each in ids if len(each) <= _FRESH_CHARACTERS), None):
        raise TraceError(f"{path}: the id {short!r} is too short to be replaced by others of its length")
    connections = {_number(row) for row in rows}
    entries = tuple(_whole_frames(sources.journals[0], connections))
    changes = sorted(
        at for each in exchanges if each.api in _CHANGES_MEMBERS for at in (each.asked_ms, each.answered_ms)
    )
    quiet_ms = max(pairwise(changes), key=lambda pair: pair[1] - pair[0])
    largest = max(counts, key=lambda each: counts[each])
    longest_first = sorted(ids, key=len, reverse=True)
    return BaseTap(
        entries=entries,
        ids=re.compile(b"|".join(re.escape(each.encode()) for each in longest_first)),
        group=largest,
        connections=frozenset(_number(row) for row in rows if row.group == largest),
        exchanges=counts,
        beats=tuple(_beats(entries)),
        quiet_ms=quiet_ms,
    )


def _number(row: Row) -> int:
    return int(row.connection.split(":")[1].split()[0])


def _whole_frames(path: Path, connections: set[int]) -> Iterator[Entry]:
    """Yield whole frames, without ListGroups: the list of a copy lacks the groups of all others."""
    assemblers = {each: (request_assembler(), response_assembler()) for each in connections}
    listing: set[tuple[int, bytes]] = set()
    for entry in read_journal(path):
        if entry.connection not in connections or entry.kind is Kind.BEGUN:
            continue
        if entry.kind not in (Kind.REQUEST_BYTES, Kind.RESPONSE_BYTES):
            yield entry
            continue
        assembler = assemblers[entry.connection][entry.kind is Kind.RESPONSE_BYTES]
        for frame in assembler.frames(entry.content):
            if entry.kind is Kind.REQUEST_BYTES and request_head(frame.payload).api == "ListGroups":
                listing.add((entry.connection, frame.payload[4:8]))
                continue
            if entry.kind is Kind.RESPONSE_BYTES and (entry.connection, frame.payload[:4]) in listing:
                listing.remove((entry.connection, frame.payload[:4]))
                continue
            content = len(frame.payload).to_bytes(_SIZE_BYTES, "big") + frame.payload
            yield Entry(kind=entry.kind, connection=entry.connection, at_ms=entry.at_ms, content=content)


def _beats(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    versions: dict[tuple[int, bytes], int] = {}
    for place, entry in enumerate(entries):
        payload = entry.content[_SIZE_BYTES:]
        if entry.kind is Kind.REQUEST_BYTES:
            head = request_head(payload)
            if head.api == "Heartbeat":
                versions[entry.connection, payload[4:8]] = head.version
        elif entry.kind is Kind.RESPONSE_BYTES:
            version = versions.pop((entry.connection, payload[:4]), None)
            if version is not None and _is_fine(version, payload):
                yield place, version


def _is_fine(version: int, payload: bytes) -> bool:
    return decode_response("Heartbeat", version, payload).fields["error_code"] == "NONE"


def multiply(base: BaseTap, folder: Path, *, count: int, planted_rate: float, seed: int = 0) -> int:
    """Fill a folder with journals that have at least `count` exchanges; return how many they have.

    Args:
        base: the recording to copy.
        folder: the folder for the journals and the expected findings.
        count: the number of exchanges; whole copies only.
        planted_rate: the share of the copies in which a heartbeat's answer is changed; at least one, if any.
        seed: the seed for where.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(seed)  # noqa: S311 - where lies are planted is no secret
    copies = -(-count // base.count)
    lying = [copy for copy in range(copies) if random.random() < planted_rate] or [0] * (planted_rate > 0)
    lies = {copy: random.choice(base.beats) for copy in lying}
    planted: list[str] = []
    for wave in range(0, copies, _AT_ONCE):
        journals = [
            _copy(base, copy, lies.get(copy), planted) for copy in range(wave, min(wave + _AT_ONCE, copies))
        ]
        merged = heapq.merge(*journals, key=lambda entry: entry.at_ms)
        _write(folder / f"{wave // _AT_ONCE:06d}.bin", merged)
    write_whole(folder / EXPECTED, json.dumps(sorted(planted)))
    return copies * base.count


def expected_groups(folder: Path) -> list[str]:
    """Return the groups in which a wrong answer is planted."""
    found = parsed_json((folder / EXPECTED).read_bytes(), where=EXPECTED)
    assert isinstance(found, list)
    return [str(each) for each in found]


def _copy(base: BaseTap, copy: int, lie: tuple[int, int] | None, planted: list[str]) -> Iterator[Entry]:
    fresh = _in_letters(copy)
    shift_ms = copy // _AT_ONCE * base.duration_ms + copy % _AT_ONCE * 37.0
    connections = max(entry.connection for entry in base.entries) + 1
    groups: dict[int, str] = {}
    for place, entry in enumerate(base.entries):
        content = base.ids.sub(lambda found: found[0][:-_FRESH_CHARACTERS] + fresh, entry.content)
        if lie is not None and place == lie[0]:
            payload = content[_SIZE_BYTES:]
            fields = decode_response("Heartbeat", lie[1], payload).fields
            correlation_id = int.from_bytes(payload[:_SIZE_BYTES], "big", signed=True)
            lied = {**fields, "error_code": "UNKNOWN_MEMBER_ID"}
            payload = encode_response("Heartbeat", lie[1], correlation_id=correlation_id, fields=lied)
            content = len(payload).to_bytes(_SIZE_BYTES, "big") + payload
            planted.append(groups[entry.connection])
        for group in base.exchanges if lie is not None else ():
            if group.encode() in entry.content:
                groups[entry.connection] = group[:-_FRESH_CHARACTERS] + fresh.decode()
        yield Entry(
            kind=entry.kind,
            connection=copy * connections + entry.connection,
            at_ms=entry.at_ms + shift_ms,
            content=content,
        )


def write_giant(base: BaseTap, folder: Path, *, count: int) -> int:
    """Write a journal of one group with its quiet time repeated; return how many exchanges that gives."""
    begin_ms, end_ms = base.quiet_ms
    of_group = [entry for entry in base.entries if entry.connection in base.connections]
    before = [entry for entry in of_group if entry.at_ms <= begin_ms]
    during = [entry for entry in of_group if begin_ms < entry.at_ms < end_ms]
    whole = _whole_exchanges(during)
    a_turn = sum(entry.kind is Kind.RESPONSE_BYTES for entry in whole)
    turns = max(-(-(count - len(before) // 2) // max(a_turn, 1)), 1)

    def entries() -> Iterator[Entry]:
        yield from before
        for turn in range(turns):
            shift_ms = turn * (end_ms - begin_ms)
            for entry in whole:
                yield Entry(
                    kind=entry.kind,
                    connection=entry.connection,
                    at_ms=entry.at_ms + shift_ms,
                    content=entry.content,
                )

    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "one-group.bin", entries())
    write_whole(folder / EXPECTED, json.dumps([]))
    return turns * a_turn


def _whole_exchanges(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries without requests whose answer is missing, and without answers to earlier ones."""
    asked: dict[tuple[int, bytes], int] = {}
    kept: list[int] = []
    for place, entry in enumerate(entries):
        if entry.kind is Kind.REQUEST_BYTES:
            asked[entry.connection, entry.content[8:12]] = place
        elif entry.kind is Kind.RESPONSE_BYTES:
            request = asked.pop((entry.connection, entry.content[4:8]), None)
            kept += [] if request is None else [request, place]
    return [entries[place] for place in sorted(kept)]


def _in_letters(number: int) -> bytes:
    """Return a number as letters and digits of fixed length."""
    return f"{number:0{_FRESH_CHARACTERS}x}".encode()


def _write(path: Path, entries: Iterator[Entry]) -> None:
    beginning = json.dumps(asdict(Beginning(started_at=_STARTED_AT, bootstrap="multiplied"))).encode()
    with path.open("wb") as file:
        file.write(MAGIC + header(Kind.BEGUN, 0, 0, len(beginning)) + beginning)
        for entry in entries:
            at_ns = int(entry.at_ms * _NANOSECONDS_IN_MS)
            file.write(header(entry.kind, entry.connection, at_ns, len(entry.content)) + entry.content)
