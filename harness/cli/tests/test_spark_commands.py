"""What is made with Spark: `matrix` and `trend`, and the sizes that `bench-spark` understands."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.bench_spark import _counts
from harness.orchestration.plan import PlanError
from harness.results.exit_code import ExitCode
from harness.spark.archive import Archive
from harness.spark.trend import TREND_MARTS
from harness.tests.in_process import CommandLine
from harness.tests.spark_archive import finished
from harness.tests.spark_records import write_run

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.spark_fixture"]

CHANGED = "classic/join/without-client-id"
"""2.8.2 tells its members their ids otherwise than 3.9.2."""


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_runs_are_archived_beside_their_folders_and_make_all_tables(tmp_path: Path) -> None:
    folders = [str(finished(tmp_path / "reports", number).path) for number in (1, 2)]
    done = CliRunner().invoke(app, ["trend", *folders, "--out", str(tmp_path / "out")])

    assert done.exit_code == ExitCode.EXPECTED, done.output
    assert Archive(root=tmp_path / "reports" / "runs").run_ids() == ("run-1", "run-2")
    made = list((tmp_path / "out").iterdir())
    assert {path.name for path in made if path.is_dir()} == set(TREND_MARTS)
    assert {path.name for path in made if path.is_file()} == {"trend.html", "regression.html"}


def test_a_run_that_was_cut_short_is_bad_data(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "reports")
    done = CliRunner().invoke(app, ["trend", str(folder.path), "--out", str(tmp_path / "out")])

    assert done.exit_code == ExitCode.BAD_DATA
    assert "cut short" in done.output


def test_sizes_go_from_small_to_large() -> None:
    assert _counts("1e7,1000000") == (1_000_000, 10_000_000)


@pytest.mark.parametrize("text", ["", "many", "0", "inf"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="event"):
        _counts(text)


def findings(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "matrix.json").read_text())["findings"]
    return found


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_line_that_was_copied_from_a_blind_comparison_shows_the_same_difference(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    kept = ("--out", tmp_path, "--archive", tmp_path / "kept")
    asked = ("--versions", "", "--target", "reference:2.8.2", "--against", "reference:3.9.2", CHANGED)
    assert kafka_conformance("matrix", *asked, *kept, "--run-id", "first") == ExitCode.UNEXPECTED
    (first,) = findings(tmp_path / "first")
    assert f"  {first['reproduction']}\n" in kafka_conformance.out

    program, *copied = shlex.split(first["reproduction"])
    assert program == "kafka-conformance"
    assert kafka_conformance(*copied, *kept, "--run-id", "again") == ExitCode.UNEXPECTED

    assert findings(tmp_path / "again") == [first]
    assert Archive(root=tmp_path / "kept").run_ids() == ("again", "first")
    assert "Trend: 2 runs" in (tmp_path / "again" / "trend.html").read_text()
