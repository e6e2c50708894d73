"""Many finished runs as one dataset: Parquet files in volumes, written without Spark.

    runs/_volumes.json              the valid volumes, and the runs in each
    runs/KIND/VOLUME.parquet        RunHeader, Event, Trace, Judgement …: one kind of record of some runs
    runs/attempts/…, runs/client_verdicts/…
                                    likewise, only for volumes with such records; older archives have none
    runs/conversations/NAME.parquet the answers of each conversation, by its digest

A run is first stored as its own volume. Many such volumes are merged into one, because readers pay for files,
not for bytes. A row group has one run (for events: one target of it), so a reader of few runs reads little.
The list of volumes is replaced as a whole, so a reader sees either all of a run or none of it.

Conversations are stored by content, so a nightly run that repeats the previous one adds none. The cost of
examining answers depends on the number of distinct conversations, not on the number that were run.
"""

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Attempt, Difference, Judgement
from harness.spark.archive_rows import Answer, BrokerHeader, ClientVerdict, RunClause, TimedStep, Trace
from harness.spark.arrow_schemas import arrow_schema, column_names, completed_table
from harness.trace.events import Event, RunFooter, RunHeader
from harness.trace.files import write_whole
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError, json_object

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
    "timed_steps": TimedStep,
    "judgements": Judgement,
    "attempts": Attempt,
    "differences": Difference,
    "clauses": RunClause,
    "client_verdicts": ClientVerdict,
}
"""Record classes by the name of their folder."""
RARE: Final = frozenset({"attempts", "client_verdicts"})
"""Kinds of which most runs have no record; a volume without such records has no file for them."""

CONVERSATION_SCHEMA: Final = pa.schema(
    [("conversation", pa.string()), ("answers", pa.list_(pa.struct(list(arrow_schema(Answer)))))]
)
"""Grain: conversation. Its answers are in the order of steps."""

Volumes: TypeAlias = Mapping[str, Mapping[str, str]]
"""By volume: the ids of the runs in it, each with a stamp that changes when the run is judged again."""


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
    except ArchiveError:
        raise
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


class VolumeWriter:
    """Writes the files of one volume, one for each kind of record; they are valid once it is listed."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self._file = f"{name}.parquet"
        self._writers = {kind: self._opened(kind) for kind in KINDS if kind not in RARE}

    def write(self, kind: str, table: pa.Table) -> None:
        """Append records of one run as a row group."""
        if not len(table):
            return
        if kind not in self._writers:
            self._writers[kind] = self._opened(kind)
        self._writers[kind].write_table(table)

    def _opened(self, kind: str) -> pq.ParquetWriter:
        path = self._root / kind / self._file
        path.parent.mkdir(parents=True, exist_ok=True)
        return pq.ParquetWriter(path, arrow_schema(KINDS[kind]), compression="zstd")

    def close(self) -> None:
        """Finish the files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
            content = json_object(read_plain(path), where=str(path)) if path.exists() else {}
        except TraceError as error:
            raise damaged_archive(self.root, str(error)) from error
        volumes: dict[str, Mapping[str, str]] = {}
        for name, runs in content.items():
            if not isinstance(runs, dict) or not all(isinstance(stamp, str) for stamp in runs.values()):
                raise damaged_archive(self.root, f"{path}: {name!r:.40} lists no runs")
            volumes[name] = runs
        return volumes

    def run_ids(self) -> tuple[str, ...]:
        """Return the ids of all archived runs, in alphabetical order."""
        return tuple(sorted(run_id for runs in self.volumes().values() for run_id in runs))

    def contains(self, run_id: str, stamp: str) -> bool:
        """Return whether the archive contains a run with its latest judgement."""
        return any(runs.get(run_id) == stamp for runs in self.volumes().values())

    def files(self, kind: str, run_ids: Sequence[str] | None = None) -> list[Path]:
        """Return the files with records of a kind, for some runs or for all."""
        files = [
            self.root / kind / f"{name}.parquet"
            for name, runs in self.volumes().items()
            if run_ids is None or not runs.keys().isdisjoint(run_ids)
        ]
        return [file for file in files if file.exists()] if kind in RARE else files

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
        with VolumeWriter(self.root, name) as writer:
            for kind in KINDS:
                for table in self._row_groups(kind, names):
                    writer.write(kind, table.filter(pc.is_in(table["run_id"], value_set=wanted)))
        return name

    def _row_groups(self, kind: str, names: Sequence[str]) -> Iterator[pa.Table]:
        for path in (self.root / kind / f"{name}.parquet" for name in names):
            if kind in RARE and not path.exists():
                continue
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                yield completed_table(KINDS[kind], file.read_row_group(group))

    def _list(self, volumes: Volumes) -> None:
        write_whole(self.root / _VOLUMES, json.dumps(volumes, indent=1))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            for kind in KINDS:
                (self.root / kind / f"{name}.parquet").unlink(missing_ok=True)


def volume_name(run_id: str, stamp: str) -> str:
    """Return the name of the volume of a single run with a given judgement."""
    return _name_of([run_id, stamp])


def _name_of(parts: Sequence[str]) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _fields(record: "DataclassInstance") -> dict[str, object]:
    return {name: getattr(record, name) for name in column_names(type(record))}
