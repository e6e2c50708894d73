"""Stored runs judged again: with other expectations, against a baseline, and cut short."""

from datetime import date
from pathlib import Path

import pytest

from harness.diff.check import CheckedRun
from harness.diff.expectations import ExpectationError
from harness.orchestration.judging import ending, judge_run, judge_run_again, read_baseline, read_expectations
from harness.results.baseline import kept_baseline
from harness.results.errors import ReportError
from harness.results.exit_code import ExitCode
from harness.tests.completed_runs import catalogue, completed_run
from harness.tests.small_suite import entry
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError

SUITE = "classic/heartbeat"
CHOSEN = "classic/heartbeat/before-assignments"
TODAY = date(2026, 11, 21)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> RunFolder:
    return completed_run(tmp_path, ["reference"], SUITE).folder


def judged(folder: RunFolder, *entries: str, baseline: Path | None = None) -> CheckedRun:
    file = folder.path / "own.toml"
    file.write_text("".join(entries))
    return judge_run(
        folder, expectation_files=[file], catalogue=frozenset(catalogue()), baseline=baseline, today=TODAY
    )


def code_of(folder: RunFolder, checked: CheckedRun) -> ExitCode:
    return ending(checked, catalogue=frozenset(catalogue()), footer=folder.read_footer())


def test_a_run_is_judged_with_the_expectations_of_today(folder: RunFolder) -> None:
    assert code_of(folder, judged(folder)) == ExitCode.EXPECTED
    assert code_of(folder, judged(folder, entry(CHOSEN))) == ExitCode.STALE
    assert code_of(folder, judged(folder)) == ExitCode.EXPECTED


def test_an_entry_for_no_scenario_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(entry("no/such/scenario"))
    with pytest.raises(ExpectationError, match=r"own\.toml, entry 1"):
        read_expectations([file], frozenset(catalogue()))


def test_a_run_that_was_cut_short_is_no_fault_of_ours_but_no_verdict_either(folder: RunFolder) -> None:
    trace = folder.events("reference")
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"torn')
    folder.footer_json.unlink()

    checked = judged(folder)

    outcomes = [each.outcome for each in checked.judgements]
    assert len(outcomes) == len(folder.read_scripts())
    assert set(outcomes) == {"conforms", "indeterminate"}
    assert checked.judgements[-1].reason.endswith("the run was cut short before")
    assert code_of(folder, checked) == ExitCode.BAD_DATA


def test_a_scenario_without_a_trace_in_a_run_that_ended_is_our_fault(folder: RunFolder) -> None:
    trace = folder.events("reference")
    lines = [line for line in trace.read_bytes().splitlines(keepends=True) if CHOSEN.encode() not in line]
    trace.write_bytes(b"".join(lines))
    checked = judged(folder)
    assert [each.scenario_id for each in checked.judgements if each.outcome == "harness error"] == [CHOSEN]
    assert code_of(folder, checked) == ExitCode.HARNESS_ERROR


def test_a_run_that_ended_and_has_lost_events_since_is_not_judged_again(folder: RunFolder) -> None:
    trace = folder.events("reference")
    trace.write_bytes(b"")
    with pytest.raises(TraceError, match="the trace of reference has 0 of its"):
        judge_run_again(folder, expectation_files=[], catalogue=frozenset(catalogue()), baseline=None)
    folder.footer_json.unlink()
    code = judge_run_again(folder, expectation_files=[], catalogue=frozenset(catalogue()), baseline=None)
    assert code == ExitCode.BAD_DATA


def test_a_baseline_tells_what_changed(folder: RunFolder, tmp_path: Path) -> None:
    later = completed_run(tmp_path / "later", ["reference"], SUITE).folder
    checked = judged(later, baseline=folder.path)
    assert {each.delta for each in checked.judgements} == {"same"}
    assert code_of(later, checked) == ExitCode.EXPECTED
    assert (kept := kept_baseline(later.path)) is not None
    assert kept.run_id == folder.read_run().run_id
    judged(later)
    assert kept_baseline(later.path) is None


def test_a_scenario_of_the_baseline_that_is_gone_is_red_and_one_that_was_not_chosen_is_not(
    folder: RunFolder, tmp_path: Path
) -> None:
    later = completed_run(tmp_path / "later", ["reference"], CHOSEN).folder
    checked = judged(later, baseline=folder.path)
    assert checked.removed
    assert code_of(later, checked) == ExitCode.EXPECTED
    without = frozenset(catalogue()) - {checked.removed[0].scenario_id}
    assert ending(checked, catalogue=without, footer=later.read_footer()) == ExitCode.NOTHING_RAN


def test_a_folder_without_judgements_is_no_baseline(tmp_path: Path) -> None:
    assert read_baseline(None) is None
    with pytest.raises(ReportError, match="cannot be the baseline"):
        read_baseline(tmp_path)


def test_a_damaged_script_or_trace_is_reported_with_its_place(folder: RunFolder) -> None:
    trace = folder.events("reference")
    trace.write_bytes(b"{}\n" + trace.read_bytes())
    with pytest.raises(TraceError, match=r"events\.jsonl:1"):
        judge_run_again(folder, expectation_files=(), catalogue=frozenset(catalogue()), baseline=None)


@pytest.mark.slow
def test_many_processes_judge_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = completed_run(tmp_path, ["reference", "reference:3.9", "reference:2.4"], SUITE).folder
    alone = judged(folder, entry(CHOSEN))
    monkeypatch.setattr("harness.orchestration.judging._SHARED_BYTES", 0)
    assert judged(folder, entry(CHOSEN)) == alone
