"""What a machine that keeps somebody from running leaves open, and what is red all the same."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from harness.diff.check import Precedents, TargetTrace, judge_attempts, set_against
from harness.diff.compare import Departures
from harness.diff.judge import Judged, judge
from harness.diff.model import Judgement
from harness.scenario.script import SeeClosed
from harness.tests.diff_traces import info, reference_trace, script, spoilt, trace, with_event
from harness.trace.events import Event, EventKind
from harness.trace.schema import to_json
from harness.trace.starvation import Starvation
from harness.verdict import Confirmation, Outcome

HEARTBEAT = 10


def starved(end_ms: float, *, broker_ms: float = 0.0, harness_ms: float = 0.0) -> Event:
    """Return a stretch of a second in which the machine kept somebody from running."""
    figures = Starvation(
        starved_ms=broker_ms + harness_ms, harness_ms=harness_ms, run_queue_ms=broker_ms, stopped_ms=0.0
    )
    return replace(
        trace()[0],
        kind=EventKind.STARVED.value,
        step=HEARTBEAT,
        at_ms=end_ms,
        elapsed_ms=1000.0,
        fields=to_json(figures),
        canonical=None,
        note=figures.words(),
    )


WRONG = spoilt(trace(), HEARTBEAT, lambda fields: fields.update(error_code="UNKNOWN_MEMBER_ID"))
WRONG_MS = max(each.at_ms for each in WRONG if each.step == HEARTBEAT)
BUSY = starved(WRONG_MS, broker_ms=200, harness_ms=30)


def judged(events: Sequence[Event]) -> Judged:
    return judge(script(), info(), events, reference_trace())


def test_a_difference_after_a_starved_stretch_is_open_and_says_who_was_starved() -> None:
    one = judged((*WRONG, BUSY))
    assert one.starved == (
        "starved: step 10 (ana receives Heartbeat v4, error_code 'REBALANCE_IN_PROGRESS'): error_code is "
        '"UNKNOWN_MEMBER_ID", expected "REBALANCE_IN_PROGRESS"; the machine kept the broker from running for '
        "200 ms, the harness for 30 ms"
    )


@pytest.mark.parametrize(
    "events",
    [
        WRONG,
        (*WRONG, starved(WRONG_MS, broker_ms=40)),
        (*WRONG, starved(WRONG_MS + 1001, broker_ms=900)),
        (*with_event(trace(), HEARTBEAT, reencodes=False), BUSY),
    ],
    ids=["a quiet machine", "hardly starved", "starved afterwards", "bytes that no slow broker sends"],
)
def test_what_no_starvation_accounts_for_is_a_difference(events: Sequence[Event]) -> None:
    one = judged(events)
    assert (one.judgement.outcome, one.starved) == (Outcome.DIVERGES, None)


def test_a_frame_where_the_connection_was_to_be_closed_may_be_late() -> None:
    end = len(script().steps)
    closing = replace(
        script(), steps=(*script().steps, SeeClosed(actor="ana", connection="main", within_ms=1))
    )
    stray = replace(trace()[-1], sequence=999, step=end, kind=EventKind.UNSOLICITED.value, canonical=None)
    one = judge(closing, info(), (*trace(), stray, starved(stray.at_ms, broker_ms=200)), None)
    assert one.starved is not None


def test_of_a_broker_out_of_sight_the_reason_says_so() -> None:
    figures = Starvation(starved_ms=300.0, harness_ms=300.0, stopped_ms=None)
    one = judged((*WRONG, replace(BUSY, fields=to_json(figures))))
    assert one.starved is not None
    assert one.starved.endswith(
        "the machine kept the harness from running for 300 ms (the broker cannot be measured from here)"
    )


def test_what_the_witness_says_is_never_compared() -> None:
    reported = tuple(each for event in trace() for each in (event, replace(BUSY, step=event.step)))
    assert judged(reported).judgement.outcome == Outcome.CONFORMS


def result(*attempts: Sequence[Event]) -> Judgement:
    first, *others = attempts
    scenario = script().id
    of_target = TargetTrace(info=info(), events={scenario: first}, repeats={scenario: others})
    oracle = TargetTrace(info=info(), events={scenario: reference_trace()})
    found = judge_attempts(script(), of_target, oracle, Departures())
    checked = set_against([found], {info().target: info()}, Precedents(today=date(2026, 11, 28)))
    return checked.judgements[0]


@pytest.mark.parametrize(
    ("attempts", "outcome", "confirmation"),
    [
        ([(*WRONG, BUSY)], Outcome.INDETERMINATE, Confirmation.NOT_REPEATED),
        ([(*WRONG, BUSY), WRONG], Outcome.DIVERGES, Confirmation.CONFIRMED),
        ([(*WRONG, BUSY), trace()], Outcome.CONFORMS, Confirmation.CLEARED),
        ([(*WRONG, BUSY), (*WRONG, BUSY)], Outcome.INDETERMINATE, Confirmation.CONFIRMED),
        ([WRONG, trace()], Outcome.DIVERGES, Confirmation.FLAKY),
    ],
    ids=["once", "again in calm", "not again", "again and starved again", "only in calm"],
)
def test_what_shows_again_in_calm_is_never_excused(
    attempts: Sequence[Sequence[Event]], outcome: Outcome, confirmation: Confirmation
) -> None:
    found = result(*attempts)
    assert (found.outcome, found.confirmation) == (outcome, confirmation)


JOINED = 7
"""ana's answer is due within 3000 ms of her request."""


@pytest.mark.parametrize(("took_ms", "starved_ms", "is_open"), [(3400, 300, False), (3400, 500, True)])
def test_an_answer_is_late_by_no_more_than_the_machine_took(
    took_ms: float, starved_ms: float, *, is_open: bool
) -> None:
    late = with_event(trace(), JOINED, elapsed_ms=took_ms)
    at_ms = max(each.at_ms for each in late if each.step == JOINED)
    reported = replace(starved(at_ms, broker_ms=starved_ms), step=JOINED)
    assert (judged((*late, reported)).starved is not None) is is_open


@pytest.mark.parametrize(("starved_ms", "is_open"), [(2000, False), (3000, True)])
def test_a_silence_is_open_if_the_machine_took_most_of_it(starved_ms: float, *, is_open: bool) -> None:
    given_up = {"kind": EventKind.NO_ANSWER.value, "canonical": None, "fields": None, "digest": "none"}
    silent = with_event(trace(), HEARTBEAT, elapsed_ms=5000.0, at_ms=9000.0, **given_up)
    reported = replace(starved(9000.0, broker_ms=starved_ms), elapsed_ms=5000.0)
    assert (judged((*silent, reported)).starved is not None) is is_open
