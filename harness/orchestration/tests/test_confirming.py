"""Unexpected results are run again, alone, before anybody is blamed for them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from typing_extensions import override

from harness.diff.model import Attempt, Judgement
from harness.gate.stored import cut_short, open_run
from harness.orchestration.confirming import (
    ATTEMPTS,
    FIRST_CAUSES,
    LEAST_S,
    Rerun,
    time_for_confirming,
)
from harness.orchestration.judging import judge_run
from harness.orchestration.plan import RunPlan
from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.exit_code import ENDED_INTERRUPTED, ExitCode
from harness.scenario.script import Script
from harness.targets.base.interface import Target
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.moody_target import OTHER, SUITE, TELLING, Moody, group_of, telling
from harness.trace.files import attempt_name, read_events, read_records
from harness.verdict import Confirmation, Outcome


def plan(reports: Path, *targets: Target | str, patterns: Sequence[str] = (SUITE,)) -> RunPlan:
    return replace(plan_of(reports, targets, *patterns), confirm_s=60.0)


def result(run: CompletedRun, target: str = "moody") -> Judgement:
    return telling(run.checked.judgements, target)


def attempts(run: CompletedRun) -> list[Attempt]:
    return [each for each in run.checked.attempts if each.scenario_id == TELLING]


def test_what_shows_again_is_confirmed_and_red(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=range(1, 10))), Quiet())
    found = result(run)
    assert (found.outcome, found.confirmation) == (Outcome.DIVERGES, Confirmation.CONFIRMED)
    assert (found.shown_count, found.attempt_count, found.attempt) == (3, 3, 1)
    assert found.reason.endswith("; shown 3 of 3")
    assert run.exit_code is ExitCode.UNEXPECTED
    assert [(each.attempt, each.shows) for each in attempts(run)] == [(1, True), (2, True), (3, True)]


def test_what_does_not_show_again_is_flaky_and_not_red(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1])), Quiet())
    found = result(run)
    assert (found.outcome, found.confirmation) == (Outcome.DIVERGES, Confirmation.FLAKY)
    assert found.reason.endswith("; shown 1 of 3")
    assert run.exit_code is ExitCode.EXPECTED
    assert [each.outcome for each in attempts(run)] == [Outcome.DIVERGES, *[Outcome.CONFORMS] * 2]


def test_only_what_is_unexpected_is_run_again_and_alone(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1]), Moody("good")), Quiet())
    assert run.folder.repeats("good") == {}
    events = read_events(run.folder.events(attempt_name("moody", 2))).events
    assert {event.scenario_id for event in events} == {TELLING}


def test_no_attempt_has_the_ids_of_another_on_the_wire(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1, 2])), Quiet())
    traces = [read_events(run.folder.events(name)).events for name in run.folder.traces()[:3]]
    joins = [
        next(event for event in events if event.scenario_id == TELLING and event.kind == "request")
        for events in traces
    ]
    assert len({group_of(event.fields) for event in joins}) == 3
    assert len({event.canonical for event in joins}) == 1
    assert {event.run_id for events in traces for event in events} == {"run"}


def test_what_there_was_no_time_for_says_so_and_stays_red(tmp_path: Path) -> None:
    harmed = replace(
        plan(tmp_path, Moody("first", wrong=range(1, 10)), Moody("moody", wrong=[1])), confirm_s=0.0
    )
    run = orchestrate(harmed, Quiet())
    reported = {name: result(run, name) for name in ("first", "moody")}
    assert sorted(each.attempt_count for each in reported.values()) == [1, 2], "one attempt is always made"
    (missing,) = (each for each in reported.values() if each.attempt_count == 1)
    assert missing.confirmation == Confirmation.UNCONFIRMED
    assert missing.reason.endswith("; no further attempt: the 0 s for it had passed")
    assert run.exit_code is ExitCode.UNEXPECTED


def test_a_target_that_is_gone_leaves_its_results_unconfirmed(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1], gone=[2])), Quiet())
    found = result(run)
    assert found.confirmation == Confirmation.UNCONFIRMED
    assert found.reason.endswith("; no further attempt: target lost: it is gone")
    assert run.exit_code is ExitCode.UNEXPECTED


def test_nothing_is_run_again_if_nobody_wants_it(tmp_path: Path) -> None:
    moody = Moody("moody", wrong=[1])
    run = orchestrate(replace(plan(tmp_path, moody), confirms=False), Quiet())
    assert result(run).confirmation == Confirmation.NOT_REPEATED
    assert moody.start_count == 1
    assert run.exit_code is ExitCode.UNEXPECTED


def test_a_reference_in_virtual_time_is_not_run_again(tmp_path: Path) -> None:
    chosen = replace(plan(tmp_path, f"reference:{OTHER}", "reference:3.9"), against="reference-3.9")
    run = orchestrate(chosen, Quiet())
    found = result(run, f"reference-{OTHER}")
    assert (found.outcome, found.confirmation) == (Outcome.DIVERGES, Confirmation.NOT_REPEATED)


@pytest.mark.parametrize(
    ("wrong", "gone", "confirm_s"), [([1], [], 60.0), (range(1, 10), [], 0.0), ([1], [2], 60.0)]
)
def test_a_stored_run_is_judged_again_by_all_attempts(
    tmp_path: Path, wrong: Sequence[int], gone: Sequence[int], confirm_s: float
) -> None:
    moody = Moody("moody", wrong=wrong, gone=gone)
    chosen = replace(plan(tmp_path, moody, Moody("first", wrong=[1])), confirm_s=confirm_s)
    run = orchestrate(chosen, Quiet())
    again = judge_run(
        run.folder,
        expectation_files=chosen.expectation_files,
        catalogue=chosen.catalogue,
        baseline=None,
        today=date(2026, 11, 22),
    )
    assert again == run.checked
    assert read_records(Attempt, run.folder.attempts) == again.attempts
    assert cut_short(open_run(run.folder.path)) == ()


def test_what_is_run_again_is_not_fitted_before_the_drive_fits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven: list[Script] = []

    async def drive(_: Rerun, __: Target, scripts: Sequence[Script], *___: object) -> None:
        driven.extend(scripts)

    monkeypatch.setattr("harness.orchestration.confirming.imposed_settings", lambda *_: {})
    monkeypatch.setattr(
        "harness.orchestration.confirming.fitted", lambda script, _: replace(script, notes="fitted")
    )
    monkeypatch.setattr(Rerun, "_run", drive)
    chosen = plan(tmp_path, Moody("moody", wrong=[1]))
    orchestrate(chosen, Quiet())
    assert driven == [chosen.scripts[TELLING]]


def test_a_trace_of_an_attempt_that_lost_events_is_found(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1])), Quiet())
    trace = run.folder.events(attempt_name("moody", 3))
    trace.write_bytes(b"\n".join(trace.read_bytes().split(b"\n")[:2]) + b"\n")
    (reason,) = cut_short(open_run(run.folder.path))
    assert reason.startswith("the trace of moody/attempt-3 has 2 of its ")


def test_everything_is_run_as_often_as_asked(tmp_path: Path) -> None:
    moody = Moody("moody", wrong=[4])
    run = orchestrate(replace(plan(tmp_path, moody), repeat=5), Quiet())
    found = result(run)
    assert (found.confirmation, found.shown_count, found.attempt_count) == (Confirmation.FLAKY, 1, 5)
    assert found.attempt == 4, "the result is that of the attempt that differs"
    assert {each.scenario_id for each in run.checked.differences} == {TELLING}
    of_target = [each for each in run.checked.judgements if each.target == "moody"]
    assert {each.attempt_count for each in of_target} == {5}
    assert moody.start_count == 5, "what was run so often needs no attempt of its own"


class Impatient(Quiet):
    """Interrupts what is being run for the second time."""

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        if target == "moody, attempt 2":
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_soon(_cancel_all)


def _cancel_all() -> None:
    main = min(asyncio.all_tasks(), key=lambda task: int(task.get_name().rpartition("-")[2]))
    main.cancel()


def test_an_interrupted_attempt_leaves_what_was_driven(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1])), Impatient())
    assert run.footer.ended == ENDED_INTERRUPTED
    assert result(run).outcome == Outcome.DIVERGES
    assert run.exit_code is ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    ("asked_s", "drive_s", "time_s"),
    [(None, 1000.0, 200.0), (None, 100.0, LEAST_S), (7.0, 100.0, 7.0), (0.0, 100.0, 0.0)],
)
def test_the_time_is_a_fifth_of_the_drive_unless_somebody_says(
    tmp_path: Path, asked_s: float | None, drive_s: float, time_s: float
) -> None:
    chosen = replace(plan(tmp_path, "reference"), confirm_s=asked_s)
    assert time_for_confirming(chosen, drive_s) == time_s


def test_a_difference_is_shown_three_times_however_short_the_drive_was(tmp_path: Path) -> None:
    chosen = replace(plan(tmp_path, Moody("moody", wrong=range(1, 10))), confirm_s=None)
    found = result(orchestrate(chosen, Quiet()))
    assert (found.shown_count, found.attempt_count) == (3, 3)


class _Listening(Quiet):
    """Keeps the order in which scenarios were run again."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        if ", attempt" in target:
            self.attempts.append(target)


def test_the_first_causes_are_shown_as_often_as_is_due_before_others(tmp_path: Path) -> None:
    listening = _Listening()
    moody = [Moody(name, wrong=range(1, 10)) for name in "abcd"]
    orchestrate(plan(tmp_path, *moody), listening)
    assert FIRST_CAUSES == 3
    rounds = [f"{name}, attempt {number}" for number in (2, 3) for name in "abc"]
    assert listening.attempts == [*rounds, "d, attempt 2", "d, attempt 3"]


def test_fewer_attempts_than_due_hear_of(tmp_path: Path) -> None:
    chosen = replace(plan(tmp_path, Moody("moody", wrong=range(1, 10))), confirm_s=0.0)
    found = result(orchestrate(chosen, Quiet()))
    assert (found.confirmation, found.shown_count, found.attempt_count) == (Confirmation.CONFIRMED, 2, 2)
    assert found.reason.endswith("; shown 2 of 2; no further attempt: the 0 s for it had passed")


@pytest.mark.slow
def test_what_accuses_nobody_is_run_again_together_and_then_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The results differ; taken for starved ones they show how such are run again.
    monkeypatch.setattr("harness.orchestration.confirming._Accused.differs", False)
    listening = _Listening()
    moody = Moody("moody", wrong=range(1, 100))
    run = orchestrate(plan(tmp_path, moody, patterns=["classic"]), listening)
    again = [each for each in run.checked.judgements if each.attempt_count == ATTEMPTS]
    assert len(again) > 2
    numbers = [name.rpartition(" ")[2] for name in listening.attempts]
    assert numbers == ["2"] * len(again) + ["3"] * len(again)
    assert moody.start_count < 2 * len(again), "brokers are shared but for the last attempt"
