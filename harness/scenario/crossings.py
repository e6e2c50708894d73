"""Which crossings the scripts show: what happened to a group, what came then, and who asked afterwards.

A crossing is shown if one script does the first thing to a group, then the second, and then sends a request
that names the group, or lists groups. A blank has its reason in `crossings.toml` of the suites package:

    [[blanks]]
    cells = ["removals/topic deleted, share/*"]    # table, row and column
    kind = "cannot"                                # or "no target", or "same code"
    method = "OffsetMetadataManager#onTopicsDeleted"
    why = "a share group has no offsets in the log"
"""

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import product
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from harness.apis.descriptor import COMMITS_OFFSETS, Subject
from harness.apis.table import descriptor
from harness.scenario.script import Append, DoToBroker, Elapse, Repeat, Script, Send, StayParked
from harness.scenario.values import Pattern

_FILE: Final = "crossings.toml"
_TYPES: Final = ("simple", "classic", "consumer", "share", "streams")
_LOADS: Final = {"restart": "restart", "kill": "kill", "move": "move", "disconnect": "takeover"}
_JOIN_APIS: Final = ("JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
_JOINS: Final = dict(zip(_JOIN_APIS, _TYPES[1:], strict=True))
_CONVERTS: Final = {("classic", "consumer"), ("consumer", "classic"), ("classic", "streams")}
_KEYS: Final = ((0, 1), (2,), (*range(3, 9), 16), range(9, 16), range(17, 24))
"""The types of the records of each type of group. Source: CoordinatorRecordType (4.4.0)."""
_TYPE_OF_KEY: Final = {str(key): name for name, keys in zip(_TYPES, _KEYS, strict=True) for key in keys}
_REMOVED_BY: Final = {
    "DeleteGroups": "group deleted",
    "OffsetDelete": "offset deleted",
    "DeleteShareGroupOffsets": "offset deleted",
    "DeleteTopics": "topic deleted",
    "LeaveGroup": "member left",
}
_REMOVALS: Final = (
    *dict.fromkeys(_REMOVED_BY.values()),
    *("member expired", "offset expired", "tombstone", "converted"),
)
_ASKERS: Final = {
    **dict.fromkeys((Subject.MEMBERSHIP, *_JOINS), "members"),
    Subject.OFFSETS: "offsets",
}
_BATCHES: Final = (
    *("DescribeGroups", "DeleteGroups", "OffsetFetch", "ConsumerGroupDescribe"),
    *("ShareGroupDescribe", "StreamsGroupDescribe", "DescribeShareGroupOffsets"),
)
_OPTIONS: Final = {
    "include_authorized_operations": "rights",
    "require_stable": "stable",
    "member_id": "member",
    "topics": "all",
}
_LIMITS: Final = {
    "max.size": "full group",
    "session.timeout.ms": "session",
    "heartbeat.interval.ms": "heartbeats",
    "assignment.interval.ms": "assignment",
    "initial.rebalance.delay.ms": "first delay",
}


def _of_types(*rows: str) -> tuple[str, ...]:
    return tuple(f"{row}, {each}" for row, each in product(rows, _TYPES))


TABLES: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "removals": (_of_types(*_REMOVALS), (*_LOADS.values(), "compact")),
    "deadlines": (_of_types("session", "retention"), tuple(_LOADS.values())),
    "askers": (_of_types(*_REMOVALS), ("members", "offsets", "admins")),
    "batches": (_BATCHES, ("several", "twice", *_OPTIONS.values())),
    "limits": (tuple(_LIMITS.values()), _TYPES[1:]),
}
"""The rows and columns of each table."""


class Cell(NamedTuple):
    """A crossing."""

    table: str
    row: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A cell of a table: the scripts that show it, or why none does."""

    table: str
    row: str
    column: str
    shown_by: tuple[str, ...]
    """The ids of the scripts."""
    kind: str | None = None
    """The kind of the reason; None if a script shows it, or none was given."""
    why: str | None = None

    @property
    def mark(self) -> str:
        """How many scripts show it, or the letter of the reason's kind; a dash without one."""
        return str(len(self.shown_by) or (self.kind or "-")[0])


class Blank(BaseModel):
    """Why crossings are in no script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: tuple[str, ...]
    """Patterns of table, row and column."""
    kind: Literal["cannot", "no target", "same code"]
    method: str
    why: str


@dataclass(slots=True)
class _Group:
    """What a script has done to a group so far."""

    type: str = "simple"
    has_members: bool = False
    has_offsets: bool = False
    happened: set[str] = field(default_factory=set)
    loaded: set[Cell] = field(default_factory=set)
    """Crossings that the next request observes."""
    running: set[Cell] = field(default_factory=set)
    """Deadlines that were loaded, and that the next passing of time meets."""


def load_blanks(package: str = "suites") -> tuple[Blank, ...]:
    """Read why crossings are in no script; none if a suites package has no such file."""
    file = files(package) / _FILE
    read = tomllib.loads(file.read_text("utf-8"))["blanks"] if file.is_file() else ()
    return TypeAdapter(tuple[Blank, ...]).validate_python(read)


def crossings(scripts: Iterable[Script], blanks: Sequence[Blank] = ()) -> tuple[Crossing, ...]:
    """Return the crossings of all tables, row by row.

    Args:
        scripts: the scripts that may show them.
        blanks: the reasons of those that no script shows.
    """
    found: defaultdict[Cell, list[str]] = defaultdict(list)
    for script in scripts:
        for cell in cells_shown(script):
            found[cell].append(script.id)
    cells = (Cell(table, *each) for table, sides in TABLES.items() for each in product(*sides))
    return tuple(_crossing(cell, found[cell], blanks) for cell in cells)


def _crossing(cell: Cell, ids: Sequence[str], blanks: Sequence[Blank]) -> Crossing:
    matching = (each for each in blanks if any(fnmatchcase("/".join(cell), one) for one in each.cells))
    blank = None if ids else next(matching, None)
    reason = {} if blank is None else {"kind": blank.kind, "why": blank.why}
    return Crossing(**cell._asdict(), shown_by=tuple(ids), **reason)


def aims(package: str = "suites") -> set[Cell]:
    """Return the crossings that no scenario needs to show, and that a conversation may reach all the same."""
    found = crossings((), load_blanks(package))
    return {Cell(each.table, each.row, each.column) for each in found if each.kind == "same code"}


def cells_shown(script: Script) -> set[Cell]:
    """Return the crossings that a script shows."""
    return _Walk(script).cells()


class _Walk:
    """Goes through the steps of one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._groups: defaultdict[object, _Group] = defaultdict(_Group)
        self._sessions_ms: list[int] = []
        self._expires = "offsets.retention.check.interval.ms" in script.broker_config

    def cells(self) -> set[Cell]:
        shown = {cell for name in self._script.broker_config for cell in _limits(name)}
        for step in self._script.steps:
            match step:
                case Send() | Repeat():
                    shown.update(self._asked(step))
                    self._passed(0)
                case Elapse(duration_ms=waited_ms) | StayParked(for_ms=waited_ms):
                    self._passed(waited_ms)
                case DoToBroker() if step.lever in _LOADS:
                    self._loaded(_LOADS[step.lever])
                case Append():
                    self._written(step)
                case _:
                    pass
        return shown

    def _asked(self, step: Send | Repeat) -> Iterator[Cell]:
        api = descriptor(step.api)
        named = tuple(map(str, _values(step.fields, {each.rpartition(".")[2] for each in api.groups})))
        yield from _batch(step, named)
        for name, text in _settings(step):
            yield from _limits(name)
            self._sessions_ms += [int(text)] if name.endswith("session.timeout.ms") else []
        groups = [self._groups[each] for each in named]
        for group in self._groups.values() if step.api == "ListGroups" else groups:
            yield from group.loaded
            asker = _ASKERS.get(step.api) or _ASKERS.get(api.subject, "admins")
            yield from (Cell("askers", row, asker) for row in group.happened)
        for group in self._groups.values() if step.api == "DeleteTopics" else groups:
            self._does(step, group)

    def _does(self, step: Send | Repeat, group: _Group) -> None:
        joins, row = _JOINS.get(step.api), _REMOVED_BY.get(step.api)
        epoch, session_ms = step.fields.get("member_epoch"), step.fields.get("session_timeout_ms")
        group.has_offsets |= descriptor(step.api).offsets in COMMITS_OFFSETS
        if joins and isinstance(epoch, int) and epoch < 0:
            row = "member left"
        elif joins:
            row = "converted" if (group.type, joins) in _CONVERTS else None
            group.type, group.has_members = joins, True
            self._sessions_ms += [session_ms] if isinstance(session_ms, int) else []
        if row is not None:
            group.happened.add(f"{row}, {group.type}")

    def _passed(self, waited_ms: int) -> None:
        ends_sessions = waited_ms >= min(self._sessions_ms, default=waited_ms + 1)
        for group in self._groups.values():
            group.loaded |= group.running
            if self._expires and group.has_offsets:
                group.happened.add(f"offset expired, {group.type}")
            if ends_sessions and group.has_members:
                group.happened.add(f"member expired, {group.type}")

    def _loaded(self, load: str) -> None:
        for group in self._groups.values():
            group.loaded |= {Cell("removals", row, load) for row in group.happened}
            if group.has_members:
                group.running.add(Cell("deadlines", f"session, {group.type}", load))
            if self._expires and group.has_offsets:
                group.running.add(Cell("deadlines", f"retention, {group.type}", load))

    def _written(self, step: Append) -> None:
        group = self._groups[str(step.group)]
        for record in step.records:
            kind = _TYPE_OF_KEY.get("".join(str(each) for each in _values(record["key"], {"type"})), "")
            group.has_offsets |= kind == "simple"
            group.type = kind if group.type == "simple" else group.type
            if record["value"] is None:
                group.happened.add(f"tombstone, {kind}")


def _values(fields: Pattern, names: Collection[str]) -> Iterator[Pattern]:
    """Yield the values of some fields, item by item, at any depth."""
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            is_named = name in names and value is not None
            yield from (value if isinstance(value, tuple) else (value,)) if is_named else ()
            yield from _values(value, names)
    elif isinstance(fields, tuple):
        for each in fields:
            yield from _values(each, names)


def _settings(step: Send | Repeat) -> Iterator[tuple[str, str]]:
    """Yield the properties that a request sets."""
    for each in _values(step.fields.get("resources"), {"configs"}):
        if isinstance(each, Mapping) and each.get("value"):
            yield str(each["name"]), str(each["value"])


def _batch(step: Send | Repeat, named: Sequence[object]) -> Iterator[Cell]:
    """Yield how a request for several groups is asked; lists of topics count where they are null."""
    if len(named) < 2:
        return
    yield Cell("batches", step.api, "twice" if len(set(named)) < len(named) else "several")
    entries = (each for each in _values(step.fields, {"groups"}) if isinstance(each, Mapping))
    for each, (name, column) in product((step.fields, *entries), _OPTIONS.items()):
        if name in each and bool(each[name]) is (name != "topics"):
            yield Cell("batches", step.api, column)


def _limits(name: str) -> Iterator[Cell]:
    """Yield the limit of a group type that a property sets."""
    group_type = next((each for each in _TYPES[2:] if each in name.split(".")), "classic")
    yield from (Cell("limits", row, group_type) for end, row in _LIMITS.items() if name.endswith(end))
