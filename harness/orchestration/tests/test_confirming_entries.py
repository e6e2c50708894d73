"""Runs with flaky results in what is done with stored runs, and at the doors to a run."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from harness.diff.model import Attempt
from harness.gate.merge import merge, refuse_strangers
from harness.gate.sides import open_run
from harness.orchestration.plan import RunPlan
from harness.orchestration.run import orchestrate
from harness.report.model.comparison import FLAKY
from harness.results.status import ExitCode
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.in_process import CommandLine
from harness.tests.moody_target import SUITE, TELLING, Moody, telling
from harness.tests.small_suite import RIGHT, WRONG
from harness.trace.files import RunFolder, read_events, read_records
from harness.verdict import Confirmation

pytest_plugins = ["harness.tests.command_line_fixture"]


def plan(reports: Path, moody: Moody, run_id: str = "run") -> RunPlan:
    return replace(plan_of(reports, [moody], SUITE, run_id=run_id), confirm_s=60.0)


@pytest.mark.slow
def test_the_gate_is_green_for_what_did_not_show_again(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1])), Quiet())
    assert kafka_conformance("gate", run.folder.path) == ExitCode.EXPECTED
    assert f"flaky: {TELLING} on moody: did not show again" in kafka_conformance.out
    policy = tmp_path / "gate.toml"
    policy.write_text('[allow]\nflaky = "fail"\n')
    assert kafka_conformance("gate", run.folder.path, "--config", policy) == ExitCode.UNEXPECTED


def test_shards_joined_keep_their_attempts(tmp_path: Path) -> None:
    whole = plan(tmp_path, Moody("moody", wrong=[1]))
    script = whole.scripts[TELLING]
    rest = {name: each for name, each in whole.scripts.items() if name != TELLING}
    parts = [({TELLING: script}, Moody("moody", wrong=[1])), (rest, Moody("moody"))]
    runs = [
        orchestrate(
            replace(whole, run_id=f"part-{n}", scripts=part, selection=whole.scripts, targets=(moody,)),
            Quiet(),
        )
        for n, (part, moody) in enumerate(parts)
    ]
    stored = [open_run(run.folder.path) for run in runs]
    refuse_strangers(stored)
    folder = RunFolder.create(tmp_path, "joined")
    checked = merge(stored, folder, replace(whole.given, today=date(2026, 11, 22)), command="a test")
    found = telling(checked.judgements, "moody")
    assert (found.confirmation, found.attempt_count) == (Confirmation.FLAKY, 3)
    events = read_events(folder.events("moody/attempt-2"))
    assert {event.run_id for event in events} == {"joined"}
    assert len(read_records(Attempt, folder.attempts)) == 3


def test_a_change_that_was_seen_once_is_put_down_to_no_release(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    orchestrate(plan(tmp_path, Moody("moody"), "before"), Quiet())
    orchestrate(plan(tmp_path, Moody("moody", wrong=[1]), "after"), Quiet())
    assert kafka_conformance("diff", tmp_path / "before", tmp_path / "after", "--no-explain") == 0
    assert FLAKY in kafka_conformance.out


@pytest.mark.slow
@pytest.mark.usefixtures("suites")
def test_a_run_prints_rates_and_may_be_left_raw(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    target = ("--suites", "small_suites", "--target", "reference-tcp", "--no-report", "--out", tmp_path)
    code = kafka_conformance("run", *target, "--run-id", "thrice", "--repeat", "3", RIGHT, WRONG)
    # The reference departs from the wrong scenario, too.
    assert code == ExitCode.HARNESS_ERROR
    assert "2 results the same in all 3 attempts" in kafka_conformance.out
    assert "shown 3 of 3" in kafka_conformance.out
    assert kafka_conformance("run", *target, "--run-id", "raw", "--no-confirm", WRONG) == code
    assert "shown" not in kafka_conformance.out
    assert RunFolder(tmp_path / "raw").repeats("reference-tcp") == {}
