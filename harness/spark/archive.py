"""Many finished runs as one dataset: Parquet files in volumes, written without Spark.

    runs/_volumes.json              the valid volumes, and the runs in each
    runs/KIND/VOLUME.parquet        RunHeader, Event, Trace, Judgement …: one kind of record of some runs
    runs/conversations/NAME.parquet the answers of each conversation, by its digest

A run is first stored as its own volume. Many such volumes are merged into one, because readers pay for files,
not for bytes. A row group has one run (for events: one target of it), so a reader of few runs reads little.
The list of volumes is replaced as a whole, so a reader sees either all of a run or none of it.

Conversations are stored by content, so a nightly run that repeats the previous one adds none. The cost of
examining answers depends on the number of distinct conversations, not on the number that were run.
"""

import fcntl
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.json as pj  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise
from pydantic import TypeAdapter, ValidationError

from harness.diff.model import Difference, Judgement
from harness.spark.rows import Answer, BrokerHeader, RunClause, Trace
from harness.trace.canonical import error_codes_in
from harness.trace.clause import Clause
from harness.trace.completeness import refuse_lost_events
from harness.trace.events import ANSWER_KINDS, Event, EventKind, RunFooter, RunHeader
from harness.trace.files import RunFolder, attempt_name, read_records, write_whole
from harness.trace.plain_files import read_plain
from harness.trace.schema import ColumnType, TraceError, columns, parsed_json, to_content

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.STRINGS: pa.list_(pa.string()),
}


def column_names(cls: "type[DataclassInstance]") -> list[str]:
    """Return the names of a record class's columns, which a mart selects last."""
    return [column.name for column in columns(cls)]


def arrow_schema(cls: "type[DataclassInstance]") -> pa.Schema:
    """Return a record class's Arrow schema; every column is nullable, as in the Spark schema."""
    return pa.schema([(column.name, _ARROW_TYPES[column.type]) for column in columns(cls)])


def arrow_table(cls: "type[DataclassInstance]", records: "Iterable[DataclassInstance]") -> pa.Table:
    """Return an Arrow table of records."""
    return pa.Table.from_pylist([to_content(record) for record in records], schema=arrow_schema(cls))


def read_table(cls: "type[DataclassInstance]", path: Path) -> pa.Table:
    """Read records as `read_events` and `read_records` do, but with Arrow, which is faster.

    Raises:
        TraceError: the file is missing or damaged, or a line is not such a record.
    """
    schema = arrow_schema(cls)
    try:
        content = read_plain(path)
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        return schema.empty_table()
    try:
        table = pj.read_json(
            pa.BufferReader(whole),
            read_options=pj.ReadOptions(block_size=max(len(whole), 1 << 20)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        ).select(schema.names)
    except pa.ArrowException as error:
        raise TraceError(f"{path}: {error}") from error
    if table.num_rows != whole.count(b"\n"):
        raise TraceError(f"{path}: a line is no {cls.__name__}: it is empty, or several lines are one")
    for column in columns(cls):
        if not (column.nullable or column.may_be_missing) and table[column.name].null_count:
            raise TraceError(f"{path}: a line is no {cls.__name__}: it lacks {column.name}")
    return table


def completed_table(cls: "type[DataclassInstance]", table: pa.Table) -> pa.Table:
    """Return a table of records with the columns that an older table lacks filled with defaults."""
    schema = arrow_schema(cls)
    for column in columns(cls):
        if column.may_be_missing and column.name not in table.column_names:
            values = pa.array([column.default] * len(table), schema.field(column.name).type)
            table = table.append_column(schema.field(column.name), values)
    return table.select(schema.names)


CONVERSATIONS: Final = "conversations"
_VOLUMES: Final = "_volumes.json"
_LOCK: Final = "_lock"
_MERGED_FROM: Final = 32
"""The number of single-run volumes from which they are merged into one."""

KINDS: "Final[Mapping[str, type[DataclassInstance]]]" = {
    "runs": RunHeader,
    "footers": RunFooter,
    "headers": BrokerHeader,
    "events": Event,
    "traces": Trace,
    "judgements": Judgement,
    "differences": Difference,
    "clauses": RunClause,
}
"""Record classes by the name of their folder."""

CONVERSATION_SCHEMA: Final = pa.schema(
    [("conversation", pa.string()), ("answers", pa.list_(pa.struct(list(arrow_schema(Answer)))))]
)
"""Grain: conversation. Its answers are in the order of steps."""

Volumes: TypeAlias = Mapping[str, Mapping[str, str]]
"""By volume: the ids of the runs in it, each with a stamp that changes when the run is judged again."""
_LISTED: Final = TypeAdapter(dict[str, dict[str, str]])


class ArchiveError(TraceError):
    """An archive is damaged; the message names the file and the remedy."""


@contextmanager
def naming_damage(root: Path) -> Iterator[None]:
    """Raise errors from damaged or missing files as `ArchiveError`; other system errors pass unchanged.

    Raises:
        ArchiveError: a file of the archive is damaged or missing.
    """
    try:
        yield
    except (pa.ArrowException, FileNotFoundError) as error:
        raise damaged_archive(root, str(error)) from error
    except OSError as error:
        if error.errno is not None:  # Arrow's error for bytes that are not Parquet has no errno
            raise
        raise damaged_archive(root, str(error)) from error


def damaged_archive(root: Path, why: str) -> ArchiveError:
    """Return an error that names the damage to an archive, and the remedy."""
    return ArchiveError(
        f"the archive {root} is damaged ({why.partition(chr(10))[0]:.300}): move it away, and "
        "`kafka-conformance trend RUN…` makes one anew of the runs that are left"
    )


@contextmanager
def writing_volume(root: Path, name: str) -> Iterator[Callable[[str, pa.Table], None]]:
    """Provide a function that appends records of a kind and one run as a row group to a volume.

    There is a file for each kind of record; they are valid once the volume is listed.
    """
    with ExitStack() as files:
        writers: dict[str, pq.ParquetWriter] = {}
        for kind, cls in KINDS.items():
            path = root / kind / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(path, arrow_schema(cls), compression="zstd")
            writers[kind] = files.enter_context(writer)

        def write(kind: str, table: pa.Table) -> None:
            if len(table):
                writers[kind].write_table(table)

        yield write


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A dataset of runs. Writers wait for each other; readers never wait."""

    root: Path

    def volumes(self) -> Volumes:
        """Return the volumes that are valid now.

        Raises:
            ArchiveError: the list is damaged.
        """
        path = self.root / _VOLUMES
        try:
            return _LISTED.validate_json(read_plain(path), strict=True) if path.exists() else {}
        except (TraceError, ValidationError) as error:
            raise damaged_archive(self.root, f"{path}: it lists no runs") from error

    def run_ids(self) -> tuple[str, ...]:
        """Return the ids of all archived runs, in alphabetical order."""
        return tuple(sorted(run_id for runs in self.volumes().values() for run_id in runs))

    def newest_up_to(self, run_id: str, count: int) -> tuple[str, ...]:
        """Return a run and the newest runs before it, oldest first, so many at most."""
        with naming_damage(self.root):
            tables = [pq.read_table(file, columns=["run_id", "started_at"]) for file in self.files("runs")]
        archived = set(self.run_ids())
        rows = (row for table in tables for row in table.to_pylist() if row["run_id"] in archived)
        names = [row["run_id"] for row in sorted(rows, key=itemgetter("started_at", "run_id"))]
        return tuple(names[: names.index(run_id) + 1][-count:])

    def files(self, kind: str, run_ids: Sequence[str] | None = None) -> list[Path]:
        """Return the files with records of a kind, for some runs or for all."""
        return [
            self.root / kind / f"{name}.parquet"
            for name, runs in self.volumes().items()
            if run_ids is None or not runs.keys().isdisjoint(run_ids)
        ]

    def check(self, run_ids: Sequence[str]) -> None:
        """Read the archive's files for some runs to check them before use; of events, read only the metadata.

        Raises:
            ArchiveError: a file of it is damaged or missing.
        """
        with naming_damage(self.root):
            for file in (*self.files("events", run_ids), *self.conversation_files()):
                pq.read_metadata(file)
            for kind in KINDS.keys() - {"events"}:
                for file in self.files(kind, run_ids):
                    pq.read_table(file, partitioning=None)

    def conversation_files(self) -> list[Path]:
        """Return the files with conversations."""
        return sorted((self.root / CONVERSATIONS).glob("*.parquet"))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock out other writers for the duration of the context."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def commit(self, added: Volumes) -> None:
        """List volumes whose files are written, replacing earlier copies of their runs."""
        run_ids = {run_id for runs in added.values() for run_id in runs}
        kept: dict[str, Mapping[str, str]] = {}
        stale: list[str] = []
        for name, runs in self.volumes().items():
            if run_ids.isdisjoint(runs):
                kept[name] = runs
                continue
            stale.append(name)
            if rest := {run_id: stamp for run_id, stamp in runs.items() if run_id not in run_ids}:
                kept[self._rewritten([name], rest)] = rest
        self._list({**kept, **added})
        self._remove(stale)

    def merge(self) -> None:
        """Merge single-run volumes, if there are many."""
        volumes = self.volumes()
        single = [name for name, runs in volumes.items() if len(runs) == 1]
        if len(single) < _MERGED_FROM:
            return
        runs = {run_id: stamp for name in single for run_id, stamp in volumes[name].items()}
        merged = self._rewritten(single, runs)
        self._list({name: runs for name, runs in volumes.items() if name not in single} | {merged: runs})
        self._remove(single)

    def keep_conversations(self, conversations: Mapping[str, Sequence[Answer]]) -> None:
        """Store the conversations that the archive does not contain yet."""
        kept = {
            name
            for file in self.conversation_files()
            for name in pq.read_table(file, columns=["conversation"])[0].to_pylist()
        }
        fresh = sorted(conversations.keys() - kept)
        if not fresh:
            return
        columns = [fresh, [[_fields(answer) for answer in conversations[name]] for name in fresh]]
        path = self.root / CONVERSATIONS / f"{_name_of(fresh)}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        pq.write_table(pa.table(columns, schema=CONVERSATION_SCHEMA), unfinished, compression="zstd")
        unfinished.replace(path)

    def _rewritten(self, names: Sequence[str], runs: Mapping[str, str]) -> str:
        """Copy the records of some runs from some volumes to a new volume, and return its name."""
        name = _name_of([*names, *runs])
        wanted = pa.array(list(runs), pa.string())
        with writing_volume(self.root, name) as write:
            for kind in KINDS:
                for path in (self.root / kind / f"{name}.parquet" for name in names):
                    file = pq.ParquetFile(path)
                    for group in range(file.num_row_groups):
                        table = completed_table(KINDS[kind], file.read_row_group(group))
                        write(kind, table.filter(pc.is_in(table["run_id"], value_set=wanted)))
        return name

    def _list(self, volumes: Volumes) -> None:
        write_whole(self.root / _VOLUMES, json.dumps(volumes, indent=1))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            for kind in KINDS:
                (self.root / kind / f"{name}.parquet").unlink(missing_ok=True)


def _name_of(parts: Sequence[str]) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _fields(record: "DataclassInstance") -> dict[str, Any]:
    return {name: getattr(record, name) for name in column_names(type(record))}


_DIGEST_CHARACTERS: Final = 24
_REFUSED: Final = [EventKind.NOT_APPLICABLE.value, EventKind.HARNESS_ERROR.value]
_READ: Final = [
    *("scenario_id", "step", "sequence", "kind", "actor", "connection"),
    *("api", "api_version", "digest", "canonical"),
]

Conversations: TypeAlias = Mapping[str, tuple[Answer, ...]]
"""The answers of conversations by their digests."""


def rows_of(
    events: pa.Table, *, run_id: str, target: str, oracle: str | None
) -> tuple[Sequence[Trace], Conversations]:
    """Summarise each conversation of a target; `completed` adds those of oracles and the judgements.

    The events are all of this run and target, in any order.
    """
    traces: list[Trace] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    is_refusal = pc.is_in(events["kind"], value_set=pa.array(_REFUSED))
    refused = frozenset(events["scenario_id"].filter(is_refusal).to_pylist())
    by_scenario = {
        scenario_id: tuple(answer for _, answer in group)
        for scenario_id, group in groupby(_answers(events), key=itemgetter(0))
    }
    counted = events.group_by("scenario_id").aggregate([("sequence", "count")]).sort_by("scenario_id")
    columns = (counted[each].to_pylist() for each in ("scenario_id", "sequence_count"))
    for scenario_id, event_count in zip(*columns, strict=True):
        answers = by_scenario.get(scenario_id, ())
        digest = _digest(answers)
        conversations[digest] = answers
        traces.append(
            Trace(
                run_id=run_id,
                target=target,
                scenario_id=scenario_id,
                oracle=oracle,
                conversation=digest,
                oracle_conversation=None,
                is_held=scenario_id not in refused,
                outcome=None,
                signature=None,
                event_count=event_count,
                answer_count=len(answers),
            )
        )
    return traces, conversations


def completed(traces: Sequence[Trace], judgements: Sequence[Judgement]) -> tuple[Trace, ...]:
    """Return the traces of all targets of a run, with their oracles' conversations and their judgements."""
    conversations = {(one.target, one.scenario_id): one.conversation for one in traces if one.is_held}
    judged = {(one.target, one.scenario_id): (one.outcome, one.signature) for one in judgements}

    def complete(one: Trace) -> Trace:
        heard = conversations.get((one.oracle or "", one.scenario_id)) if one.is_held else None
        outcome, signature = judged.get((one.target, one.scenario_id), (None, None))
        return replace(one, oracle_conversation=heard, outcome=outcome, signature=signature)

    return tuple(map(complete, traces))


def _answers(events: pa.Table) -> Iterator[tuple[str, Answer]]:
    """Yield each answer with its scenario, in the order of scenarios and steps.

    An answer's number is its place among the answers of its step, as in `harness.diff.alignment`.
    """
    kinds = pa.array([kind.value for kind in ANSWER_KINDS])
    awaited = events.select(_READ).filter(pc.is_in(events["kind"], value_set=kinds))
    ordered = awaited.sort_by([(name, "ascending") for name in ("scenario_id", "step", "sequence")])
    for (scenario_id, step), rows in groupby(ordered.to_pylist(), key=itemgetter("scenario_id", "step")):
        for number, row in enumerate(rows):
            answer = Answer(
                step=step,
                occurrence=number,
                actor=row["actor"],
                connection=row["connection"],
                kind=row["kind"],
                api=row["api"],
                api_version=row["api_version"],
                error_codes=_error_codes(row["canonical"]),
                digest=row["digest"],
            )
            yield scenario_id, answer


@lru_cache(maxsize=65536)
def _error_codes(canonical: str | None) -> tuple[str, ...]:
    if canonical is None:
        return ()
    return tuple(sorted(set(error_codes_in(parsed_json(canonical, where="`canonical`")))))


def _digest(answers: Sequence[Answer]) -> str:
    parts = [[a.step, a.occurrence, a.actor, a.connection, a.kind, a.digest] for a in answers]
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGEST_CHARACTERS]


ClientsOf: TypeAlias = Callable[[RunFolder], tuple[Sequence[BrokerHeader], Sequence[Judgement]]]
"""Reads targets and results of a run's client scripts, whose files belong to a layer above this one."""
_CLIENTS_JUDGED: Final = ("clients", "record", "judgement.json.zst")
"""The path, inside a run's folder, of the file that client scripts write last."""


def pack(
    folders: Iterable[RunFolder],
    archive: Archive,
    *,
    clients_of: ClientsOf,
    progress: Callable[[str], None] = lambda _: None,
) -> int:
    """Add the runs that an archive lacks, or has with an older judgement; return how many were added.

    Raises:
        TraceError: a run was cut short, has lost events, was not judged, or has a damaged file.
    """
    count = 0
    with archive.writing(), naming_damage(archive.root):
        for folder in folders:
            run_id = folder.read_run().run_id
            stamp = _stamp(folder)
            if all(runs.get(run_id) != stamp for runs in archive.volumes().values()):
                progress(f"packing {run_id}")
                _add(folder, archive, *clients_of(folder))
                count += 1
        archive.merge()
    return count


def _add(
    folder: RunFolder, archive: Archive, libraries: Sequence[BrokerHeader], clients: Sequence[Judgement]
) -> None:
    run = folder.read_run()
    footer = folder.read_footer()
    if footer is None:
        raise TraceError(f"{folder.path}: the run was cut short; only finished runs are archived")
    refuse_lost_events(folder)
    if not folder.judgements.exists():
        raise TraceError(f"{folder.path}: the run was not judged; `kafka-conformance report` does that")
    judgements = _judgements(folder)
    headers = list(libraries)
    traces: list[Trace] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    name = _name_of([run.run_id, _stamp(folder)])
    with writing_volume(archive.root, name) as write:
        for theirs, events, of_target, found in target_rows(folder, judgements):
            headers += theirs
            traces += of_target
            conversations |= found
            write("events", events)
        records: Mapping[str, Sequence[DataclassInstance]] = {
            "runs": [run],
            "footers": [footer],
            "headers": headers,
            "traces": completed(traces, judgements),
            "judgements": (*judgements, *clients),
            "differences": read_records(Difference, folder.differences),
            "clauses": _run_clauses(folder),
        }
        for kind, found_records in records.items():
            write(kind, arrow_table(KINDS[kind], found_records))
    archive.keep_conversations(conversations)
    archive.commit({name: {run.run_id: _stamp(folder)}})


def _judgements(folder: RunFolder) -> Sequence[Judgement]:
    """Read the judgement of each script on each target; raise TraceError if one is missing."""
    judgements = read_records(Judgement, folder.judgements)
    judged = {(each.target, each.scenario_id) for each in judgements}
    scripts = folder.read_scripts() if folder.scripts_json.exists() else ()
    for target in dict.fromkeys(each.target for each in judgements):
        for scenario_id in scripts:
            if (target, scenario_id) not in judged:
                raise TraceError(f"{folder.judgements}: there is no judgement of {scenario_id} on {target}")
    return judgements


def target_rows(
    folder: RunFolder, judgements: Iterable[Judgement]
) -> Iterator[tuple[Sequence[BrokerHeader], pa.Table, Sequence[Trace], Conversations]]:
    """Read each target's headers, the events that its results come from, and the rows computed from those.

    Raises:
        TraceError: a file of the run is missing or damaged.
    """
    run_id = folder.read_run().run_id
    later: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in judgements:
        if each.attempt > 1:
            later[each.target][each.attempt].append(each.scenario_id)
    for target in folder.targets():
        headers = [
            BrokerHeader(**_fields(header), broker_ordinal=ordinal)
            for ordinal, header in enumerate(folder.read_headers(target))
        ]
        events = _ruling_events(folder, target, later[target])
        yield headers, events, *rows_of(events, run_id=run_id, target=target, oracle=headers[0].oracle)


def _ruling_events(folder: RunFolder, target: str, later: Mapping[int, Sequence[str]]) -> pa.Table:
    """Read a target's events; of some scenarios, by the number of an attempt, those of that attempt."""
    events = read_table(Event, folder.events(target))
    for number, scenario_ids in later.items():
        again, chosen = read_table(Event, folder.events(attempt_name(target, number))), pa.array(scenario_ids)
        first = events.filter(pc.invert(pc.is_in(events["scenario_id"], value_set=chosen)))
        again = again.filter(pc.is_in(again["scenario_id"], value_set=chosen))
        events = pa.concat_tables([first, again])
    return events


def _run_clauses(folder: RunFolder) -> list[RunClause]:
    if not folder.clauses.exists():
        return []
    run_id = folder.read_run().run_id
    return [RunClause(run_id=run_id, **_fields(each)) for each in read_records(Clause, folder.clauses)]


def _stamp(folder: RunFolder) -> str:
    """Return a string that changes whenever the run is judged again."""
    clients = folder.path.joinpath(*_CLIENTS_JUDGED)
    # Without client scripts, the stamp is that of older archives, so their runs are not packed again.
    files = (folder.judgements, folder.differences, *((clients,) if clients.exists() else ()))
    return "-".join(str(file.stat().st_mtime_ns) if file.exists() else "none" for file in files)
