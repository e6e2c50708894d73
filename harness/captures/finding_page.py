"""A finding's conversation as data for its page: the broker's answers beside those of the reference."""

from collections.abc import Iterable, Iterator
from math import inf
from typing import Final

from harness.captures.excerpts import Excerpt, Said
from harness.captures.likeness import likeness, signature_of
from harness.diff.model import Difference
from harness.diff.raw_difference import field_class
from harness.report.model.conversation import steps_without_script
from harness.report.model.conversation_data import lone_conversation_data
from harness.report.model.page_limit import PageLimit, shortened
from harness.spark.rows import AlignedStep
from harness.trace.events import EventKind
from harness.verdict import DifferenceClass

BROKER: Final = "broker"
"""The target name under which the page shows the conversation."""
_IN_WORDS: Final = {
    EventKind.SILENCE: "no answer yet",
    EventKind.NO_ANSWER: "no answer in the recording",
}


def conversation_of_finding(excerpt: Excerpt, *, oracle: str) -> dict[str, object]:
    """Return the conversation around a finding for `static/talk.js`.

    Args:
        excerpt: the finding with the exchanges around it.
        oracle: the name of the reference.
    """
    rows = [row for said in excerpt.said for row in _rows(said, excerpt, oracle)]
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


def _rows(said: Said, excerpt: Excerpt, oracle: str) -> Iterator[AlignedStep]:
    request = (EventKind.REQUEST, said.request, said.request, "" if said.request else "cannot be read whole")
    yield _row(said, oracle, 0, theirs=request, ours=request)
    if said.answered_ms == inf:
        silence = (EventKind.NO_ANSWER, None, None, _IN_WORDS[EventKind.NO_ANSWER])
        yield _row(said, oracle, 1, theirs=silence, ours=silence)
        return
    note = "" if said.answer else "cannot be read whole"
    theirs = (EventKind.RESPONSE, said.answer, said.compared or said.answer, note)
    ours: _Side = (EventKind.RESPONSE, said.expected, said.expected, "")
    if said.compared is None:
        ours = (EventKind.RESPONSE, None, None, "not compared")
    elif said.expected is None:
        ours = (EventKind.SILENCE, None, None, _IN_WORDS[EventKind.SILENCE])
    yield _row(
        said, oracle, 1, theirs=theirs, ours=ours, is_different=said.number == excerpt.finding.position
    )


_Side = tuple[EventKind, str | None, str | None, str]
"""The kind of an event, its fields as received, its fields as compared, and a note."""


def _row(
    said: Said, oracle: str, occurrence: int, *, theirs: _Side, ours: _Side, is_different: bool = False
) -> AlignedStep:
    is_answer = occurrence == 1
    at_ms = said.answered_ms if is_answer and said.answered_ms != inf else said.asked_ms
    raw = said.answer_raw if is_answer else said.request_raw
    return AlignedStep(
        run_id="",
        target=BROKER,
        oracle=oracle,
        scenario_id="",
        step=said.number,
        occurrence=occurrence,
        answer=0 if is_answer else None,
        actor=said.actor,
        api=said.api,
        api_version=said.api_version,
        oracle_sequence=None,
        oracle_kind=ours[0],
        oracle_at_ms=None,
        oracle_elapsed_ms=None,
        oracle_raw=None,
        oracle_fields=ours[1],
        oracle_canonical=ours[2],
        oracle_digest=None,
        oracle_note=ours[3],
        target_sequence=2 * said.number + occurrence,
        target_kind=theirs[0],
        target_at_ms=at_ms,
        target_elapsed_ms=at_ms - said.asked_ms if is_answer and said.answered_ms != inf else None,
        target_raw=raw or None,
        target_fields=theirs[1],
        target_canonical=theirs[2],
        target_digest=None,
        target_note=theirs[3],
        is_different=is_different,
    )


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
            is_lenient=False,
            event_sequence=2 * finding.position + 1,
        )
