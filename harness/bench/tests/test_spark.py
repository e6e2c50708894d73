"""The data of the pipeline's benchmark, and that Spark and DuckDB find in it what was planted."""

from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest

from harness.bench.spark_data import expected_places, load_base, multiply
from harness.spark.archive import Archive
from harness.tests.spark_archive import changed, finished
from harness.tests.spark_records import EVENT
from harness.trace.events import Event

pytest.importorskip("duckdb")
from harness.bench.spark_run import SparkBenchPlan, bench_spark

pytest_plugins = ["harness.tests.spark_fixture"]


def made(tmp_path: Path, rate: float, *, copies: int = 5, events: tuple[Event, ...] = changed(1)) -> Archive:
    base = load_base(finished(tmp_path / "reports", 1, events=events))
    archive = Archive(root=tmp_path / "archive")
    multiply(base, archive, event_count=copies * base.event_count, planted_rate=rate)
    return archive


def test_without_planting_only_what_was_there_is_to_be_found(tmp_path: Path) -> None:
    archive = made(tmp_path, 0.0)

    assert len(archive.run_ids()) == 5
    assert expected_places(archive) == {
        (run_id, "kafka-3.9.2", EVENT.scenario_id, 1) for run_id in archive.run_ids()
    }


def test_what_is_planted_stands_in_events_traces_and_judgements(tmp_path: Path) -> None:
    archive = made(tmp_path, 1.0)
    (events,) = archive.files("events")
    (judgements,) = archive.files("judgements")
    digests = pq.read_table(events)["digest"].to_pylist()
    outcomes = pq.read_table(judgements)["outcome"].to_pylist()

    assert len(expected_places(archive)) == 10
    assert sum(digest.startswith("planted") for digest in digests) == 5
    assert outcomes.count("diverges") == 5


def test_the_same_seed_plants_in_the_same_places(tmp_path: Path) -> None:
    one, other = (expected_places(made(tmp_path / name, 0.5, copies=20)) for name in ("a", "b"))

    assert one == other


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_and_duckdb_find_what_was_planted_and_nothing_else(tmp_path: Path) -> None:
    folder = finished(tmp_path / "reports", 1, events=changed(1))
    plan = SparkBenchPlan(
        base=folder.path, work=tmp_path / "work", event_counts=(240,), planted_rate=0.5, warm_ups=1, rounds=1
    )
    report = bench_spark(plan, lambda _: None)
    (size,) = report.sizes

    assert (size.event_count, size.run_count) == (240, 20)
    assert size.planted_count > 20
    assert size.spark_found
    assert size.duckdb_found
    assert report.first_s > 0
