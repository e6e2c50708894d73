"""Many finished runs as one dataset: Parquet, partitioned, written without Spark.

    runs/events/run_id=RUN/target=TARGET/part.parquet   Event
    runs/KIND/run_id=RUN/part.parquet                   RunHeader, RunFooter, BrokerHeader, Trace, TimedStep …
    runs/conversations/NAME.parquet                     the answers of each conversation, by its digest
    runs/_packed/RUN.json                               that a run is in it, whole, and of which judgement

Conversations are kept by content: a night that goes as the night before adds none. So whatever looks into
answers costs by how many different conversations there ever were, not by how many were held.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.json as pj  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Difference, Judgement
from harness.spark.archive_rows import Answer, TimedStep, Trace
from harness.spark.conversations import KeptAnswers, bounds_of, told
from harness.spark.schemas import arrow_schema, arrow_table, column_names
from harness.spark.stage import BrokerHeader, RunClause
from harness.trace.clause import Clause
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, read_records, write_whole
from harness.trace.schema import TraceError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ARCHIVE: Final = "runs"
"""Name of the folder, beside those of the runs."""
PART: Final = "part.parquet"
CONVERSATIONS: Final = "conversations"
_PACKED: Final = "_packed"
"""Spark passes over names that begin so."""

KINDS: "Final[Mapping[str, type[DataclassInstance]]]" = {
    "runs": RunHeader,
    "footers": RunFooter,
    "headers": BrokerHeader,
    "events": Event,
    "traces": Trace,
    "timed_steps": TimedStep,
    "judgements": Judgement,
    "differences": Difference,
    "clauses": RunClause,
}
"""Record classes by the folder that keeps them."""

CONVERSATION_SCHEMA: Final = pa.schema(
    [("conversation", pa.string()), ("answers", pa.list_(pa.struct(list(arrow_schema(Answer)))))]
)
"""Grain: conversation. Its answers stand in the order of steps."""


@dataclass(slots=True, kw_only=True)
class Archive:
    """A dataset of runs; one writer at a time."""

    root: Path
    _known: set[str] | None = field(default=None, init=False)
    """Conversations that are kept already; None until someone asks."""

    def holds(self, folder: RunFolder) -> bool:
        """Return whether a run is in the archive as it was last judged."""
        marker = self._marker(folder.read_run().run_id)
        return marker.exists() and json.loads(marker.read_text()) == _stamp(folder)

    def run_ids(self) -> tuple[str, ...]:
        """Return the ids of all runs in it, in alphabetical order."""
        return tuple(sorted(unquote(path.stem) for path in (self.root / _PACKED).glob("*.json")))

    def add(self, folder: RunFolder) -> None:
        """Put a finished and judged run into the archive, in place of what it has of it.

        Raises:
            TraceError: the run was cut short, was not judged, or a file of it is damaged.
        """
        run = folder.read_run()
        footer = folder.read_footer()
        if footer is None:
            raise TraceError(f"{folder.path}: the run was cut short; only finished runs are archived")
        if not folder.judgements.exists():
            raise TraceError(f"{folder.path}: the run was not judged; `kafka-conformance report` does")
        marker = self._marker(run.run_id)
        marker.unlink(missing_ok=True)
        bounds = bounds_of(folder.read_scripts())
        kept = KeptAnswers()
        traces: list[Trace] = []
        timed: list[TimedStep] = []
        headers: list[BrokerHeader] = []
        shutil.rmtree(self._partition("events", run.run_id), ignore_errors=True)
        for target in folder.targets():
            theirs = _broker_headers(folder, target)
            headers += theirs
            events = read_event_table(folder.events(target))
            found = told(events, run_id=run.run_id, target=target, oracle=theirs[0].oracle, bounds=bounds)
            traces += found.traces
            timed += found.timed_steps
            kept.add(found.conversations)
            self.write_events(run.run_id, target, events)
        for kind, records in {
            "runs": [run],
            "footers": [footer],
            "headers": headers,
            "traces": traces,
            "timed_steps": timed,
            "judgements": read_records(Judgement, folder.judgements),
            "differences": read_records(Difference, folder.differences),
            "clauses": _clauses(folder, run.run_id),
        }.items():
            self.write(kind, run.run_id, arrow_table(KINDS[kind], records))
        self.keep_conversations(kept.conversations)
        self.mark(run.run_id, _stamp(folder))

    def write_events(self, run_id: str, target: str, events: pa.Table) -> None:
        """Write a target's events; run and target are told by the folders alone."""
        partition = self._partition("events", run_id) / f"target={quote(target, safe='')}"
        _write(partition / PART, events.drop_columns(["run_id", "target"]))

    def write(self, kind: str, run_id: str, table: pa.Table) -> None:
        """Write all that a run has of one kind of record; the run is told by the folder alone."""
        _write(self._partition(kind, run_id) / PART, table.drop_columns(["run_id"]))

    def keep_conversations(self, conversations: Mapping[str, Sequence[Answer]]) -> None:
        """Keep those that are not kept yet."""
        if self._known is None:
            self._known = self._kept()
        fresh = sorted(conversations.keys() - self._known)
        if not fresh:
            return
        columns = [fresh, [[_fields(answer) for answer in conversations[name]] for name in fresh]]
        name = sha256("".join(fresh).encode()).hexdigest()[:16]
        table = pa.table(columns, schema=CONVERSATION_SCHEMA)
        _write(self.root / CONVERSATIONS / f"{name}.parquet", table)
        self._known.update(fresh)

    def mark(self, run_id: str, stamp: Mapping[str, int]) -> None:
        """Say that a run is in the archive, whole."""
        write_whole(self._marker(run_id), json.dumps(dict(stamp)))

    def _kept(self) -> set[str]:
        files = (self.root / CONVERSATIONS).glob("*.parquet")
        return {
            name for file in files for name in pq.read_table(file, columns=["conversation"])[0].to_pylist()
        }

    def _partition(self, kind: str, run_id: str) -> Path:
        return self.root / kind / f"run_id={quote(run_id, safe='')}"

    def _marker(self, run_id: str) -> Path:
        return self.root / _PACKED / f"{quote(run_id, safe='')}.json"


def pack(folders: Iterable[RunFolder], archive: Archive) -> int:
    """Put those runs into the archive that it lacks or holds by an older judgement; say how many.

    Raises:
        TraceError: one was cut short, was not judged, or a file of it is damaged.
    """
    missing = [folder for folder in folders if not archive.holds(folder)]
    for folder in missing:
        archive.add(folder)
    return len(missing)


def read_event_table(path: Path) -> pa.Table:
    """Read a target's events by Arrow; columns and types are those of `Event`.

    Raises:
        TraceError: the file is missing, or holds what is no event.
    """
    schema = arrow_schema(Event)
    try:
        size = path.stat().st_size
        if not size:
            return schema.empty_table()
        return pj.read_json(
            path,
            read_options=pj.ReadOptions(block_size=max(size, 1 << 20)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        ).select(column_names(Event))
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    except pa.ArrowException as error:
        raise TraceError(f"{path}: {error}") from error


def _broker_headers(folder: RunFolder, target: str) -> list[BrokerHeader]:
    return [
        BrokerHeader(**_fields(header, TraceHeader), broker_ordinal=ordinal)  # type: ignore[arg-type]  # its own
        for ordinal, header in enumerate(folder.read_headers(target))
    ]


def _clauses(folder: RunFolder, run_id: str) -> list[RunClause]:
    if not folder.clauses.exists():
        return []
    clauses = read_records(Clause, folder.clauses)
    return [RunClause(run_id=run_id, **_fields(clause, Clause)) for clause in clauses]  # type: ignore[arg-type]  # its own


def _fields(record: "DataclassInstance", cls: "type[DataclassInstance] | None" = None) -> dict[str, object]:
    return {name: getattr(record, name) for name in column_names(cls or type(record))}


def _stamp(folder: RunFolder) -> dict[str, int]:
    """Tell one judgement of a run from another."""
    return {
        "judgements": folder.judgements.stat().st_mtime_ns if folder.judgements.exists() else 0,
        "differences": folder.differences.stat().st_mtime_ns if folder.differences.exists() else 0,
    }


def _write(path: Path, table: pa.Table) -> None:
    """Write a file so that whoever looks sees all of it, or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(path)
