"""Time the tables of many runs beside DuckDB: `python tools/bench_spark.py RUN --events 1e6,1e7`.

A finished and judged run is copied until there are enough events, with differences planted in a thousandth of
the conversations. Spark and DuckDB take turns on the same files, with the same plan, by the digests in the
archive; both must find exactly what was planted. Times are medians, without the start of the JVM.
"""

import argparse
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import duckdb
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
from pyspark.sql import SparkSession

from bench_spark_data import EXPECTED, BaseRun, ExpectedRow, expected_places, load_base, multiply
from harness.spark.archive import CONVERSATIONS, KINDS, Archive
from harness.spark.master import LOCAL_MASTER
from harness.spark.session import jvm_peak_bytes, spark_session
from harness.spark.trend import TREND_MARTS, Archived, shuffle_partitions, write_tables
from harness.trace.files import RunFolder

_PLANTED_RATE: Final = 0.001
_VERDICT_MATRIX: Final = """
SELECT run_id, target, scenario_id, outcome, expectation, signature, first_step, difference_count,
       duration_ms, confirmation, shown_count, attempt_count
FROM {judgements}
"""
_BY_DIGESTS: Final = """
WITH pairs AS (
    SELECT run_id, target, scenario_id, oracle, conversation, oracle_conversation, outcome, signature
    FROM {traces} WHERE conversation <> oracle_conversation),
exploded AS (
    SELECT conversation, unnest(answers) AS a FROM {conversations}
    WHERE conversation IN (SELECT conversation FROM pairs UNION SELECT oracle_conversation FROM pairs)),
distinct_pairs AS (SELECT DISTINCT conversation, oracle_conversation FROM pairs),
ours AS (SELECT p.*, a FROM distinct_pairs p JOIN exploded USING (conversation)),
theirs AS (
    SELECT p.*, a FROM distinct_pairs p JOIN exploded ON exploded.conversation = p.oracle_conversation),
aligned AS (
    SELECT coalesce(t.conversation, o.conversation) AS conversation,
           coalesce(t.oracle_conversation, o.oracle_conversation) AS oracle_conversation,
           coalesce(t.a.step, o.a.step) AS step, coalesce(t.a.occurrence, o.a.occurrence) AS occurrence,
           coalesce(t.a.actor, o.a.actor) AS actor, coalesce(t.a.api, o.a.api) AS api,
           coalesce(t.a.api_version, o.a.api_version) AS api_version,
           o.a.kind AS oracle_kind, t.a.kind AS target_kind,
           o.a.error_codes AS oracle_error_codes, t.a.error_codes AS target_error_codes
    FROM ours t FULL JOIN theirs o
    ON t.conversation = o.conversation AND t.oracle_conversation = o.oracle_conversation
    AND t.a.step = o.a.step AND t.a.occurrence = o.a.occurrence
    AND t.a.actor IS NOT DISTINCT FROM o.a.actor AND t.a.connection IS NOT DISTINCT FROM o.a.connection
    WHERE t.a.kind IS DISTINCT FROM o.a.kind OR t.a.digest IS DISTINCT FROM o.a.digest),
firsts AS (
    SELECT conversation, oracle_conversation, count(*) AS differing_count,
           arg_min(aligned, (step, occurrence, actor)) AS f
    FROM aligned GROUP BY conversation, oracle_conversation)
SELECT p.run_id, p.target, p.oracle, p.scenario_id, f.step, f.occurrence, f.actor, f.api, f.api_version,
       f.oracle_kind, f.target_kind, f.oracle_error_codes, f.target_error_codes, differing_count,
       p.outcome, p.signature
FROM pairs p JOIN firsts USING (conversation, oracle_conversation)
"""
QUERIES: Final[Mapping[str, str]] = {"verdict_matrix": _VERDICT_MATRIX, "first_differences": _BY_DIGESTS}
"""The tables that DuckDB makes, too."""


def bench(
    base: BaseRun, counts: Sequence[int], *, work: Path, rounds: int, warm_ups: int, master: str
) -> None:
    """Print a line for each size, from small to large.

    Raises:
        SparkError: Spark cannot be started.
    """
    archives = [_made(base, work, count) for count in counts]
    partitions = max(2, *(shuffle_partitions(each) for each in archives))
    out, beside = work / "out", work / "duckdb"
    with spark_session(master=master, partitions=partitions, driver_memory="4g") as spark:
        _spark_tables(spark, archives[0], out, tuple(TREND_MARTS))
        for _ in range(warm_ups):  # until then, the JVM compiles the query planner
            _spark_tables(spark, archives[0], out, tuple(QUERIES))
        for archive in archives:
            times = [
                (
                    _timed(partial(_spark_tables, spark, archive, out, tuple(QUERIES))),
                    _timed(partial(_duckdb_tables, archive, beside)),
                )
                for _ in range(rounds)
            ]
            expected = expected_places(archive)
            found = [_places(out / "first_differences"), _places(beside / "first_differences.parquet")]
            all_s = _timed(partial(_spark_tables, spark, archive, out, tuple(TREND_MARTS)))
            spark_s, duckdb_s = (median(each) for each in zip(*times, strict=True))
            events = sum(int(pq.read_metadata(file).num_rows) for file in archive.files("events"))
            print(
                f"{events:,} events: Spark {spark_s:.2f} s, DuckDB {duckdb_s:.2f} s, "
                f"ratio {spark_s / duckdb_s:.2f}; all tables {all_s:.1f} s; "
                f"{len(expected)} to be found, {'all' if found == [expected, expected] else 'NOT ALL'} found"
            )
        if (peak := jvm_peak_bytes()) is not None:
            print(f"Spark's JVM had {peak / (1 << 30):.1f} GiB at most")


def _made(base: BaseRun, work: Path, event_count: int) -> Archive:
    """Return an archive of some size, made unless it is there."""
    archive = Archive(root=work.resolve() / f"{base.run.run_id}-{event_count}")
    if not (archive.root / EXPECTED).exists():
        shutil.rmtree(archive.root, ignore_errors=True)
        multiply(base, archive, event_count=event_count, planted_rate=_PLANTED_RATE)
    return archive


def _timed(work: Callable[[], None]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def _spark_tables(spark: SparkSession, archive: Archive, out: Path, names: Sequence[str]) -> None:
    write_tables(
        {name: TREND_MARTS[name] for name in names},
        Archived(spark, archive),
        out.resolve(),
        partitions=max(shuffle_partitions(archive), 2),
        progress=lambda _: None,
    )


def _duckdb_tables(archive: Archive, out: Path) -> None:
    """Create tables from an archive with DuckDB, as Parquet files in an existing folder."""
    out.mkdir(parents=True, exist_ok=True)
    sources = {kind: _parquet(archive.files(kind)) for kind in KINDS}
    sources[CONVERSATIONS] = _parquet(archive.conversation_files())
    # Spark preserves no order unless a table declares one; with it, DuckDB would take half as long again.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": len(os.sched_getaffinity(0)),
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as connection:
        for name, query in QUERIES.items():
            reported = query.format(**sources)
            connection.execute(f"COPY ({reported}) TO '{out / name}.parquet' (FORMAT parquet)")


def _parquet(files: Sequence[Path]) -> str:
    return f"read_parquet({[str(file) for file in files]})"


def _places(table: Path) -> set[ExpectedRow]:
    columns = ["run_id", "target", "scenario_id", "step"]
    found = pq.read_table(table, columns=columns, partitioning=None)
    return set(zip(*[found[name].to_pylist() for name in columns], strict=True))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="the finished and judged run to copy")
    parser.add_argument("--events", default="1e6,1e7", help="how many events, from small to large")
    parser.add_argument("--work", type=Path, default=Path(".cache", "bench-spark"), help="for the archives")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-ups", type=int, default=100)
    parser.add_argument("--spark-master", default=LOCAL_MASTER)
    given = parser.parse_args()
    bench(
        load_base(RunFolder(given.run)),
        [int(float(each)) for each in given.events.split(",")],
        work=given.work,
        rounds=given.rounds,
        warm_ups=given.warm_ups,
        master=given.spark_master,
    )


if __name__ == "__main__":
    main()
