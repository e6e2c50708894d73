"""A finding's conversation as data for its page: the broker's answers beside those of the reference."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf, nan
from typing import Final

from harness.captures.excerpts import Excerpt, Said, likeness, signature_of
from harness.diff.alignment import AlignedEvents
from harness.diff.model import Difference
from harness.diff.raw_difference import field_class
from harness.report.model.conversation import steps_without_script
from harness.report.model.conversation_data import lone_conversation_data
from harness.report.model.steps import PageLimit, shortened
from harness.trace.canonical import Json
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass

BROKER: Final = "broker"
"""The target name under which the page shows the conversation."""
_IN_WORDS: Final = {
    EventKind.SILENCE: "no answer yet",
    EventKind.NO_ANSWER: "no answer in the recording",
}


def conversation_of_finding(excerpt: Excerpt, *, oracle: str) -> Mapping[str, Json]:
    """Return the conversation around a finding for `static/site.js`.

    Args:
        excerpt: the finding with the exchanges around it.
        oracle: the name of the reference.
    """
    rows = [row for said in excerpt.said for row in _rows(said)]
    differences = [shortened(each) for each in _differences(excerpt)]
    counts = ", ".join(f"{count} {api}" for api, count in sorted(excerpt.left_out.items()))
    left_out = f"Left out, on other connections and answered without an error: {counts}." if counts else ""
    return lone_conversation_data(
        BROKER,
        steps_without_script(list(PageLimit().within(rows)), differences),
        texts={each.number: _title(each) for each in excerpt.said},
        further={
            "oracle": oracle,
            "title": "the broker",
            "first": f"first-difference-{BROKER}",
            "left_out": left_out,
        },
    )


def _title(said: Said) -> str:
    by = " · ".join(each for each in (said.actor, said.client) if each)
    return f"{said.api} v{said.api_version} · {by or 'unknown client'} · {said.connection}"


def _rows(said: Said) -> Iterator[AlignedEvents]:
    request = _event(said, EventKind.REQUEST, said.request, said.request, _unless(said.request))
    yield AlignedEvents(step=said.number, occurrence=0, answer=None, event=request, other=_untimed(request))
    if said.answered_ms == inf:
        theirs = _event(said, EventKind.NO_ANSWER, None, None, _IN_WORDS[EventKind.NO_ANSWER])
        ours = theirs
    else:
        answer = said.compared or said.answer
        theirs = _event(said, EventKind.RESPONSE, said.answer, answer, _unless(said.answer))
        ours = _event(said, EventKind.RESPONSE, said.expected, said.expected, "")
        if said.compared is None:
            ours = _event(said, EventKind.RESPONSE, None, None, "not compared")
        elif said.expected is None:
            ours = _event(said, EventKind.SILENCE, None, None, _IN_WORDS[EventKind.SILENCE])
    yield AlignedEvents(step=said.number, occurrence=1, answer=0, event=theirs, other=_untimed(ours))


def _unless(text: str | None) -> str:
    return "" if text else "cannot be read whole"


def _event(said: Said, kind: EventKind, fields: str | None, canonical: str | None, note: str) -> Event:
    """Return what the broker got or sent: its fields as received, and as compared."""
    is_answer = kind != EventKind.REQUEST
    is_timed = is_answer and said.answered_ms != inf
    at_ms = said.answered_ms if is_timed else said.asked_ms
    return Event(
        run_id="",
        target=BROKER,
        scenario_id="",
        sequence=2 * said.number + is_answer,
        step=said.number,
        kind=kind,
        actor=said.actor,
        connection=said.connection,
        api=said.api,
        api_version=said.api_version,
        correlation_id=None,
        at_ms=at_ms,
        elapsed_ms=at_ms - said.asked_ms if is_timed else None,
        raw=(said.answer_raw if is_answer else said.request_raw) or None,
        fields=fields,
        canonical=canonical,
        digest=None,
        reencodes=None,
        permitted=None,
        note=note,
    )


def _untimed(event: Event) -> Event:
    """Return an event of the reference, whose time and bytes say nothing about the broker."""
    return replace(event, at_ms=nan, elapsed_ms=None, raw=None)


def _differences(excerpt: Excerpt) -> Iterable[Difference]:
    finding = excerpt.finding
    for ordinal, unlike in enumerate(excerpt.unlike):
        if unlike.field:
            kind = field_class(unlike.field, presence_differs="null" in (unlike.expected, unlike.actual))
        else:
            is_early = unlike.expected == _IN_WORDS[EventKind.SILENCE]
            kind = DifferenceClass.ORDERING if is_early else DifferenceClass.LIVENESS
        yield Difference(
            run_id="",
            target=BROKER,
            scenario_id="",
            ordinal=ordinal,
            is_consequence=ordinal > 0,
            against="reference",
            step=finding.position,
            api=finding.api,
            api_version=finding.api_version,
            difference_class=kind,
            field=unlike.field or None,
            expected=unlike.expected,
            actual=unlike.actual,
            signature=signature_of(likeness(finding)),
            cause="",
            is_lenient=False,
            event_sequence=2 * finding.position + 1,
        )
