"""Which events of two conversations stand side by side."""

from dataclasses import replace

import pytest

from harness.diff.alignment import aligned
from harness.tests.made_events import ANSWER
from harness.trace.events import Event, EventKind

REQUEST = replace(ANSWER, kind=EventKind.REQUEST.value, digest="with member ids")
POLL = replace(ANSWER, kind=EventKind.POLL.value, digest="not yet")
CLOSED = replace(ANSWER, kind=EventKind.CLOSED.value, digest=None, canonical=None)
UNASKED = replace(ANSWER, kind=EventKind.UNSOLICITED.value, digest="unasked")
STARVED = replace(
    ANSWER, kind=EventKind.STARVED.value, actor=None, connection=None, api=None, digest="starved"
)
ABANDONED = replace(STARVED, kind=EventKind.ABANDONED.value)
ELAPSED = replace(ABANDONED, kind=EventKind.ELAPSED.value, digest=None)


def conversation(*events: Event) -> tuple[Event, ...]:
    """Return events as one conversation, in their order."""
    return tuple(replace(event, sequence=place) for place, event in enumerate(events))


def sides(ours: tuple[Event, ...], theirs: tuple[Event, ...]) -> list[tuple[str | None, str | None]]:
    return [(kind(each.event), kind(each.other)) for each in aligned(ours, theirs)]


def kind(event: Event | None) -> str | None:
    return None if event is None else event.kind


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (ANSWER, replace(ANSWER, at_ms=1.0), True),
        (ANSWER, replace(ANSWER, digest="other"), False),
        (CLOSED, replace(CLOSED, kind=EventKind.SILENCE.value), False),
        (REQUEST, replace(REQUEST, digest="with other member ids"), True),
        (REQUEST, replace(REQUEST, canonical="{}"), False),
        (ELAPSED, ELAPSED, True),
    ],
    ids=["later", "another digest", "another kind", "other ids asked for", "another request", "no actor"],
)
def test_events_are_equal_by_kind_and_digest_and_requests_by_their_canonical_fields_alone(
    one: Event, other: Event, *, is_equal: bool
) -> None:
    (found,) = aligned((one,), (other,))
    assert found.is_equal is is_equal


def test_polls_and_the_requests_that_they_answer_shift_nothing() -> None:
    polled = conversation(REQUEST, POLL, REQUEST, POLL, REQUEST, ANSWER)
    rows = list(aligned(polled, conversation(REQUEST, ANSWER)))
    assert [(row.occurrence, row.answer, row.is_equal) for row in rows] == [(0, None, True), (1, 0, True)]
    assert rows[1].event == polled[-1]
    assert sides(conversation(POLL, ANSWER), conversation(ANSWER)) == [("response", "response")]


def test_what_the_sampler_of_starvation_reported_comes_last_and_shifts_nothing() -> None:
    assert sides(conversation(STARVED, ANSWER), conversation(ANSWER)) == [
        ("response", "response"),
        ("starved", None),
    ]
    assert sides(conversation(STARVED), conversation(STARVED)) == [("starved", "starved")]
    assert sides(conversation(STARVED), conversation(REQUEST)) == [(None, "request"), ("starved", None)]


def test_what_nobody_asked_for_shifts_no_answer() -> None:
    assert sides(conversation(UNASKED, ANSWER), conversation(ANSWER)) == [
        ("unsolicited", None),
        ("response", "response"),
    ]


def test_answers_stand_beside_answers_where_one_side_could_not_even_ask() -> None:
    ours, theirs = conversation(CLOSED), conversation(REQUEST, ANSWER)
    assert sides(ours, theirs) == [(None, "request"), ("closed", "response")]
    assert sides(theirs, ours) == [("request", None), ("response", "closed")]


def test_what_only_one_side_did_stands_alone_at_its_step() -> None:
    later = replace(ANSWER, step=1)
    rows = list(aligned(conversation(ANSWER), conversation(later)))
    assert [(row.step, row.event is None, row.other is None, row.is_equal) for row in rows] == [
        (0, False, True, False),
        (1, True, False, False),
    ]


def test_different_connections_of_an_actor_do_not() -> None:
    assert len(list(aligned(conversation(ANSWER), conversation(replace(ANSWER, connection="aside"))))) == 2
    assert sides(conversation(ABANDONED), conversation(ANSWER)) == [("abandoned", None), (None, "response")]


def test_events_that_came_the_other_way_round_are_paired_all_the_same() -> None:
    ana, bob = ANSWER, replace(ANSWER, actor="bob", kind=EventKind.CONTROL.value)
    rows = list(aligned(conversation(ana, bob), conversation(bob, ana)))
    assert len(rows) == 2
    assert all(row.is_equal for row in rows)


def test_steps_come_in_their_order_and_each_place_is_there_once() -> None:
    events = conversation(*(replace(ANSWER, step=step) for step in (2, 0, -1, 0)))
    assert [(row.step, row.occurrence) for row in aligned(events, ())] == [(-1, 0), (0, 0), (0, 1), (2, 0)]
