"""The job that builds the trend tables from an archive of many runs.

python -m harness.spark.trend ARCHIVE --out FOLDER [--run RUN_ID …] [--master URL]
"""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Formatter, Template
from threading import RLock
from typing import TYPE_CHECKING, Annotated, Final
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from harness.diff.model import GOOD
from harness.diff.target_pattern import REFERENCE
from harness.spark.archive import (
    CONVERSATION_SCHEMA,
    CONVERSATIONS,
    KINDS,
    Archive,
    arrow_schema,
    column_names,
    completed_table,
    damaged_archive,
)
from harness.spark.master import LOCAL_MASTER, SparkError
from harness.spark.rows import (
    CauseAge,
    ClauseCoverage,
    ErrorConfusion,
    FirstChangedVersion,
    FirstDifference,
    FlakeRate,
    LatencyQuantile,
    RunDelta,
    RunTotal,
    SlowScenario,
    VerdictCell,
)
from harness.spark.session import spark_session, unreadable_files
from harness.trace.schema import TraceError, columns
from harness.verdict import COMPARABLE, RIGHT, Outcome

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_GLOB: Final = re.compile(r"[\\{}\[\]*?]")
"""Characters that Spark would interpret as a pattern in a path to read."""


class Archived:
    """The records of some runs in an archive, each kind with the types of its record class.

    A kind of record is read when it is first used. Every column is nullable, as in the files.
    """

    def __init__(self, spark: SparkSession, archive: Archive, run_ids: Sequence[str] | None = None) -> None:
        self._spark = spark
        self._archive = archive
        self._run_ids = run_ids
        self._frames: dict[str, DataFrame] = {}
        self._lock = RLock()

    def __getitem__(self, kind: str) -> DataFrame:
        """Return the records of a kind, by the name of its folder, or what a query makes of them.

        Conversations are those of all runs.
        """
        with self._lock:
            if kind not in self._frames:
                self._frames[kind] = self._read(kind)
            return self._frames[kind]

    def _read(self, kind: str) -> DataFrame:
        if kind == CONVERSATIONS:
            return self._parquet(self._archive.conversation_files(), CONVERSATION_SCHEMA)
        if kind not in KINDS:
            return queried(self._spark, kind, self)
        files = self._archive.files(kind, self._run_ids)
        if kind == "runs":
            return self._runs(files)
        frame = self._parquet(files, arrow_schema(KINDS[kind]))
        defaults = {each.name: each.default for each in columns(KINDS[kind]) if each.default is not None}
        frame = frame.na.fill(defaults) if defaults else frame  # An older file lacks columns.
        return frame if self._run_ids is None else frame.where(sf.col("run_id").isin(*self._run_ids))

    def _runs(self, files: Sequence[Path]) -> DataFrame:
        """Read run headers without Spark, since a job for so few rows would take longer."""
        tables = [completed_table(KINDS["runs"], pq.ParquetFile(file).read()) for file in files]
        table = pa.concat_tables(tables)
        if self._run_ids is not None:
            table = table.filter(pc.is_in(table["run_id"], value_set=pa.array(self._run_ids, pa.string())))
        return self._spark.createDataFrame(table.combine_chunks())

    def _parquet(self, files: Sequence[Path], schema: pa.Schema) -> DataFrame:
        paths = [_GLOB.sub(r"\\\g<0>", hadoop_path(file)) for file in files]
        return self._spark.read.schema(from_arrow_schema(schema)).parquet(*paths)


def queried(spark: SparkSession, name: str, frames: Archived | Mapping[str, DataFrame]) -> DataFrame:
    """Return what the query of a name makes of the frames that it names in braces: `sql/NAME.sql`.

    It is SQL, because each call of a frame's method waits for the JVM. The frames are views as long as the
    session lasts: over Spark Connect a query is analysed anew whenever another one uses it.
    """
    text = Template((files("harness.spark") / "sql" / f"{name}.sql").read_text("utf-8")).substitute(_WORDS)
    named = {each for _, each, _, _ in Formatter().parse(text) if each}
    views = {each: f"{each}_{uuid4().hex}" for each in named}
    for each, view in views.items():
        frames[each].createOrReplaceTempView(view)
    return spark.sql(text.format(**views))


def _listed(outcomes: Iterable[Outcome]) -> str:
    return ", ".join(f"'{each.value}'" for each in sorted(outcomes))


_WORDS: Final = {
    "good": _listed(GOOD),
    "right": _listed(RIGHT),
    "comparable": _listed(COMPARABLE),
    "reference": f"'^(?:{REFERENCE})$'",
}
"""Outcomes that queries name, and the pattern of the in-process reference."""


def hadoop_path(path: Path) -> str:
    """Return the URI of a local file as Hadoop needs it: with a scheme, but not percent-encoded."""
    return f"file://{path.resolve()}"


AT_ONCE: Final = 4
"""The number of tables that are built concurrently; more would only wait for the same driver."""
_SMALL_BYTES: Final = 256 * 1024 * 1024
"""Below this size, more partitions and an optimising JVM cost more time than they save, on two cores."""


@dataclass(frozen=True, slots=True)
class Mart:
    """One table: its row class, whose columns it has, and its sort columns (empty: unsorted)."""

    row: "type[DataclassInstance]"
    order: tuple[str, ...]

    def of(self, name: str, sources: Archived) -> DataFrame:
        """Return the table of this name."""
        return sources[name].select(*column_names(self.row))


def write_tables(
    marts: Mapping[str, Mart],
    sources: Archived,
    out: Path,
    *,
    partitions: int,
    progress: Callable[[str], None],
) -> dict[str, int]:
    """Write all tables, several at a time, and return how many rows each has, in the order of `marts`.

    The old content of `out` is replaced when all are written.
    """
    unfinished = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    counts = {}
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mart") as pool:
        pending = {
            pool.submit(write_table, name, table, sources, unfinished / name, partitions): name
            for name, table in marts.items()
        }
        try:
            for future in as_completed(pending):
                name = pending[future]
                counts[name] = future.result()
                progress(f"table {name}: {counts[name]} rows ({len(counts)} of {len(marts)})")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    shutil.rmtree(out, ignore_errors=True)
    unfinished.replace(out)
    return {name: counts[name] for name in marts}


def write_table(name: str, table: Mart, sources: Archived, folder: Path, partitions: int) -> int:
    """Write one table, and return its row count from the files' metadata, as counting in Spark costs time."""
    frame = table.of(name, sources).coalesce(partitions)
    if table.order:
        frame = frame.sortWithinPartitions(*table.order)
    frame.write.parquet(hadoop_path(folder))
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


_SHUFFLED_SIZE: Final = 16
"""How many times larger rows are in a shuffle than in compressed columnar files."""
_BYTES_IN_PART: Final = 16 * 1024 * 1024
"""The partition size of large shuffles: a few million events are enough work for all cores."""


_ENDINGS: Final[Mapping[type[Exception], int]] = {TraceError: 65, SparkError: 69, OSError: 75}
"""The exit codes of this job, by the exception that it raises."""


TREND_MARTS: Final[Mapping[str, Mart]] = {
    "verdict_matrix": Mart(VerdictCell, ()),
    "run_totals": Mart(RunTotal, ("started_at", "target")),
    "first_differences": Mart(FirstDifference, ("run_id", "scenario_id", "target")),
    "cause_ages": Mart(CauseAge, ("cause", "difference_class")),
    "first_changed_versions": Mart(FirstChangedVersion, ("scenario_id", "family")),
    "run_deltas": Mart(RunDelta, ("run_id", "scenario_id", "target")),
    "flake_rates": Mart(FlakeRate, ("scenario_id", "target")),
    "clause_coverage": Mart(ClauseCoverage, ("run_id", "clause", "target")),
    "error_confusion": Mart(ErrorConfusion, ("target", "api", "api_version", "oracle_error_codes")),
    "latency_quantiles": Mart(LatencyQuantile, ("target", "api", "api_version")),
    "slowest_scenarios": Mart(SlowScenario, ("target", "place")),
}
"""All tables, by the name of their folder."""


def build_trend(
    archive: Archive,
    out: Path,
    *,
    marts: Mapping[str, Mart] = TREND_MARTS,
    run_ids: Sequence[str] | None = None,
    master: str = LOCAL_MASTER,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, int]:
    """Build the trend tables of some runs, and return how many rows each has.

    All runs are used if none are named. `out` gets a folder of Parquet files for each table; its old content
    is replaced when all are written. The executors of a master that is not local must see the same paths.

    Raises:
        OSError: the system refused an operation of Spark's, for example because a disk is full.
        SparkError: Spark cannot be started.
        TraceError: the archive lacks a run, is empty, or is damaged.
    """
    archived = archive.run_ids()
    if missing := sorted(set(run_ids or ()) - set(archived)):
        raise TraceError(f"{archive.root} lacks {', '.join(missing)}")
    if not archived:
        raise TraceError(f"{archive.root} contains no runs")
    partitions = shuffle_partitions(archive)
    with spark_session(master=master, partitions=partitions, progress=progress) as spark:
        count = len(run_ids or archived)
        progress(f"tables of {count} {'run' if count == 1 else 'runs'}")
        with unreadable_files(partial(damaged_archive, archive.root)):
            sources = Archived(spark, archive, run_ids)
            return write_tables(marts, sources, out.resolve(), partitions=partitions, progress=progress)


def shuffle_partitions(archive: Archive) -> int:
    """Return the number of shuffle partitions, one if little is shuffled: all but events is."""
    shuffled = [file for kind in ("traces", "judgements", "differences") for file in archive.files(kind)]
    size = _SHUFFLED_SIZE * sum(file.stat().st_size for file in shuffled)
    return 1 if size < _SMALL_BYTES else 1 + size // _BYTES_IN_PART


def main(
    archive: Annotated[Path, typer.Argument(help="The folder with the runs as one dataset.")],
    out: Annotated[Path, typer.Option(help="Where the tables go.")],
    run: Annotated[list[str] | None, typer.Option(help="Of this run; may be repeated.")] = None,
    master: Annotated[str, typer.Option(help="A Spark master URL.")] = LOCAL_MASTER,
) -> None:
    """Build the trend tables of many runs; exits with 65 (bad input), 69 (no Spark) or 75 (a full disk)."""
    archived, progress = Archive(root=archive.resolve()), partial(typer.echo, err=True)
    try:
        counts = build_trend(archived, out, run_ids=run, master=master, progress=progress)
    except tuple(_ENDINGS) as error:
        typer.echo(error, err=True)
        raise typer.Exit(next(code for kind, code in _ENDINGS.items() if isinstance(error, kind))) from error
    for name, count in counts.items():
        typer.echo(f"{count:>10}  {name}")


if __name__ == "__main__":
    typer.run(main)
