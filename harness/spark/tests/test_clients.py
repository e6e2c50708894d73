"""Client scripts in the archive of runs and in what its runs say together."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from harness.cli import app
from harness.results.client_results import archived_clients
from harness.results.status import ExitCode
from harness.spark.archive import Archive, pack
from harness.tests.made_up_clients import (
    EAGER,
    KAFKA_NAME,
    LIBRDKAFKA,
    PYTHON,
    STATIC,
    MadeUpClients,
    judgement,
    mismatch,
    red,
    violation,
)
from harness.tests.site_reading import view_of
from harness.tests.spark_archive import finished, packed, table
from harness.trace.files import RunFolder
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.spark_fixture"]

WITH_PYTHON = f"{KAFKA_NAME}, {PYTHON}"


def with_clients(reports: Path, number: int, clients: MadeUpClients) -> RunFolder:
    """Write a finished run of wire suites that client scripts stand beside."""
    folder = finished(reports, number)
    clients.write(folder.path / "clients")
    return folder


def kept(archive: Archive) -> set[tuple[object, ...]]:
    found = [row for file in archive.files("judgements") for row in pq.read_table(file).to_pylist()]
    of_clients = [row for row in found if ", " in row["target"]]
    return {(row["run_id"], row["target"], row["scenario_id"], row["outcome"]) for row in of_clients}


def broken_on_the_wire(sequence: int) -> MadeUpClients:
    """One script in which the coordinator broke an invariant, shown by an event."""
    made = MadeUpClients()
    broken = violation("orders-0 belongs to ana and bob", EAGER, PYTHON)
    made.judgements[0] = judgement(EAGER, PYTHON, Outcome.DIVERGES, violations=(broken,))
    object.__setattr__(broken, "sequence", sequence)
    return made


def test_an_archived_run_has_what_its_clients_came_to(tmp_path: Path) -> None:
    archive = packed(tmp_path, with_clients(tmp_path / "reports", 1, red()))

    assert kept(archive) == {
        ("run-1", f"{KAFKA_NAME}, {PYTHON}", EAGER, "conforms"),
        ("run-1", f"{KAFKA_NAME}, {LIBRDKAFKA}", EAGER, "conforms"),
        ("run-1", f"{KAFKA_NAME}, {PYTHON}", STATIC, "diverges"),
        ("run-1", f"{KAFKA_NAME}, {LIBRDKAFKA}", STATIC, "not applicable"),
    }


def test_an_archived_result_says_what_departs(tmp_path: Path) -> None:
    _, found = archived_clients(with_clients(tmp_path, 1, red()))

    (diverging,) = [each for each in found if each.signature]
    assert (diverging.scenario_id, diverging.first_step, diverging.difference_count) == (STATIC, 2, 3)
    assert diverging.reason.endswith("ana was told revoked 2 instead of nothing")


def test_clients_that_are_put_into_an_archived_run_are_archived_too(tmp_path: Path) -> None:
    folder = finished(tmp_path / "reports", 1)
    archive = packed(tmp_path, folder)
    assert kept(archive) == set()

    MadeUpClients().write(folder.path / "clients")

    assert pack([folder], archive, clients_of=archived_clients) == 1
    assert len(kept(archive)) == 4
    assert pack([folder], archive, clients_of=archived_clients) == 0


@pytest.mark.slow
def test_runs_with_and_without_clients_are_merged_without_loss(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    folders = [finished(reports, number) for number in range(1, 31)]
    folders += [with_clients(reports, number, MadeUpClients()) for number in (31, 32)]
    archive = packed(tmp_path, *folders)

    assert len(archive.volumes()) == 1
    assert {run_id for run_id, *_ in kept(archive)} == {"run-31", "run-32"}
    assert len(kept(archive)) == 8


def test_a_signature_is_of_what_departs_and_not_of_where_chance_put_it(tmp_path: Path) -> None:
    def signature(name: str, clients: MadeUpClients) -> str | None:
        return archived_clients(with_clients(tmp_path / name, 1, clients))[1][1].signature

    first, again = signature("a", broken_on_the_wire(17)), signature("b", broken_on_the_wire(99))
    other = MadeUpClients()
    other.judgements[0] = judgement(EAGER, PYTHON, Outcome.DIVERGES, mismatches=(mismatch("other"),))

    assert first is not None
    assert first == again
    assert signature("c", other) not in (first, None)


def of_python(spark: SparkSession, archive: Archive, name: str) -> list[dict[str, object]]:
    return [row for row in table(spark, archive, name) if PYTHON in str(row["target"])]


@pytest.fixture(name="nights")
def _nights(tmp_path: Path) -> Callable[..., Archive]:
    """Pack a run without clients, as an archive of old has it, and then a run for each set of clients."""

    def packed_nights(*nights: MadeUpClients) -> Archive:
        reports = tmp_path / "reports"
        before = finished(reports, 1)
        later = [with_clients(reports, number, each) for number, each in enumerate(nights, start=2)]
        return packed(tmp_path, before, *later)

    return packed_nights


@pytest.mark.spark
def test_results_of_clients_stand_in_the_trend_beside_those_of_scenarios(
    spark: SparkSession, nights: Callable[..., Archive]
) -> None:
    archive = nights(MadeUpClients(), red())

    cells = {
        (row["run_id"], row["target"], row["scenario_id"], row["outcome"], row["difference_count"])
        for row in of_python(spark, archive, "verdict_matrix")
    }
    assert cells == {
        ("run-2", WITH_PYTHON, EAGER, "conforms", 0),
        ("run-2", WITH_PYTHON, STATIC, "conforms", 0),
        ("run-3", WITH_PYTHON, EAGER, "conforms", 0),
        ("run-3", WITH_PYTHON, STATIC, "diverges", 3),
    }
    totals = {
        row["run_id"]: (row["scenario_count"], row["diverges"])
        for row in of_python(spark, archive, "run_totals")
    }
    assert totals == {"run-2": (2, 0), "run-3": (2, 1)}
    assert len(table(spark, archive, "verdict_matrix")) == 3 * 4 + 2 * 4


@pytest.mark.spark
def test_a_change_from_run_to_run_is_reported_and_is_flaky_if_all_else_is_the_same(
    spark: SparkSession, nights: Callable[..., Archive]
) -> None:
    archive = nights(MadeUpClients(), red())

    (delta,) = of_python(spark, archive, "run_deltas")
    assert (delta["prior_run_id"], delta["run_id"], delta["scenario_id"]) == ("run-2", "run-3", STATIC)
    assert (delta["delta"], delta["is_flaky"]) == ("newly diverging", True)
    rates = {row["scenario_id"]: row["flake_rate"] for row in of_python(spark, archive, "flake_rates")}
    assert rates == {EAGER: 0.0, STATIC: 1.0}


@pytest.mark.spark
def test_a_change_with_another_release_of_the_library_is_not_flaky(
    spark: SparkSession, nights: Callable[..., Archive]
) -> None:
    newer = red()
    newer.libraries[PYTHON] = "3.1.0"
    archive = nights(MadeUpClients(), newer)

    (delta,) = of_python(spark, archive, "run_deltas")
    assert (delta["delta"], delta["is_flaky"]) == ("newly diverging", False)
    rates = {row["scenario_id"]: row["flake_rate"] for row in of_python(spark, archive, "flake_rates")}
    assert rates == {EAGER: None, STATIC: None}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_pages_of_a_trend_tell_of_clients(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    folders = [with_clients(reports, 1, MadeUpClients()), with_clients(reports, 2, red())]
    paths = [str(folder.path) for folder in folders]
    done = CliRunner().invoke(app, ["trend", *paths, "--out", str(tmp_path / "out")])

    assert done.exit_code == ExitCode.EXPECTED, done.output
    page = view_of(tmp_path / "out", "trend")
    assert f"{WITH_PYTHON}: 1 of 2, <b>1 unexpected</b>" in page
    assert "A target with a library beside its name" in page
    assert STATIC in page.partition("Flaky results")[2]
