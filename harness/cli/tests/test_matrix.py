"""The command `matrix`: the lines that it prints show the same again, and its runs are kept."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from harness.results.exit_code import ExitCode
from harness.spark.archive import Archive
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

CHANGED = "classic/join/without-client-id"
"""2.8.2 tells its members their ids otherwise than 3.9.2."""


def findings(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "matrix.json").read_text())["findings"]
    return found


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
