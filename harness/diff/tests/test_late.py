"""An answer that comes late, and what may only follow from the wait for it."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from harness.diff.judge import Judged, judge
from harness.diff.starved import timer_run_out
from harness.scenario import Conversation, Script, ask, expect
from harness.tests.diff_traces import Fields, info, trace, with_event
from harness.trace.events import LATE, Event, EventKind
from harness.trace.starvation import Starvation
from harness.verdict import DifferenceClass, Outcome

SESSION_MS = 30_000
JOINED = 3
BEAT = 5
_NOTE = f"{LATE}clients wait 65 s"


def script(session_ms: int = SESSION_MS) -> Script:
    """One member waits, another asks, and the first sends a heartbeat."""
    conversation = Conversation()
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(version=3, member_id="", session_timeout_ms=session_ms))
    ana.receives(expect.join_group(error_code="NONE"))
    bob.sends(ask.heartbeat(version=3, member_id="b", generation_id=7))
    bob.receives(expect.heartbeat(error_code="ILLEGAL_GENERATION"))
    ana.sends(ask.heartbeat(version=3, generation_id=ana.generation_id))
    ana.receives(expect.heartbeat(error_code="NONE"))
    return Script(
        id="classic/test/late",
        title="One waits.",
        source="GroupMetadataManager#x",
        clauses=(),
        needs=(),
        broker_config={},
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
    )


def joined() -> Fields:
    return {"error_code": "NONE", "generation_id": 1, "leader": "a", "member_id": "a", "members": []}


def traced(beat: str = "NONE", *, late_ms: float = 0.0, session_ms: int = SESSION_MS) -> tuple[Event, ...]:
    """Return a trace whose answer to the second member came so late."""
    given: list[Fields | None] = [joined(), {"error_code": "ILLEGAL_GENERATION"}, {"error_code": beat}]
    events = trace(given, of=script(session_ms))
    if late_ms:
        events = with_event(events, JOINED, note=_NOTE, elapsed_ms=late_ms)
    return tuple(
        replace(event, at_ms=event.at_ms + late_ms) if event.step >= JOINED else event for event in events
    )


def judged(events: Sequence[Event], session_ms: int = SESSION_MS) -> Judged:
    return judge(script(session_ms), info(), events, traced(session_ms=session_ms))


def test_a_late_answer_is_a_difference_of_time_that_says_how_long_clients_wait() -> None:
    found = judged(traced(late_ms=15_000))
    (difference,) = found.differences
    assert difference.difference_class == DifferenceClass.TIMING
    assert (difference.expected, difference.actual) == ("an answer within 5000 ms", "a later answer")
    assert "came after 15.0 s; Kafka's comes after 120 ms; clients wait 65 s" in found.judgement.reason
    assert found.judgement.signature == judged(traced(late_ms=16_000)).judgement.signature


def test_what_comes_behind_a_late_answer_is_judged_and_an_error_code_heads_the_result() -> None:
    first, *others = judged(traced("UNKNOWN_MEMBER_ID", late_ms=15_000)).differences
    assert (first.step, first.field) == (BEAT, "error_code")
    assert [each.difference_class for each in others] == [DifferenceClass.TIMING]


def test_what_a_session_that_ran_out_during_the_wait_explains_does_not_count() -> None:
    found = judged(traced("UNKNOWN_MEMBER_ID", late_ms=35_000))
    assert [each.difference_class for each in found.differences] == [DifferenceClass.TIMING]
    assert found.judgement.outcome == Outcome.DIVERGES
    assert "ana's session of 30 s ran out meanwhile" in found.judgement.reason


def test_a_session_that_would_have_run_out_without_the_wait_excuses_nothing() -> None:
    calm = [replace(each, at_ms=each.at_ms + 40_000 if each.step else 0.0) for each in traced()]
    assert timer_run_out(script(), calm) is None
    late = [replace(each, at_ms=each.at_ms + 40_000 if each.step else 0.0) for each in traced(late_ms=15_000)]
    assert timer_run_out(script(), late) is None


@pytest.mark.parametrize(("starved_ms", "is_excused"), [(900.0, False), (11_000.0, True)])
def test_a_machine_that_was_busy_for_less_than_the_excess_excuses_no_late_answer(
    starved_ms: float,
    is_excused: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    events = traced(late_ms=15_000)
    figures = {each.name: None for each in fields(Starvation)} | {
        "starved_ms": starved_ms,
        "harness_ms": starved_ms,
    }
    stretch = replace(
        events[JOINED - 1],
        kind=EventKind.STARVED.value,
        fields=json.dumps(figures),
        at_ms=12_000.0,
        elapsed_ms=12_000.0,
        sequence=99,
    )
    late = next(at for at, each in enumerate(events) if each.step == JOINED)
    assert (judged([*events[:late], stretch, *events[late:]]).starved is not None) == is_excused
