"""The reference is starved as a target was, in virtual time, and tells whether that explains an answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.diff.judge import TargetInfo, judge
from harness.diff.model import Judgement
from harness.orchestration.starving import starved_runner
from harness.runner.interpreter import Interpreter
from harness.runner.placing import group_ids, num_partitions
from harness.runner.recorder import EventPosition, recorder_of
from harness.runner.witness import WitnessedStretch
from harness.scenario.bindings import Bindings
from harness.scenario.script import Receive, Script
from harness.targets.reference.draws import Draws
from harness.targets.reference.starved import StarvedReference, StarvedSession, starved_session
from harness.tests.completed_runs import catalogue, completed_run
from harness.trace.events import Event
from harness.trace.files import RunFolder, read_events
from harness.trace.starvation import Starvation
from harness.verdict import Outcome

ALIVE = "classic/heartbeat/keeps-the-session-alive"
"""A session of 1500 ms; heartbeats after 800, 1600 and 2400 ms, of steps 7, 10 and 13."""
SECOND = 10
DELAYED = "classic/initial-delay/first-member-waits"
"""A member is answered after 2000 ms, within 1900 to 3900."""
REJOINS = "classic/sync/leader-misses-the-deadline"
"""The leader joins again in step 9, within 2000 ms after a follower joined in step 8."""
ABORTS = "transactions/expiry/pending-over-expired"
"""A transaction is aborted in step 11; in step 13 its group is there still, without any offset."""
RESTARTS = "static_membership/corner/restart-extends-no-delay"
"""A static member joins in step 0 and is answered 2000 ms later; its successor joins in step 2."""
OVERTAKES = "classic/sync/leader-never-syncs"
"""In a stable group the leader joins again in step 16, and a follower in step 17."""
FULL = "classic/max-size/pending-id-finds-no-room"
"""A rebalance of 2000 ms begins in step 16; a member joins in 19, another stays parked in 20."""
ROOM_SOUGHT = 17
PARKED = 20
Before = Callable[[StarvedSession, int], Awaitable[None]]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    scenarios = (ALIVE, DELAYED, REJOINS, ABORTS, RESTARTS, OVERTAKES, FULL)
    return completed_run(tmp_path_factory.mktemp("run"), ["reference:3.9"], *scenarios).folder


async def _reported(scenario: str, before: Before, *witnessed: WitnessedStretch) -> tuple[Event, ...]:
    script = catalogue()[scenario]
    events: list[Event] = []
    target = StarvedReference("3.9")
    broker = await target.start(broker_config=script.broker_config, directory=Path(), progress=lambda _: None)
    groups = group_ids(script, run_id="real", partitions=num_partitions(broker.description))
    session = starved_session(broker, scenario, Draws())
    recorder = recorder_of(script, run_id="real", target="kafka", groups=groups, write=events.append)
    recorder.now_ms = session.now_ms
    interpreter = Interpreter(
        script=script,
        session=session,
        recorder=recorder,
        bindings=Bindings(groups=groups),
        broker_failure=lambda: None,
        before_step=partial(before, session),
    )
    await interpreter.run()
    for stretch in witnessed:
        recorder.starved(EventPosition(step=len(script.steps) - 1), stretch)
    return tuple(events)


def judged(
    folder: RunFolder,
    before: Before,
    *witnessed: WitnessedStretch,
    scenario: str = ALIVE,
    script: Script | None = None,
) -> Judgement:
    """Judge a target that did not run at times, and of which a witness told something.

    Args:
        folder: a run of the reference with the scenarios.
        before: what happens to the target before each step.
        witnessed: what the witness reported.
        scenario: what is run.
        script: what the target is judged by, if not by the scenario's script.
    """
    events = asyncio.run(_reported(scenario, before, *witnessed))
    name = "reference-3.9"
    oracle = [each for each in read_events(folder.events(name)).events if each.scenario_id == scenario]
    info = TargetInfo(run_id="real", target="kafka", spec="kafka:3.9.2", profile="3.9", oracle=name)
    script = script or catalogue()[scenario]
    return judge(script, info, events, oracle, None, starved_runner(folder, name)).judgement


def kept(
    begin_ms: float, end_ms: float, *, harness_ms: float = 0.0, broker_ms: float = 0.0
) -> WitnessedStretch:
    figures = Starvation(
        starved_ms=min(end_ms - begin_ms, harness_ms + broker_ms),
        harness_ms=harness_ms,
        run_queue_ms=0.0,
        stopped_ms=broker_ms,
        pause_ms=0.0,
    )
    return WitnessedStretch(begin_ms=begin_ms, end_ms=end_ms, starvation=figures)


def late_by(late_ms: Mapping[int, float]) -> Before:
    """Let the harness be so late before some steps."""

    async def before(session: StarvedSession, step: int) -> None:
        if step in late_ms:
            await session.elapse(late_ms[step])

    return before


in_time = late_by({})
harness_late = late_by({SECOND: 900})
"""Sends the second heartbeat 1700 ms after the first one."""


async def broker_stopped(session: StarvedSession, step: int) -> None:
    """Stop the broker for 1000 ms before the second heartbeat, and let the session run out meanwhile."""
    if step == SECOND - 1:
        await session.halt(session.now_ms() + 700, 1000)


def test_a_session_that_ran_out_while_the_harness_was_late_is_starved(folder: RunFolder) -> None:
    one = judged(folder, harness_late, kept(1600, 2500, harness_ms=900))
    assert one.outcome == Outcome.INDETERMINATE
    assert one.reason.startswith("starved: step 11 (ana receives Heartbeat v4")
    assert "the machine kept the harness from running for 900 ms" in one.reason


def test_a_harness_that_was_not_late_enough_explains_nothing(folder: RunFolder) -> None:
    assert judged(folder, harness_late, kept(1600, 2500, harness_ms=600)).outcome == Outcome.DIVERGES
    assert judged(folder, harness_late).outcome == Outcome.DIVERGES


def test_a_session_that_ran_out_while_the_broker_was_stopped_is_starved(folder: RunFolder) -> None:
    one = judged(folder, broker_stopped, kept(1500, 2500, broker_ms=1000))
    assert one.outcome == Outcome.INDETERMINATE
    assert "the machine kept the broker from running for 1000 ms" in one.reason


@pytest.mark.parametrize(("begin_ms", "end_ms"), [(1500, 2000), (0, 700), (2450, 3450)])
def test_a_stop_that_was_shorter_or_elsewhere_explains_nothing(
    folder: RunFolder, begin_ms: float, end_ms: float
) -> None:
    reported = kept(begin_ms, end_ms, broker_ms=end_ms - begin_ms)
    assert judged(folder, broker_stopped, reported).outcome == Outcome.DIVERGES


def test_what_the_harness_waits_for_the_order_of_requests_counts_beside_its_lateness(
    folder: RunFolder,
) -> None:
    one = judged(folder, late_by({9: 1950}), kept(0, 2050, harness_ms=1950), scenario=REJOINS)
    assert one.outcome == Outcome.INDETERMINATE
    assert "the machine kept the harness from running for 1950 ms" in one.reason


@pytest.mark.parametrize(("broker_ms", "outcome"), [(420, Outcome.INDETERMINATE), (60, Outcome.DIVERGES)])
def test_a_broker_that_was_kept_gets_longer_to_settle_before_a_wait(
    folder: RunFolder, broker_ms: float, outcome: Outcome
) -> None:
    late = late_by({ROOM_SOUGHT: 1250, PARKED: 420})
    harness_late = kept(250, 1500, harness_ms=1250)
    broker_kept = kept(1500, 2100, broker_ms=broker_ms)
    assert judged(folder, late, harness_late, broker_kept, scenario=FULL).outcome == outcome


def test_a_sweep_that_comes_while_the_harness_is_late_explains_what_it_removes(folder: RunFolder) -> None:
    swept = partial(judged, folder, late_by({13: 600}), scenario=ABORTS)
    assert swept(kept(2000, 2600, harness_ms=60)).outcome == Outcome.INDETERMINATE
    assert swept().outcome == Outcome.DIVERGES


def late_restart(begin_ms: float, *, halt_ms: float, late_ms: float) -> Before:
    """Halt the broker when a member joins, and send its successor's join late."""

    async def before(session: StarvedSession, step: int) -> None:
        if step == 0:
            await session.elapse(begin_ms)
            await session.halt(session.now_ms(), halt_ms)
            await session.elapse(1)
        if step == 2:
            await session.elapse(late_ms)

    return before


def test_a_stretch_that_began_before_the_first_request_delays_it(folder: RunFolder) -> None:
    late = partial(judged, folder, late_restart(400, halt_ms=270, late_ms=1150), scenario=RESTARTS)
    harness_late = kept(1100, 2440, harness_ms=1340)
    assert late(kept(0, 1100, harness_ms=700, broker_ms=270), harness_late).outcome == Outcome.INDETERMINATE
    assert late(kept(0, 1100, harness_ms=700), harness_late).outcome == Outcome.DIVERGES


def test_a_broker_that_could_do_without_most_of_what_it_waited_for_is_starved_as_well(
    folder: RunFolder,
) -> None:
    late = partial(judged, folder, late_restart(0, halt_ms=120, late_ms=1100), scenario=RESTARTS)
    harness_late = kept(870, 2130, harness_ms=1260)
    assert late(kept(0, 870, broker_ms=870), harness_late).outcome == Outcome.INDETERMINATE
    assert late(harness_late).outcome == Outcome.DIVERGES


def test_starvation_that_changed_nothing_is_no_matter(folder: RunFolder) -> None:
    assert judged(folder, in_time, kept(1500, 2500, broker_ms=1000)).outcome == Outcome.CONFORMS


def test_an_answer_that_an_undisturbed_reference_gives_too_is_not_due_to_starvation(
    folder: RunFolder,
) -> None:
    script = catalogue()[ALIVE]
    step = script.steps[SECOND + 1]
    assert isinstance(step, Receive)
    refused = replace(step, fields={"error_code": "ILLEGAL_GENERATION"})
    wrong = replace(script, steps=(*script.steps[: SECOND + 1], refused, *script.steps[SECOND + 2 :]))
    one = judged(folder, in_time, kept(1500, 2500, harness_ms=400, broker_ms=600), script=wrong)
    assert one.outcome == Outcome.DIVERGES
    assert one.reason.endswith('error_code is "NONE", expected "ILLEGAL_GENERATION"')


def test_what_happened_before_does_not_hide_what_a_later_stretch_explains(folder: RunFolder) -> None:
    # Inserted as well, the first stretch would let the session run out one heartbeat before.
    early = kept(10, 790, broker_ms=780)
    far = kept(800, 1590, harness_ms=790)
    one = judged(folder, harness_late, early, far, kept(1600, 2500, harness_ms=900))
    assert one.outcome == Outcome.INDETERMINATE


def test_a_broker_that_had_answered_before_may_have_waited_in_any_later_part_of_a_stretch(
    folder: RunFolder,
) -> None:
    async def overtaken(session: StarvedSession, step: int) -> None:
        session.last_connection_first = True
        if step == 16:
            await session.elapse(200)
            await session.halt(session.now_ms(), 300)
            await session.elapse(1)

    late = partial(judged, folder, overtaken, scenario=OVERTAKES)
    assert late(kept(0, 700, broker_ms=300)).outcome == Outcome.INDETERMINATE
    assert late(kept(0, 190, broker_ms=190)).outcome == Outcome.DIVERGES


def test_a_bound_of_a_timer_is_broken_by_no_more_than_the_stop(folder: RunFolder) -> None:
    async def stopped(session: StarvedSession, step: int) -> None:
        if step == 3:
            await session.halt(session.now_ms() + 1900, 2500)

    late = partial(judged, folder, stopped, scenario=DELAYED)
    assert late(kept(1900, 4400, broker_ms=2500)).outcome == Outcome.INDETERMINATE
    assert late(kept(1900, 4400, broker_ms=490)).outcome == Outcome.DIVERGES


def test_a_halted_session_takes_in_what_came_and_what_fell_due_in_either_order(folder: RunFolder) -> None:
    async def answers(requests_first: bool) -> Sequence[str | None]:  # noqa: FBT001 - one of two
        async def before(session: StarvedSession, step: int) -> None:
            session.requests_first = requests_first
            await broker_stopped(session, step)

        reported = await _reported(ALIVE, before)
        return [each.canonical for each in reported if each.step == SECOND + 1]

    timers, requests = (asyncio.run(answers(each)) for each in (False, True))
    assert "UNKNOWN_MEMBER_ID" in str(timers)
    assert '"NONE"' in str(requests)


TOGETHER = "classic/initial-delay/second-member-extends"
"""ana joins, then bob; who came first leads."""


def test_requests_that_came_while_a_broker_was_stopped_are_taken_in_in_any_order() -> None:
    def stopping(*, last_connection_first: bool) -> Before:
        async def before(session: StarvedSession, step: int) -> None:
            session.last_connection_first = last_connection_first
            if step == 0:
                # Two stretches without a moment between them are one stop.
                await session.halt(0, 300)
                await session.halt(300, 300)
                await session.elapse(1)

        return before

    reported = [
        asyncio.run(_reported(TOGETHER, stopping(last_connection_first=each))) for each in (False, True)
    ]
    leaders = [
        json.loads(event.canonical or "{}")["leader"]
        for events in reported
        for event in events
        if event.step == 2 and event.canonical
    ]
    assert len(leaders) == 2
    assert leaders[0] != leaders[1]
