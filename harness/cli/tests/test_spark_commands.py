"""What is made with Spark: `diff --versions` and `trend`."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.results.status import ExitCode
from harness.spark.archive import Archive
from harness.spark.trend import TREND_MARTS
from harness.tests.in_process import CommandLine
from harness.tests.site_reading import view_of
from harness.tests.spark_archive import finished
from harness.tests.spark_records import write_run

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.spark_fixture"]

CHANGED = "offsets/edge/unknown-partition-twice"
"""3.9.2 answers for the partition twice, 2.8.2 once."""


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_runs_are_archived_beside_their_folders_and_make_all_tables(tmp_path: Path) -> None:
    folders = [str(finished(tmp_path / "reports", number).path) for number in (1, 2)]
    done = CliRunner().invoke(app, ["trend", *folders, "--out", str(tmp_path / "out")])

    assert done.exit_code == ExitCode.EXPECTED, done.output
    assert Archive(root=tmp_path / "reports" / "runs").run_ids() == ("run-1", "run-2")
    made = list((tmp_path / "out").iterdir())
    assert {path.name for path in made if path.is_dir()} == {*TREND_MARTS, "data"}
    assert {path.name for path in made if path.is_file()} == {"index.html", "site.css", "site.js"}


def test_a_run_that_was_cut_short_is_bad_data(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "reports")
    done = CliRunner().invoke(app, ["trend", str(folder.path), "--out", str(tmp_path / "out")])

    assert done.exit_code == ExitCode.BAD_DATA
    assert "cut short" in done.output


def again(run: Path) -> dict[str, str]:
    """Return the commands that show a run's only comparison again, by scenario."""
    (comparison,) = json.loads((run / "matrix.json").read_text())
    found: dict[str, str] = comparison["again"]
    return found


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_line_that_was_copied_from_a_blind_comparison_shows_the_same_difference(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    kept = ("--out", tmp_path)
    asked = ("--versions", "", "--target", "reference:2.8.2", "--against", "reference:3.9.2", CHANGED)
    assert kafka_conformance("diff", *asked, *kept, "--run-id", "first") == ExitCode.UNEXPECTED
    (first,) = again(tmp_path / "first").values()
    assert f"  {first}\n" in kafka_conformance.out

    program, *copied = shlex.split(first)
    assert program == "kafka-conformance"
    assert kafka_conformance(*copied, *kept, "--run-id", "again") == ExitCode.UNEXPECTED

    assert [*again(tmp_path / "again").values()] == [first]
    assert Archive(root=tmp_path / "runs").run_ids() == ("again", "first")
    assert "Trend: 2 runs" in view_of(tmp_path / "again", "trend")
