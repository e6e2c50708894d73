"""Which results `diff` compares: those of conversations that came to their end."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, read_records, write_records

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]

CHANGED = "classic/heartbeat/before-assignments"
"""What is answered NONE since 2.6.1, and REBALANCE_IN_PROGRESS before."""
SIDES = ("reference:2.5", "reference:4.4")


def test_what_is_indeterminate_is_left_out_with_its_reason(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    chosen = [each for target in SIDES for each in ("--target", target)]
    run = ("run", CHANGED, "--no-report", "--out", tmp_path, "--run-id", "run")
    assert kafka_conformance(*run, *chosen) == ExitCode.EXPECTED
    folder = RunFolder(tmp_path / "run")
    asked = ("diff", *SIDES, "--run", folder.path)
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    assert "Answers changed in 1 of 1 scenarios" in kafka_conformance.out

    broke_off = [
        replace(each, outcome="indeterminate", reason="the machine was busy")
        if each.target == "reference-4.4"
        else each
        for each in read_records(Judgement, folder.judgements)
    ]
    write_records(folder.judgements, broke_off)
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    assert "None of 0 scenarios changed" in kafka_conformance.out
    assert "1 scenario ran only on the former: the machine was busy." in kafka_conformance.out
