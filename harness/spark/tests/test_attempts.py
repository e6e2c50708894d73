"""Scenarios that were run more than once, in the tables of a run and of an archive."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise
import pytest
from pyspark.sql import SparkSession

from harness.orchestration.run import orchestrate
from harness.results.client_results import archived_clients
from harness.spark.archive import Archive, pack
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.moody_target import SUITE, TELLING, Moody
from harness.tests.spark_archive import table
from harness.trace.files import RunFolder

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

LATER = ("confirmation", "shown_count", "attempt_count", "attempt")
"""Columns of judgements that older archives lack."""


def driven(reports: Path, moody: Moody, *, repeat: int = 1, run_id: str = "run") -> RunFolder:
    plan = replace(plan_of(reports, [moody], SUITE, run_id=run_id), repeat=repeat, confirm_s=60.0)
    return orchestrate(plan, Quiet()).folder


def test_an_archive_has_the_attempt_that_the_result_is_of(spark: SparkSession, tmp_path: Path) -> None:
    archive = Archive(root=tmp_path / "archive")
    pack([driven(tmp_path, Moody("moody", wrong=[3]), repeat=4)], archive, clients_of=archived_clients)
    found = table(spark, archive, "first_differences")
    assert [(row["target"], row["scenario_id"]) for row in found] == [("moody", TELLING)]


def test_a_trend_counts_flaky_results_and_what_attempts_showed(spark: SparkSession, tmp_path: Path) -> None:
    archive = Archive(root=tmp_path / "archive")
    folders = [
        driven(tmp_path, Moody("moody", wrong=[1]), run_id="one"),
        driven(tmp_path, Moody("moody", wrong=[3]), repeat=4, run_id="two"),
        driven(tmp_path, Moody("moody"), run_id="three"),
    ]
    pack(folders, archive, clients_of=archived_clients)
    (rate,) = (
        row
        for row in table(spark, archive, "flake_rates")
        if (row["target"], row["scenario_id"]) == ("moody", TELLING)
    )
    assert (rate["run_count"], rate["flaky_count"]) == (3, 2)
    assert (rate["shown_count"], rate["attempt_count"]) == (2, 7)
    totals = {
        row["run_id"]: row["flaky"] for row in table(spark, archive, "run_totals") if row["target"] == "moody"
    }
    assert totals == {"one": 1, "two": 1, "three": 0}


def test_an_archive_of_before_is_read_and_merged(spark: SparkSession, tmp_path: Path) -> None:
    archive = Archive(root=tmp_path / "archive")
    pack([driven(tmp_path, Moody("moody"))], archive, clients_of=archived_clients)
    (file,) = archive.files("judgements")
    older: pa.Table = pq.read_table(file).drop_columns(list(LATER))
    pq.write_table(older, file)
    found = table(spark, archive, "verdict_matrix")
    assert {(row["confirmation"], row["attempt_count"]) for row in found} == {("not repeated", 1)}

    folders = [driven(tmp_path, Moody("moody"), run_id=f"later-{number}") for number in range(31)]
    pack(folders, archive, clients_of=archived_clients)
    (merged,) = archive.files("judgements")
    together = pq.read_table(merged)
    assert together.column("confirmation").null_count == 0
    assert len(set(together.column("run_id").to_pylist())) == 32
