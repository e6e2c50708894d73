"""The job that builds the trend tables from an archive of many runs.

python -m harness.spark.trend ARCHIVE --out FOLDER [--run RUN_ID …] [--master URL]
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from pyspark.sql import DataFrame

from harness.spark import conversation_mart, trend_mart
from harness.spark.archive import Archive, damaged_archive
from harness.spark.archived import Archived
from harness.spark.master import LOCAL_MASTER, SparkError
from harness.spark.refusals import unreadable_files
from harness.spark.session import spark_session
from harness.spark.tables import PARTITION_BYTES, Mart, partition_count, write_tables
from harness.spark.trend_rows import (
    AnswerCoverage,
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
    TimingMargin,
    VerdictCell,
)
from harness.trace.schema import TraceError

_SHUFFLED_SIZE: Final = 16
"""How many times larger rows are in a shuffle than in compressed columnar files."""
_BYTES_IN_PART: Final = PARTITION_BYTES // 4
"""The partition size of large shuffles: a few million events are enough work for all cores."""


_ENDINGS: Final[Mapping[type[Exception], int]] = {TraceError: 65, SparkError: 69, OSError: 75}
"""The exit codes of this job, by the exception that it raises."""


def results(of: Archived) -> DataFrame:
    """Return the results of scenarios, and of client scripts if runs have any. Grain: as `VerdictCell`."""
    return trend_mart.results(of["judgements"], of.get("client_verdicts"))


def _successions(of: Archived) -> DataFrame:
    driven = trend_mart.driven(of["runs"], of["headers"], of.get("client_verdicts"))
    return trend_mart.successions(driven, results(of))


TREND_MARTS: Final[Mapping[str, Mart]] = {
    "verdict_matrix": Mart(VerdictCell, (), results),
    "run_totals": Mart(
        RunTotal,
        ("started_at", "target"),
        lambda of: trend_mart.run_totals(of["runs"], of["footers"], results(of)),
    ),
    "first_differences": Mart(
        FirstDifference,
        ("run_id", "scenario_id", "target"),
        lambda of: conversation_mart.first_differences(of["traces"], of["conversations"]),
    ),
    "cause_ages": Mart(
        CauseAge,
        ("cause", "difference_class"),
        lambda of: trend_mart.cause_ages(of["differences"], of["runs"]),
    ),
    "first_changed_versions": Mart(
        FirstChangedVersion,
        ("scenario_id", "family"),
        lambda of: trend_mart.first_changed_versions(
            of["runs"], of["headers"], conversation_mart.compared_pairs(of["traces"])
        ),
    ),
    "run_deltas": Mart(
        RunDelta, ("run_id", "scenario_id", "target"), lambda of: trend_mart.run_deltas(_successions(of))
    ),
    "flake_rates": Mart(
        FlakeRate, ("scenario_id", "target"), lambda of: trend_mart.flake_rates(_successions(of))
    ),
    "clause_coverage": Mart(
        ClauseCoverage,
        ("run_id", "clause", "target"),
        lambda of: trend_mart.clause_coverage(of["clauses"], of["headers"], of["judgements"]),
    ),
    "answer_coverage": Mart(
        AnswerCoverage,
        ("clause", "api", "api_version", "error_code"),
        lambda of: conversation_mart.answer_coverage(of["traces"], of["conversations"], of["judgements"]),
    ),
    "error_confusion": Mart(
        ErrorConfusion,
        ("target", "api", "api_version", "oracle_error_codes"),
        lambda of: conversation_mart.error_confusion(of["traces"], of["conversations"]),
    ),
    "latency_quantiles": Mart(
        LatencyQuantile, ("target", "api", "api_version"), lambda of: trend_mart.latency_trend(of["events"])
    ),
    "timing_margins": Mart(
        TimingMargin,
        ("target", "scenario_id", "step", "bound"),
        lambda of: trend_mart.timing_margins(of["timed_steps"]),
    ),
    "slowest_scenarios": Mart(
        SlowScenario, ("target", "place"), lambda of: trend_mart.slowest_scenarios(of["judgements"])
    ),
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

    Args:
        archive: the archive with the runs.
        out: gets a folder of Parquet files for each table; its old content is replaced when all are written.
        marts: the tables to build.
        run_ids: the runs to use; all if not given.
        master: a Spark master URL; with one that is not local, its executors must see the same paths.
        progress: called with a message at each stage of the work.

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
    """Return the number of shuffle partitions, from the size of the data that is shuffled: all but events."""
    shuffled = [file for kind in ("traces", "judgements", "differences") for file in archive.files(kind)]
    size = _SHUFFLED_SIZE * sum(file.stat().st_size for file in shuffled)
    return partition_count(size, each_bytes=_BYTES_IN_PART)


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
