"""Unexpected results are run again, alone, before anybody is blamed for them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast

import pytest
from typing_extensions import override

from harness.diff.model import Attempt, Judgement
from harness.gate.sides import cut_short, open_run
from harness.orchestration.confirming import (
    LEAST_S,
    Accused,
    Rerun,
    lanes_of,
    time_for_confirming,
)
from harness.orchestration.judging import judge_run
from harness.orchestration.plan import RunPlan
from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import ENDED_INTERRUPTED, ExitCode
from harness.scenario.script import Script
from harness.targets.base.interface import Target
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.damaged import rewrite
from harness.tests.moody_target import OTHER, SUITE, TELLING, Moody, group_of, telling
from harness.trace.files import RunFolder, attempt_name, read_events, read_records
from harness.verdict import Confirmation, Outcome

TWO_CAUSES: Final = ("classic/leave", "classic/identity", "classic/versions/leave")
"""Scenarios in which the two releases differ by two causes, each in several of them."""


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
    assert (found.shown_count, found.attempt_count, found.attempt) == (2, 2, 1)
    assert found.reason.endswith("; shown 2 of 2")
    assert run.exit_code is ExitCode.UNEXPECTED
    assert [(each.attempt, each.shows) for each in attempts(run)] == [(1, True), (2, True)]


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
    events = read_events(run.folder.events(attempt_name("moody", 2)))
    assert {event.scenario_id for event in events} == {TELLING}


def test_no_attempt_has_the_ids_of_another_on_the_wire(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1, 2])), Quiet())
    traces = [read_events(run.folder.events(name)) for name in run.folder.traces()[:2]]
    joins = [
        next(event for event in events if event.scenario_id == TELLING and event.kind == "request")
        for events in traces
    ]
    assert len({group_of(event.fields) for event in joins}) == len(traces) == 2
    assert len({event.canonical for event in joins}) == 1
    assert {event.run_id for events in traces for event in events} == {"run"}


def test_the_first_round_is_made_however_short_the_time_is(tmp_path: Path) -> None:
    harmed = replace(
        plan(tmp_path, Moody("first", wrong=range(1, 10)), Moody("moody", wrong=[1])), confirm_s=0.0
    )
    run = orchestrate(harmed, Quiet())
    first, moody = result(run, "first"), result(run, "moody")
    assert (first.confirmation, first.attempt_count) == (Confirmation.CONFIRMED, 2)
    assert (moody.confirmation, moody.attempt_count) == (Confirmation.FLAKY, 2)
    assert moody.reason.endswith("; no further attempt: the 0 s for it do not suffice")
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
    for is_from_traces in (False, True):
        given = replace(chosen.given, today=date(2026, 11, 22))
        again = judge_run(run.folder, given, is_from_traces=is_from_traces)
        assert again == run.checked
        assert read_records(Attempt, run.folder.attempts) == again.attempts
    assert cut_short(open_run(run.folder.path)) == ()


def test_what_is_run_again_is_not_fitted_before_the_drive_fits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven: list[Script] = []

    async def drive(_: Rerun, __: Target, scripts: Sequence[Script], *___: object, **____: object) -> None:
        driven.extend(scripts)

    monkeypatch.setattr(
        "harness.orchestration.confirming.as_driven",
        lambda _, __, scripts: [replace(each, notes="fitted") for each in scripts],
    )
    monkeypatch.setattr(Rerun, "_run", drive)
    chosen = plan(tmp_path, Moody("moody", wrong=[1]))
    orchestrate(chosen, Quiet())
    assert driven == [chosen.scripts[TELLING]] * 2


def test_a_trace_of_an_attempt_that_lost_events_is_found(tmp_path: Path) -> None:
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1])), Quiet())
    trace = run.folder.events(attempt_name("moody", 3))
    rewrite(trace, lambda old: b"".join(old.splitlines(keepends=True)[:2]))
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


class _Listening(Quiet):
    """Keeps the order in which scenarios were run again."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        if ", attempt" in target:
            self.attempts.append(f"{target}: {scenario_id}")


def causes(run: CompletedRun) -> dict[str, set[str]]:
    """Return the scenarios that each cause heads, by cause."""
    found: dict[str, set[str]] = {}
    for each in run.checked.differences:
        if each.ordinal == 0 and each.target == "moody" and not each.is_lenient:
            found.setdefault(each.cause, set()).add(each.scenario_id)
    return found


def red(run: CompletedRun) -> list[Judgement]:
    of_target = (each for each in run.checked.judgements if each.target == "moody")
    return [each for each in of_target if each.outcome == Outcome.DIVERGES]


@pytest.mark.slow
def test_one_scenario_is_run_again_for_all_results_of_a_cause(tmp_path: Path) -> None:
    listening = _Listening()
    moody = Moody("moody", wrong=range(1, 100))
    run = orchestrate(plan(tmp_path, moody, patterns=TWO_CAUSES), listening)
    of_causes = causes(run)
    assert max(map(len, of_causes.values())) > 1
    took_ms = {each.scenario_id: each.duration_ms for each in red(run)}
    shortest_ms = sorted(min(took_ms[each] for each in of_cause) for of_cause in of_causes.values())
    assert sorted(took_ms[each.partition(": ")[2]] for each in listening.attempts) == shortest_ms
    assert {each.confirmation for each in red(run)} == {Confirmation.CONFIRMED}
    assert {each.attempt_count for each in red(run)} == {1, 2}
    others = [each.reason for each in red(run) if each.attempt_count == 1]
    assert all("; its cause was shown again in classic/" in reason for reason in others)


@pytest.mark.slow
def test_of_a_cause_that_does_not_show_again_the_next_scenario_is_run(tmp_path: Path) -> None:
    listening = _Listening()
    run = orchestrate(plan(tmp_path, Moody("moody", wrong=[1]), patterns=TWO_CAUSES), listening)
    tried = [each.partition(": ")[2] for each in listening.attempts]
    for of_cause in causes(run).values():
        assert of_cause <= set(tried)
    assert {each.confirmation for each in red(run)} == {Confirmation.FLAKY}


def accused(cause: str, target: str = "far", *, acts: bool = False, duration_ms: float = 100.0) -> Accused:
    made = SimpleNamespace(
        target=SimpleNamespace(name=target, is_external=target == "far"),
        key=(target, cause),
        script=SimpleNamespace(id=cause),
        try_count=1,
        add=lambda _: None,
        acts=acts,
        repeated=SimpleNamespace(first=SimpleNamespace(judgement=SimpleNamespace(duration_ms=duration_ms))),
    )
    return cast("Accused", made)


def test_long_waits_have_a_lane_beside_the_others_and_restarts_come_last() -> None:
    quick, slow, other = accused("a"), accused("b", duration_ms=35_000), accused("a", duration_ms=35_000)
    restarting, ours = accused("c", acts=True), accused("d", "kafka", acts=True)

    beside, last = lanes_of([restarting, quick, slow, other, ours])

    assert beside == [[ours], [quick, other], [slow]]
    assert last == [[restarting]]


def test_an_attempt_that_would_end_too_late_is_left_out_and_shorter_ones_are_made() -> None:
    begun: list[str] = []

    class Noting(Rerun):
        @override
        async def _run(self, target: Target, scripts: Sequence[Script], *_: object, **__: object) -> None:
            begun.extend(each.id for each in scripts)

    async def has_time(batches: Sequence[Sequence[Accused]]) -> bool:
        folder = SimpleNamespace(read_broker_configs=dict)
        rerun = Noting(plan=cast("RunPlan", None), folder=cast("RunFolder", folder), watcher=Quiet())
        return await rerun._run_batches(batches, asyncio.get_running_loop().time() + 20)

    long, short = accused("long", duration_ms=35_000), accused("short", duration_ms=3_000)
    assert not asyncio.run(has_time([[long, short], [long]]))
    assert begun == ["short"]
    assert asyncio.run(has_time([[short]]))
