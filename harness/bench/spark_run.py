"""The pipeline's benchmark: Spark beside DuckDB on the same files, at several sizes, in one run."""

import dataclasses
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
from pyspark.sql import SparkSession

from harness.bench.machine import machine_facts
from harness.bench.spark_data import EXPECTED, BaseRun, ExpectedRow, expected_places, load_base, multiply
from harness.bench.spark_queries import BY_DIGESTS, FROM_EVENTS, write_with_duckdb
from harness.spark.archive import Archive
from harness.spark.archived import Archived
from harness.spark.master import LOCAL_MASTER
from harness.spark.session import jvm_peak_bytes, spark_session
from harness.spark.tables import write_tables
from harness.spark.trend import TREND_MARTS, shuffle_partitions
from harness.trace.files import RunFolder

COMPARED: Final = ("verdict_matrix", "first_differences")
"""The tables that DuckDB creates, too."""
WARM_UPS: Final = 100
"""How often they are created before measuring: until then the JVM compiles the query planner."""
RATIO_GOAL: Final = 3.0
RATIO_AT: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkBenchPlan:
    """What to measure, and how."""

    base: Path
    """The finished and judged run to multiply."""
    work: Path
    """The folder for archives; existing ones are reused."""
    event_counts: tuple[int, ...]
    """From small to large."""
    planted_rate: float = 0.001
    warm_ups: int = WARM_UPS
    rounds: int = 9
    master: str = LOCAL_MASTER
    driver_memory: str = "4g"
    from_events_max: int = RATIO_AT
    """The most events for which DuckDB is also measured without digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeReport:
    """The measurements at one size; times are medians of the rounds, in seconds."""

    event_count: int
    run_count: int
    archive_bytes: int
    generate_s: float | None
    """None if the archive existed already."""
    spark_s: float
    """For the two tables that DuckDB creates, too."""
    duckdb_s: float
    """By the digests in the archive, which is Spark's plan, too."""
    duckdb_events_s: float | None
    """From the events alone."""
    all_tables_s: float
    """Spark, for every table of the trend."""
    planted_count: int
    spark_found: bool
    """Whether Spark's first differences are exactly the expected ones."""
    duckdb_found: bool

    @property
    def ratio(self) -> float:
        """The ratio of Spark's time to DuckDB's."""
        return self.spark_s / self.duckdb_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkBenchReport:
    """The results for all sizes, and the machine."""

    sizes: tuple[SizeReport, ...]
    start_s: float
    """The time to start the session, which no size's times include."""
    first_s: float
    """The time for the two tables of the smallest size in that session, before any warm-up."""
    jvm_peak_bytes: int | None
    """The peak memory of the driver's JVM; None if the system does not report it."""
    driver_memory: str
    machine: Mapping[str, str]

    def growth(self) -> list[tuple[int, int, float]]:
        """Return how the time for all tables grows relative to the events; 1 is linear, less is better."""
        return [
            (
                small.event_count,
                large.event_count,
                (large.all_tables_s / small.all_tables_s) / (large.event_count / small.event_count),
            )
            for small, large in zip(self.sizes, self.sizes[1:], strict=False)
        ]


def bench_spark(plan: SparkBenchPlan, tell: Callable[[str], None]) -> SparkBenchReport:
    """Measure every size in one session, after a warm-up.

    Raises:
        TraceError: the base is not a finished and judged run.
        SparkError: Spark cannot be started.
    """
    facts = machine_facts()
    base = load_base(RunFolder(plan.base))
    archives = [_made(base, plan, count, tell) for count in plan.event_counts]
    partitions = max(shuffle_partitions(archive) for archive, _ in archives)
    began_s = time.perf_counter()
    with spark_session(
        master=plan.master, partitions=max(partitions, 2), driver_memory=plan.driver_memory
    ) as spark:
        start_s = time.perf_counter() - began_s
        smallest, out = archives[0][0], plan.work / "out"
        first_s = _timed(lambda: _spark_tables(spark, smallest, out, COMPARED))
        tell("getting warm")
        _spark_all(spark, smallest, out)
        asked_of = _asked_of(archives, plan.event_counts)
        for _ in range(plan.warm_ups):
            _spark_tables(spark, asked_of, out, COMPARED)
        # All tables come last, since so many other plans displace the JVM's compiled code for these two.
        turns = [_taken_in_turns(spark, plan, archive, tell) for archive, _ in archives]
        sizes = tuple(
            _measured(spark, plan, archive, made_s, turn, tell)
            for (archive, made_s), turn in zip(archives, turns, strict=True)
        )
        peak = jvm_peak_bytes()
    return SparkBenchReport(
        sizes=sizes,
        start_s=start_s,
        first_s=first_s,
        jvm_peak_bytes=peak,
        driver_memory=plan.driver_memory,
        machine=facts,
    )


def _asked_of(archives: Sequence[tuple[Archive, float | None]], counts: Sequence[int]) -> Archive:
    """Return the largest archive that does not exceed the size of the goal."""
    fitting = [archive for (archive, _), count in zip(archives, counts, strict=True) if count <= RATIO_AT]
    return (fitting or [archives[0][0]])[-1]


def write_spark_report(report: SparkBenchReport, out: Path) -> Path:
    """Write a report as JSON; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "latest.json"
    sizes = [dataclasses.asdict(size) | {"ratio": size.ratio} for size in report.sizes]
    content = dataclasses.asdict(report) | {"sizes": sizes, "growth": report.growth()}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return path


def _made(
    base: BaseRun, plan: SparkBenchPlan, event_count: int, tell: Callable[[str], None]
) -> tuple[Archive, float | None]:
    """Create an archive of some size, unless it exists; return it with the time that took."""
    name = f"{base.run.run_id}-{event_count}-{plan.planted_rate:g}"
    archive = Archive(root=plan.work.resolve() / name)
    if (archive.root / EXPECTED).exists():
        return archive, None
    tell(f"making {event_count:,} events")
    shutil.rmtree(archive.root, ignore_errors=True)
    began_s = time.perf_counter()
    multiply(base, archive, event_count=event_count, planted_rate=plan.planted_rate)
    return archive, time.perf_counter() - began_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turns:
    """The results of the rounds at one size; times are medians, in seconds."""

    spark_s: float
    duckdb_s: float
    spark_found: bool
    duckdb_found: bool


def _taken_in_turns(
    spark: SparkSession, plan: SparkBenchPlan, archive: Archive, tell: Callable[[str], None]
) -> _Turns:
    """Run Spark and DuckDB in turns, so that other work on the machine affects both."""
    tell(f"{_event_count(archive):,} events: Spark and DuckDB in turns")
    out, beside = plan.work / "out", plan.work / "duckdb"
    spark_s, duckdb_s = [], []
    for _ in range(plan.rounds):
        spark_s.append(_timed(lambda: _spark_tables(spark, archive, out, COMPARED)))
        duckdb_s.append(_timed(lambda: _duckdb_tables(BY_DIGESTS, archive, beside)))
    expected = expected_places(archive)
    return _Turns(
        spark_s=median(spark_s),
        duckdb_s=median(duckdb_s),
        spark_found=_places(out / "first_differences") == expected,
        duckdb_found=_places(beside / "first_differences.parquet") == expected,
    )


def _measured(
    spark: SparkSession,
    plan: SparkBenchPlan,
    archive: Archive,
    made_s: float | None,
    turns: _Turns,
    tell: Callable[[str], None],
) -> SizeReport:
    """Complete the results of the turns with what is measured once."""
    event_count = _event_count(archive)
    tell(f"{event_count:,} events")
    from_events_s = None
    if event_count <= 1.1 * plan.from_events_max:
        tell("DuckDB from the events alone")
        from_events_s = _timed(lambda: _duckdb_tables(FROM_EVENTS, archive, plan.work / "duckdb"))
    tell("all tables")
    return SizeReport(
        event_count=event_count,
        run_count=len(archive.run_ids()),
        archive_bytes=sum(path.stat().st_size for path in archive.root.rglob("*.parquet")),
        generate_s=made_s,
        spark_s=turns.spark_s,
        duckdb_s=turns.duckdb_s,
        duckdb_events_s=from_events_s,
        all_tables_s=_timed(lambda: _spark_all(spark, archive, plan.work / "out")),
        planted_count=len(expected_places(archive)),
        spark_found=turns.spark_found,
        duckdb_found=turns.duckdb_found,
    )


def _event_count(archive: Archive) -> int:
    return sum(int(pq.read_metadata(file).num_rows) for file in archive.files("events"))


def _timed(work: Callable[[], None]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def _spark_all(spark: SparkSession, archive: Archive, out: Path) -> None:
    _spark_tables(spark, archive, out, tuple(TREND_MARTS))


def _spark_tables(spark: SparkSession, archive: Archive, out: Path, names: Sequence[str]) -> None:
    write_tables(
        {name: TREND_MARTS[name] for name in names},
        Archived(spark, archive),
        out.resolve(),
        partitions=max(shuffle_partitions(archive), 2),
        progress=lambda _: None,
    )


def _duckdb_tables(queries: Mapping[str, str], archive: Archive, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_with_duckdb(queries, archive, out, threads=len(os.sched_getaffinity(0)))


def _places(table: Path) -> set[ExpectedRow]:
    columns = ["run_id", "target", "scenario_id", "step"]
    found = pq.read_table(table, columns=columns, partitioning=None)
    return set(zip(*[found[name].to_pylist() for name in columns], strict=True))
