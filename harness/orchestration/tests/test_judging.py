"""Stored runs judged again: with other expectations, against a baseline, and cut short."""

from datetime import date
from pathlib import Path

import pytest

from harness.diff.check import CheckedRun
from harness.diff.expectations import ExpectationError
from harness.orchestration.judging import (
    Given,
    ending,
    judge_run,
    judge_run_again,
    read_baseline,
    read_expectations,
)
from harness.results.baseline import kept_baseline
from harness.results.status import ExitCode
from harness.results.stored_data import ReportError
from harness.tests.completed_runs import catalogue, completed_run
from harness.tests.damaged import rewrite
from harness.tests.small_suite import entry
from harness.trace.files import RunFolder, read_events, write_records
from harness.trace.schema import TraceError

SUITE = "classic/heartbeat"
CHOSEN = "classic/heartbeat/before-assignments"
TODAY = date(2026, 11, 21)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> RunFolder:
    return completed_run(tmp_path, ["reference"], SUITE).folder


def judged(
    folder: RunFolder, *entries: str, baseline: Path | None = None, is_from_traces: bool = True
) -> CheckedRun:
    file = folder.path / "own.toml"
    file.write_text("".join(entries))
    known = frozenset(catalogue())
    given = Given(expectation_files=[file], catalogue=known, baseline=baseline, today=TODAY)
    return judge_run(folder, given, is_from_traces=is_from_traces)


def again(folder: RunFolder, *, is_from_traces: bool = False) -> ExitCode:
    return judge_run_again(folder, Given(catalogue=frozenset(catalogue())), is_from_traces=is_from_traces)


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
    rewrite(folder.events("reference"), lambda old: old[: len(old) // 2])
    folder.footer_json.unlink()

    checked = judged(folder)

    outcomes = [each.outcome for each in checked.judgements]
    assert len(outcomes) == len(folder.read_scripts())
    assert set(outcomes) == {"conforms", "indeterminate"}
    assert checked.judgements[-1].reason.endswith("the run was cut short before")
    assert code_of(folder, checked) == ExitCode.BAD_DATA


def test_a_scenario_without_a_trace_in_a_run_that_ended_is_our_fault(folder: RunFolder) -> None:
    others = [each for each in read_events(folder.events("reference")) if each.scenario_id != CHOSEN]
    write_records(folder.events("reference"), others)
    checked = judged(folder)
    assert [each.scenario_id for each in checked.judgements if each.outcome == "harness error"] == [CHOSEN]
    assert code_of(folder, checked) == ExitCode.HARNESS_ERROR


def test_a_run_that_ended_and_has_lost_events_since_is_not_judged_again(folder: RunFolder) -> None:
    trace = folder.events("reference")
    trace.write_bytes(b"")
    for is_from_traces in (False, True):
        with pytest.raises(TraceError, match="the trace of reference has 0 of its"):
            again(folder, is_from_traces=is_from_traces)
    folder.footer_json.unlink()
    assert again(folder, is_from_traces=True) == ExitCode.BAD_DATA


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
    with pytest.raises(ReportError, match="not a run's folder"):
        read_baseline(tmp_path)


def test_a_damaged_script_or_trace_is_reported_with_its_place(folder: RunFolder) -> None:
    trace = folder.events("reference")
    rewrite(trace, lambda old: b"{" + old)
    with pytest.raises(TraceError, match=r"events\.jsonl\.zst:1"):
        again(folder, is_from_traces=True)


def test_todays_entries_apply_to_a_stored_run_without_a_look_at_its_traces(folder: RunFolder) -> None:
    by_traces = judged(folder, entry(CHOSEN))
    trace = folder.events("reference")
    rewrite(trace, lambda old: b"?\n" * old.count(b"\n"))
    for _ in range(2):
        assert judged(folder, entry(CHOSEN), is_from_traces=False) == by_traces
        assert code_of(folder, judged(folder, is_from_traces=False)) == ExitCode.EXPECTED


def test_a_run_that_stored_no_results_is_judged_from_its_traces(folder: RunFolder) -> None:
    before = judged(folder)
    folder.judgements.unlink()
    assert judged(folder, is_from_traces=False) == before


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("judgements", '"outcome":"conforms"', '"outcome":"conform"', "outcome 'conform' is none"),
        ("judgements", CHOSEN, "classic/heartbeat/none", "1 of .* judgements are missing"),
        ("judgements", '"difference_count":0', '"difference_count":1', "not the differences of the judg"),
        ("judgements", '"attempt_count":1', '"attempt_count":2', "not the attempts of the judgements"),
        ("judgements", '"run_id"', '"run"', "lacks run_id"),
    ],
)
def test_a_damaged_file_of_results_is_refused_with_what_makes_it_anew(
    folder: RunFolder, name: str, old: str, new: str, says: str
) -> None:
    rewrite(getattr(folder, name), lambda content: content.replace(old.encode(), new.encode(), 1))
    with pytest.raises(TraceError, match=says):
        again(folder)
    assert again(folder, is_from_traces=True) == ExitCode.EXPECTED


def test_a_missing_file_of_results_is_refused(folder: RunFolder) -> None:
    folder.differences.unlink()
    with pytest.raises(TraceError, match=r"differences\.jsonl\.zst"):
        again(folder)


@pytest.mark.slow
def test_many_processes_judge_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = completed_run(tmp_path, ["reference", "reference:3.9", "reference:2.4"], SUITE).folder
    alone = judged(folder, entry(CHOSEN))
    monkeypatch.setattr("harness.orchestration.judging._SHARED_BYTES", 0)
    assert judged(folder, entry(CHOSEN)) == alone
