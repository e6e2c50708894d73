from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.diff.judge import Judged, judge
from harness.tests.diff_traces import info, reference_trace, script, spoilt, trace, with_event
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass, Outcome

HEARTBEAT = 10


def judged(events: Sequence[Event], oracle: Sequence[Event] | None = None) -> Judged:
    return judge(script(), info(), events, reference_trace() if oracle is None else oracle)


def wrong(events: Sequence[Event] | None = None) -> tuple[Event, ...]:
    return spoilt(events or trace(), HEARTBEAT, lambda fields: fields.update(error_code="NONE"))


def until_wrong() -> list[Event]:
    return [event for event in wrong() if event.step <= HEARTBEAT]


def noted(kind: EventKind, note: str, *, step: int) -> Event:
    return replace(trace()[0], kind=kind, note=note, step=step, fields=None, sequence=0)


def until(step: int, *more: Event) -> tuple[Event, ...]:
    return (*(event for event in trace() if event.step < step), *more)


def test_a_conversation_as_expected_conforms() -> None:
    one = judged(trace()).judgement
    assert one.outcome == Outcome.CONFORMS
    assert (one.suite, one.oracle, one.event_count, one.duration_ms) == ("classic", "reference", 15, 140.0)
    assert one.signature is None


def test_a_difference_diverges_and_the_reason_says_what_came_where_and_what_was_due() -> None:
    result = judged(wrong())
    assert result.judgement.outcome == Outcome.DIVERGES
    assert result.judgement.reason == (
        "step 10 (ana receives Heartbeat v4, error_code 'REBALANCE_IN_PROGRESS'): "
        'error_code is "NONE", expected "REBALANCE_IN_PROGRESS"'
    )
    assert (result.judgement.first_step, result.judgement.difference_count) == (10, 1)
    assert result.judgement.signature == result.differences[0].signature


def test_a_difference_says_which_setting_that_the_script_needs_was_assumed() -> None:
    asking = replace(script(), broker_config={"group.max.size": "2"})
    assumed = replace(info(), assumed={"group.max.size": "9", "group.min.session.timeout.ms": "6000"})
    reason = judge(asking, assumed, wrong(), reference_trace()).judgement.reason
    assert reason.endswith("; assumed group.max.size=9; --assume group.max.size=VALUE states another")
    assert "assumed" not in judge(asking, assumed, trace(), reference_trace()).judgement.reason


def test_a_difference_from_the_reference_says_so() -> None:
    events = spoilt(trace(), 7, lambda fields: fields.update(generation_id=3))
    assert judged(events).judgement.reason.endswith(
        "generation_id is 3, the reference gives 1; what the script pins is true"
    )


def test_a_long_value_is_cut_in_the_reason_and_whole_in_the_difference() -> None:
    result = judged(spoilt(trace(), 7, lambda fields: fields.update(protocol_name="x" * 500)))
    assert len(result.judgement.reason) < 400
    assert len(result.differences[0].actual) > 500


def test_measured_times_and_notes_stand_in_the_reason_and_not_in_the_difference() -> None:
    result = judged(with_event(trace(), 7, elapsed_ms=4000.0))
    assert "later than 3000 ms (after 4000 ms), expected not after 3000 ms" in result.judgement.reason
    assert "4000" not in result.differences[0].actual


def test_only_prose_that_differs_is_lenient() -> None:
    def worded(events: tuple[Event, ...], text: str) -> tuple[Event, ...]:
        return spoilt(events, 1, lambda fields: fields.update(error_message=text))

    one = judged(worded(trace(), "Go away"), worded(reference_trace(), "No")).judgement
    assert one.outcome == Outcome.LENIENT
    assert one.signature is not None


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (EventKind.HARNESS_ERROR, Outcome.HARNESS_ERROR),
        (EventKind.NOT_APPLICABLE, Outcome.NOT_APPLICABLE),
        (EventKind.ABANDONED, Outcome.INDETERMINATE),
    ],
)
@pytest.mark.parametrize("step", [-1, 9], ids=["of no step", "of a step"])
def test_an_event_that_ends_the_conversation_decides(kind: EventKind, outcome: Outcome, step: int) -> None:
    one = judged(until(9, noted(kind, "because", step=step))).judgement
    assert one.outcome == outcome
    assert "because" in one.reason


@pytest.mark.parametrize("note", ["no member id", "target lost: gone"])
def test_an_abandoned_conversation_diverges_where_a_difference_came_before(note: str) -> None:
    one = judged((*until_wrong(), noted(EventKind.ABANDONED, note, step=11))).judgement
    assert (one.outcome, one.first_step) == (Outcome.DIVERGES, HEARTBEAT)


@pytest.mark.parametrize("step", [-1, HEARTBEAT], ids=["of no step", "of a step"])
def test_a_lost_target_is_indeterminate_and_its_closed_connection_no_difference(step: int) -> None:
    closed = replace(noted(EventKind.CLOSED, "reset", step=HEARTBEAT), sequence=10)
    lost = noted(EventKind.ABANDONED, "target lost: exit status 137", step=step)
    one = judged(until(HEARTBEAT, closed, lost)).judgement
    assert one.outcome == Outcome.INDETERMINATE
    assert "exit status 137" in one.reason


def test_a_trace_that_ends_early_is_no_pass() -> None:
    one = judged(until(12)).judgement
    assert one.outcome == Outcome.INDETERMINATE
    assert "the trace ends after step 11" in one.reason


def test_nothing_on_record_is_our_fault() -> None:
    one = judged(()).judgement
    assert (one.outcome, one.reason) == (Outcome.HARNESS_ERROR, "nothing was recorded")


@pytest.mark.parametrize(
    ("oracle", "why"),
    [
        ((), "no trace"),
        (until(9, noted(EventKind.ABANDONED, "stuck", step=9)), "stuck"),
        (until(9), "ends after step 8"),
        (wrong(reference_trace()), "departs from the script"),
    ],
    ids=["missing", "abandoned", "cut short", "astray"],
)
def test_what_has_no_sound_measure_is_never_called_conforming(oracle: Sequence[Event], why: str) -> None:
    one = judge(script(), info(), trace(), oracle).judgement
    assert one.outcome == Outcome.INDETERMINATE
    assert why in one.reason
    assert judge(script(), info(), wrong(), oracle).judgement.outcome == Outcome.DIVERGES


def test_a_reference_is_compared_with_the_script_alone() -> None:
    reference = info("reference", spec="reference:3.9", oracle=None)
    assert judge(script(), reference, reference_trace(), None).judgement.outcome == Outcome.CONFORMS
    assert judge(script(), reference, wrong(reference_trace()), None).judgement.outcome == Outcome.DIVERGES


def test_a_checker_that_fails_is_no_pass() -> None:
    one = judged(with_event(trace(), HEARTBEAT, fields="{no json")).judgement
    assert one.outcome == Outcome.HARNESS_ERROR
    assert "decoded fields: no JSON" in one.reason


def test_answers_that_never_came_diverge_with_their_class() -> None:
    result = judged(with_event(trace(), HEARTBEAT, kind=EventKind.NO_ANSWER, fields=None, canonical=None))
    assert result.judgement.outcome == Outcome.DIVERGES
    assert result.differences[0].difference_class == DifferenceClass.LIVENESS
