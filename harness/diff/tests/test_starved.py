"""What a starved machine accounts for, and what it does not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.diff.judge import Judged, judge
from harness.diff.starved import RunStarved, StarvedStretch, excused
from harness.scenario.script import Script, SeeClosed
from harness.tests.diff_traces import info, reference_trace, script, spoilt, trace, with_event
from harness.trace.events import Event, EventKind
from harness.trace.schema import to_json
from harness.trace.starvation import Starvation
from harness.verdict import Outcome

JOINED = 7
"""ana's answer is due 100 to 3000 ms after her request, of step 4."""
SENT_MS = 40.0
HEARTBEAT = 10


def starved(
    begin_ms: float, end_ms: float, *, broker_ms: float = 0.0, harness_ms: float = 0.0, step: int = JOINED
) -> Event:
    length_ms = end_ms - begin_ms
    figures = Starvation(
        starved_ms=min(length_ms, broker_ms + harness_ms),
        harness_ms=harness_ms,
        run_queue_ms=broker_ms,
        stopped_ms=0.0,
        pause_ms=0.0,
    )
    return replace(
        trace()[0],
        kind=EventKind.STARVED.value,
        step=step,
        at_ms=end_ms,
        elapsed_ms=length_ms,
        fields=to_json(figures),
        canonical=None,
        note=figures.words(),
    )


def answered_after(took_ms: float) -> tuple[Event, ...]:
    """Return a trace in which ana waited so long for her group."""
    late = with_event(trace(), JOINED, elapsed_ms=took_ms, at_ms=SENT_MS + took_ms, correlation_id=4)
    return tuple(replace(each, at_ms=each.at_ms + took_ms) if each.step > JOINED else each for each in late)


def starving(*reruns: Sequence[Event], undisturbed: Sequence[Event] | None = None) -> RunStarved:
    """Return what runs the reference again: to these conversations where it is starved."""

    def run_starved(_: Script, events: Sequence[Event], __: int) -> Sequence[Sequence[Event]]:
        is_starved = any(each.kind == EventKind.STARVED for each in events)
        return reruns if is_starved else [undisturbed or reference_trace()]

    return run_starved


def judged(events: Sequence[Event], *reported: Event, run_starved: RunStarved | None = None) -> Judged:
    return judge(script(), info(), (*events, *reported), reference_trace(), None, run_starved)


def outcome(events: Sequence[Event], *reported: Event, run_starved: RunStarved | None = None) -> str:
    return judged(events, *reported, run_starved=run_starved).judgement.outcome


def test_a_bound_broken_by_no_more_than_the_witness_saw_is_starved_with_both_figures() -> None:
    one = judged(answered_after(3138), starved(1000, 2000, broker_ms=412)).judgement
    assert one.outcome == Outcome.INDETERMINATE
    assert one.reason.startswith("starved: step 7 (ana receives JoinGroup v6")
    assert one.reason.endswith(
        "the answer came 138 ms past its bound of 3000 ms; "
        "the machine kept the broker from running for 412 ms"
    )


def test_an_answer_is_read_before_it_is_on_record() -> None:
    events = tuple(
        replace(each, at_ms=each.at_ms + 0.4) if each.step >= JOINED else each
        for each in answered_after(3138)
    )
    assert outcome(events, starved(2000, SENT_MS + 3138, harness_ms=900)) == Outcome.INDETERMINATE


def test_a_bound_broken_by_more_than_the_witness_saw_is_a_difference() -> None:
    one = judged(answered_after(3413), starved(1000, 2000, broker_ms=411)).judgement
    assert one.outcome == Outcome.DIVERGES
    assert "later than 3000 ms (after 3413 ms)" in one.reason


BY_100_MS, BY_138_MS = answered_after(3100), answered_after(3138)


@pytest.mark.parametrize(
    ("events", "reported", "expected"),
    [
        (answered_after(3900), (), Outcome.DIVERGES),
        (answered_after(70), (), Outcome.DIVERGES),
        (BY_138_MS, (starved(0, 39, broker_ms=1000),), Outcome.DIVERGES),
        (BY_138_MS, (starved(3500, 4500, broker_ms=1000),), Outcome.DIVERGES),
        (BY_100_MS, (starved(0, 140, broker_ms=140),), Outcome.INDETERMINATE),
        (answered_after(3102), (starved(0, 140, broker_ms=140),), Outcome.DIVERGES),
        (BY_138_MS, (starved(1000, 1400, harness_ms=270),), Outcome.DIVERGES),
        (BY_138_MS, (starved(2900, 3178, harness_ms=270),), Outcome.INDETERMINATE),
    ],
    ids=[
        "too late on a quiet machine",
        "too early on a quiet machine",
        "starved before the request",
        "starved after the answer",
        "starved since before the request, by the rest",
        "starved since before the request, by more than the rest",
        "a late harness that neither reads nor sends",
        "a harness that reads late",
    ],
)
def test_starvation_accounts_for_what_it_delayed_and_nothing_else(
    events: Sequence[Event], reported: Sequence[Event], expected: Outcome
) -> None:
    assert outcome(events, *reported) == expected


def unanswered(after_ms: float) -> tuple[Event, ...]:
    given_up = {"kind": EventKind.NO_ANSWER.value, "canonical": None, "fields": None, "digest": "none"}
    return tuple(
        replace(each, at_ms=100 + after_ms, elapsed_ms=after_ms, **given_up)  # type: ignore[arg-type] # names of fields
        if each.step == HEARTBEAT and each.kind == EventKind.RESPONSE
        else each
        for each in trace()
    )


@pytest.mark.parametrize(("stopped_ms", "due"), [(4410, Outcome.INDETERMINATE), (4300, Outcome.DIVERGES)])
def test_an_answer_that_never_came_is_checked_against_when_the_reference_gives_it(
    stopped_ms: float, due: Outcome
) -> None:
    # The reference answers after 120 ms; the request was sent at 90 ms; a tenth of the wait is for work.
    assert outcome(unanswered(5000), starved(100, 5100, broker_ms=stopped_ms, step=HEARTBEAT)) == due


def expired(events: Sequence[Event]) -> tuple[Event, ...]:
    return spoilt(events, HEARTBEAT, lambda fields: fields.update(error_code="UNKNOWN_MEMBER_ID"))


def with_stray(events: Sequence[Event], step: int) -> tuple[Event, ...]:
    """Let a frame come at a step that nobody asked for."""
    stray = replace(
        trace()[-1], sequence=1_000, kind=EventKind.UNSOLICITED.value, step=step, fields=None, canonical=None
    )
    return tuple(each for event in events for each in ((stray, event) if event.step == step else (event,)))


@pytest.mark.parametrize("step", [HEARTBEAT, HEARTBEAT + 2])
def test_a_silence_that_is_starved_excuses_no_answer_to_nothing(step: int) -> None:
    reported = starved(100, 5100, broker_ms=4410, step=HEARTBEAT)
    found = judged(with_stray(unanswered(5000), step), reported)
    assert found.judgement.outcome == Outcome.DIVERGES
    assert (found.judgement.first_step, found.differences[0].actual) == (step, "an answer to nothing")


def test_what_no_starved_reference_sends_is_a_difference() -> None:
    other_bytes = with_event(trace(), HEARTBEAT, reencodes=False)
    for events in (with_stray(trace(), HEARTBEAT), other_bytes, with_stray(expired(trace()), HEARTBEAT + 2)):
        rerun = [reference_trace(), expired(reference_trace())]
        assert outcome(events, SLOW, run_starved=starving(*rerun)) == Outcome.DIVERGES


@pytest.mark.parametrize(("is_rerun", "outcome"), [(True, Outcome.INDETERMINATE), (False, Outcome.DIVERGES)])
def test_a_frame_where_the_connection_was_to_be_closed_may_be_late(
    outcome: Outcome, *, is_rerun: bool
) -> None:
    end = len(script().steps)
    closing = replace(
        script(), steps=(*script().steps, SeeClosed(actor="ana", connection="main", within_ms=1))
    )

    def closed(events: Sequence[Event]) -> tuple[Event, ...]:
        last = replace(events[-1], sequence=999, step=end, kind=EventKind.CLOSED.value, digest="closed")
        return (*events, last)

    events = (*with_stray(closed(trace()), end), SLOW)
    rerun = closed(reference_trace())
    starved_runs = [with_stray(rerun, end) if is_rerun else rerun]
    one = judge(closing, info(), events, rerun, None, starving(*starved_runs, undisturbed=rerun))
    assert one.judgement.outcome == outcome


SLOW = starved(80, 100, broker_ms=10, step=8)


def test_an_answer_that_the_starved_reference_gives_as_well_is_starved() -> None:
    one = judged(expired(trace()), SLOW, run_starved=starving(reference_trace(), expired(reference_trace())))
    assert one.judgement.outcome == Outcome.INDETERMINATE
    assert one.judgement.reason.startswith("starved: step 10 (ana receives Heartbeat v4")
    assert one.judgement.reason.endswith(
        'error_code is "UNKNOWN_MEMBER_ID", expected "REBALANCE_IN_PROGRESS"; the machine kept the broker '
        "from running for 10 ms, and kept from it likewise the reference gives the same answer"
    )
    assert one.differences


def test_an_answer_that_the_starved_reference_does_not_give_is_a_difference() -> None:
    fenced = spoilt(
        reference_trace(), HEARTBEAT, lambda fields: fields.update(error_code="FENCED_INSTANCE_ID")
    )
    # It must come to the answer the same way.
    elsewhere = spoilt(expired(reference_trace()), JOINED, lambda fields: fields.update(generation_id=2))
    for rerun in ([reference_trace()], [fenced], [elsewhere], []):
        assert outcome(expired(trace()), SLOW, run_starved=starving(*rerun)) == Outcome.DIVERGES


def test_nobody_starves_the_reference_for_a_target_that_was_not_starved() -> None:
    def never(*_: object) -> Sequence[Sequence[Event]]:
        raise AssertionError("the machine was quiet")

    assert outcome(expired(trace()), run_starved=never) == Outcome.DIVERGES
    assert outcome(trace(), SLOW, run_starved=never) == Outcome.CONFORMS


def test_an_answer_that_came_too_early_is_checked_against_when_the_starved_reference_gives_it() -> None:
    early = with_event(reference_trace(), JOINED, elapsed_ms=70.0)
    slow = starved(60, 100, broker_ms=40, step=5)
    assert outcome(answered_after(70), slow, run_starved=starving(early)) == Outcome.INDETERMINATE
    for rerun in (reference_trace(), answered_after(3900)):
        assert outcome(answered_after(70), slow, run_starved=starving(rerun)) == Outcome.DIVERGES


def test_a_late_answer_excuses_no_wrong_one_after_it() -> None:
    late = with_event(expired(trace()), JOINED, elapsed_ms=3100.0, at_ms=3140.0, correlation_id=4)
    one = judged(late, starved(1000, 2000, broker_ms=412), run_starved=starving(reference_trace()))
    assert one.judgement.outcome == Outcome.DIVERGES
    assert one.judgement.first_step == HEARTBEAT
    assert [(each.step, each.ordinal, each.is_consequence) for each in one.differences] == [
        (HEARTBEAT, 0, False),
        (JOINED, 1, True),
    ]


def test_what_the_witness_says_is_never_compared() -> None:
    events = trace()
    reported = tuple(each for event in events for each in (event, replace(SLOW, step=event.step)))
    assert outcome(reported) == Outcome.CONFORMS


def test_of_a_broker_out_of_sight_the_reason_says_so() -> None:
    figures = Starvation(starved_ms=300.0, harness_ms=300.0, stopped_ms=None)
    reported = replace(starved(2900, 3178), fields=to_json(figures))
    assert judged(answered_after(3138), reported).judgement.reason.endswith(
        "the machine kept the harness from running for 278 ms (the broker cannot be measured from here)"
    )


def test_a_bound_is_weighed_once_however_often_a_step_differs_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = starved(1000, 2000, broker_ms=412)
    events = (*answered_after(3138), reported)
    (late,) = judged(answered_after(3138), reported).differences
    weighed: list[float] = []

    def accounted_once(
        stretches: Sequence[StarvedStretch], _: object, **part: float
    ) -> tuple[Starvation, ...]:
        weighed.append(part["begin_ms"])
        return tuple(each.figures for each in stretches)

    monkeypatch.setattr("harness.diff.starved.accounted", accounted_once)
    found = excused(script(), events, reference_trace(), [late] * 1000, None)

    assert (found.left, weighed) == ((), [SENT_MS])
