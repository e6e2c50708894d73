"""The trend's tables of counts and times: run totals, latencies, and the slowest scenarios."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.diff.model import Judgement
from harness.spark.trend import shuffle_partitions
from harness.tests.made_events import ANSWER
from harness.tests.spark_archive import AGREED, JUDGEMENTS, OTHER, failing, finished, packed, table
from harness.trace.events import Event, EventKind

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

WORKS = ANSWER.scenario_id


def lasting(*durations_ms: float) -> list[list[Judgement]]:
    """Return judgements for as many runs, in which one scenario of the target takes so long."""
    return [
        [
            replace(each, duration_ms=duration_ms)
            if (each.target, each.scenario_id) == ("kafka-3.9.2", WORKS)
            else each
            for each in JUDGEMENTS
        ]
        for duration_ms in durations_ms
    ]


def test_the_slowest_scenario_comes_first_with_its_slowest_run(spark: SparkSession, tmp_path: Path) -> None:
    nights = [
        finished(tmp_path / "reports", number, judgements=judgements)
        for number, judgements in enumerate(lasting(40.0, 900.0, 50.0), start=1)
    ]
    slowest = sorted(
        tuple(
            row[name]
            for name in ("place", "scenario_id", "run_count", "median_ms", "max_ms", "slowest_run_id")
        )
        for row in table(spark, packed(tmp_path, *nights), "slowest_scenarios")
        if row["target"] == "kafka-3.9.2"
    )
    assert slowest[0] == (1, WORKS, 3, 50.0, 900.0, "run-2")
    assert [row[:4] for row in slowest[1:]] == [(2, OTHER, 3, 5.0)]


def taking(event: Event, elapsed_ms: float | None) -> Event:
    return replace(event, elapsed_ms=elapsed_ms)


def test_latencies_of_all_runs_count_together_and_what_was_no_answer_does_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    ours = [event for event in AGREED if event.target == "kafka-3.9.2"]
    nights = [
        finished(tmp_path / "reports", number, events=[*AGREED[len(ours) :], *events])
        for number, events in enumerate(
            (
                [taking(event, 1.0) for event in ours],
                [*(taking(event, 3.0) for event in ours[:-1]), taking(ours[-1], 100.0)],
                [replace(taking(event, 5000.0), kind=EventKind.SILENCE.value) for event in ours],
            ),
            start=1,
        )
    ]
    (row,) = [
        row
        for row in table(spark, packed(tmp_path, *nights), "latency_quantiles")
        if row["target"] == "kafka-3.9.2"
    ]
    assert (row["response_count"], row["p50_ms"], row["max_ms"]) == (12, 1.0, 100.0)
    assert row["p99_ms"] == 100.0


def test_each_run_is_counted_by_outcome_and_expectation(spark: SparkSession, tmp_path: Path) -> None:
    known = replace(failing(JUDGEMENTS[0]), expectation="expected")
    stale = [replace(each, expectation="stale") for each in JUDGEMENTS]
    archive = packed(
        tmp_path,
        finished(tmp_path / "reports", 1, judgements=[known, *JUDGEMENTS[1:]]),
        finished(tmp_path / "reports", 2, judgements=stale),
    )
    counts = {
        (row["run_id"], row["target"]): tuple(
            row[name] for name in ("scenario_count", "conforms", "diverges", "expected", "stale")
        )
        for row in table(spark, archive, "run_totals")
    }
    assert counts == {
        ("run-1", "kafka-3.9.2"): (2, 1, 1, 2, 0),
        ("run-1", "reference"): (2, 2, 0, 2, 0),
        ("run-2", "kafka-3.9.2"): (2, 2, 0, 0, 2),
        ("run-2", "reference"): (2, 2, 0, 0, 2),
    }


def test_the_totals_know_when_each_run_of_the_matrix_began(spark: SparkSession, tmp_path: Path) -> None:
    archive = packed(tmp_path, *[finished(tmp_path / "reports", number) for number in (1, 2)])
    found = {row["run_id"] for row in table(spark, archive, "verdict_matrix")}
    began = {(row["run_id"], row["started_at"]) for row in table(spark, archive, "run_totals")}
    assert found == {run_id for run_id, _ in began}
    assert began == {("run-1", "2026-01-01T00:00:00Z"), ("run-2", "2026-01-02T00:00:00Z")}


def test_few_runs_are_one_part_and_millions_of_results_are_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(tmp_path, finished(tmp_path / "reports", 1))
    assert shuffle_partitions(archive) == 1
    (judgements,) = archive.files("judgements")
    monkeypatch.setattr("harness.spark.trend._BYTES_IN_PART", judgements.stat().st_size)
    assert shuffle_partitions(archive) == 1
    monkeypatch.setattr("harness.spark.trend._SMALL_BYTES", judgements.stat().st_size)
    assert shuffle_partitions(archive) > 16
