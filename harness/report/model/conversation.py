"""The content of a scenario's view, and its conversations as data that it renders when opened.

Most conversations conform and nobody opens them, so a script renders those that are opened. What several
targets share is stored once by the site, and so is here the conversation of a reference that is the left side
of a target's.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import isnan
from typing import Final, NamedTuple

from harness.apis.table import descriptor
from harness.diff.alignment import AlignedEvents
from harness.diff.model import Difference, Judgement
from harness.report.model.field_rows import FieldRow, Mark, aligned_fields, flat_fields
from harness.report.model.phrases import (
    contrasted,
    css_name,
    first_difference_anchor,
    place,
)
from harness.report.model.run_data import PageLimit, Run, ScriptPage
from harness.results.status import NEEDS_ATTENTION, status_of
from harness.trace.canonical import Json, canonical_json, error_codes_in
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError, json_object, parsed_json

FLOW_LENGTH_MAX: Final = 260
"""Fields that are equal on both sides and together not longer than this flow in one paragraph."""

ARROWS: Final = {
    EventKind.REQUEST: "→",
    EventKind.RESPONSE: "←",
    EventKind.MALFORMED: "↚",
    EventKind.UNSOLICITED: "⇠",
    EventKind.NO_ANSWER: "∅",
    EventKind.SILENCE: "⋯",
    EventKind.CLOSED: "⊘",
    EventKind.DISCONNECTED: "⊗",
    EventKind.ELAPSED: "◷",
    EventKind.CONTROL: "↻",
    EventKind.STARVED: "⧖",
    EventKind.ABANDONED: "■",
    EventKind.NOT_APPLICABLE: "—",
    EventKind.HARNESS_ERROR: "!",
}


class EventCell(NamedTuple):
    """One event on one side."""

    kind: str
    headline: str
    at: str
    elapsed: str
    note: str
    raw: str
    """The frame's hexadecimal digits; empty if nothing was on the wire."""
    decoded: str
    """The fields as received, JSON, if they differ from the canonical ones."""


class DifferenceText(NamedTuple):
    """One difference in words."""

    place: str
    difference_class: str
    against: str
    expected: str
    actual: str
    is_first: bool
    is_lenient: bool
    signature: str


class EventRow(NamedTuple):
    """One event on both sides, in the form that `static/site.js` reads."""

    oracle: EventCell | None
    target: EventCell | None
    is_different: bool
    is_kind_different: bool
    is_flowing: bool
    """Whether the fields may flow in one paragraph."""
    fields: tuple[FieldRow, ...]
    findings: Sequence[DifferenceText]
    """The differences to show above the event."""
    actor: str
    api: str
    """The API with its version; empty if the event has no API."""


class StepRows(NamedTuple):
    """One step of the script and its events."""

    step: int
    rows: Sequence[EventRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSection:
    """One scenario on one target."""

    judgement: Judgement
    urgency: int
    """0 if the result needs attention, 1 if it has other differences, else 2."""
    finding: DifferenceText | None
    before: Sequence[StepRows]
    """The steps before the first difference; empty if there is none."""
    after: Sequence[StepRows]
    lender: str | None
    """The target whose left side is this conversation; None if it is stored for itself."""


def target_sections(run: Run, scenario_id: str, judgements: Sequence[Judgement]) -> tuple[TargetSection, ...]:
    """Return the sections of one scenario, one for each target that it was run on; references come last."""
    rows = run.steps.of_scenario(scenario_id)
    lenders = _lenders(run, rows)
    return tuple(
        _section(run, judgement, rows.get(judgement.target, ()), lenders)
        for judgement in sorted(judgements, key=lambda each: each.target in run.references)
    )


def _lenders(run: Run, rows: Mapping[str, Sequence[AlignedEvents]]) -> Mapping[str, str]:
    """Return, for each oracle, a target whose left side is the whole of the oracle's own conversation."""
    own = {name: [each.event.sequence for each in of if each.event] for name, of in rows.items()}
    found: dict[str, str] = {}
    for target, of in rows.items():
        oracle = run.by_target[target].oracle
        left = [each.other.sequence for each in of if each.other]
        if oracle is not None and of and left == own.get(oracle):
            found.setdefault(oracle, target)
    return found


def steps_without_script(
    rows: Sequence[AlignedEvents], differences: Sequence[Difference] = ()
) -> Sequence[StepRows]:
    """Return the steps of a conversation that has no script."""
    return list(_steps(rows, differences, is_compared=bool(differences), is_whole=bool(differences)))


def _section(
    run: Run, judgement: Judgement, rows: Sequence[AlignedEvents], lenders: Mapping[str, str]
) -> TargetSection:
    differences = run.differences.get((judgement.target, judgement.scenario_id), ())
    is_whole = bool(differences) or judgement.target in lenders.values()
    is_compared = judgement.oracle is not None
    first = next((each for each in differences if each.ordinal == 0), None)
    how = status_of(judgement)
    borrows = not differences and judgement.attempt == 1 and how not in NEEDS_ATTENTION
    lender = lenders.get(judgement.target) if borrows else None
    steps = () if lender else tuple(_steps(rows, differences, is_compared=is_compared, is_whole=is_whole))
    return TargetSection(
        judgement=judgement,
        urgency=0 if how in NEEDS_ATTENTION else 1 if differences else 2,
        finding=_finding(first) if first else None,
        before=[step for step in steps if first and 0 <= step.step < first.step],
        after=[step for step in steps if not (first and 0 <= step.step < first.step)],
        lender=lender,
    )


def _finding(difference: Difference) -> DifferenceText:
    expected, actual = contrasted(difference)
    return DifferenceText(
        place=place(difference),
        difference_class=difference.difference_class,
        against=difference.against,
        expected=expected,
        actual=actual,
        is_first=difference.ordinal == 0,
        is_lenient=difference.is_lenient,
        signature=difference.signature,
    )


def _steps(
    rows: Sequence[AlignedEvents], recorded: Sequence[Difference], *, is_compared: bool, is_whole: bool
) -> Iterable[StepRows]:
    """Yield the steps of a conversation, with the oracle's bytes if `is_whole`.

    If it was not compared with an oracle, which is on the left, both sides are the conversation.
    """
    by_step = {index: _longest_starved([*some]) for index, some in groupby(rows, key=lambda row: row.step)}
    for index in (*by_step, *sorted({each.step for each in recorded} - by_step.keys())):
        here = [each for each in recorded if each.step == index]
        events = _events(by_step.get(index, ()), here, is_compared=is_compared, is_whole=is_whole)
        yield StepRows(index, list(events))


def _longest_starved(rows: Sequence[AlignedEvents]) -> Sequence[AlignedEvents]:
    """Return a step's rows with only the longest of its starved stretches: a long wait has hundreds."""
    starved = [row for row in rows if row.known.kind == EventKind.STARVED]
    longest = max(starved, key=lambda row: _figures(row.known).get("starved_ms", 0.0), default=None)
    return [row for row in rows if row is longest or row.known.kind != EventKind.STARVED]


def _figures(starved: Event) -> Mapping[str, float]:
    """Return the figures of a starved stretch that could be taken."""
    figures = json_object(starved.fields or "{}", where="the figures of a starved stretch")
    return {name: value for name, value in figures.items() if value is not None}


def _events(
    rows: Sequence[AlignedEvents], differences: Sequence[Difference], *, is_compared: bool, is_whole: bool
) -> Iterable[EventRow]:
    """Yield a step's events, each with the differences that are about it.

    Differences about a missing event of the target are shown beside the oracle's event, if there is one.
    """
    about: dict[int, list[Difference]] = {row.event.sequence: [] for row in rows if row.event}
    lacking: list[Difference] = []
    for each in differences:
        about.get(each.event_sequence, lacking).append(each)
    for row in rows:
        if row.event is None:
            here, lacking = lacking, []
        else:
            here = about[row.event.sequence]
        yield _event(row, here, is_compared=is_compared, is_whole=is_whole)
    if lacking:
        findings = [_finding(each) for each in lacking]
        yield EventRow(None, None, True, False, False, (), findings, "", "")  # noqa: FBT003 - it is a row


def _event(
    row: AlignedEvents, differences: Sequence[Difference], *, is_compared: bool, is_whole: bool
) -> EventRow:
    oracle, target = row.other, row.event
    marks = tuple(
        (each.field, Mark.LENIENT if each.is_lenient else Mark.DIFFERS) for each in differences if each.field
    )
    left, right = _shown(oracle if is_compared else target), _shown(target)
    flat = flat_fields(left, right)
    is_flowing = not marks and _flows(row, flat)
    return EventRow(
        actor=row.known.actor or "",
        api=_api(row.known),
        oracle=_cell(oracle if is_whole else replace(oracle, raw=None)) if oracle else None,
        target=_cell(target) if target else None,
        is_different=bool(differences),
        is_kind_different=is_compared and (oracle and oracle.kind) != (target and target.kind),
        is_flowing=is_flowing,
        fields=flat if is_flowing else aligned_fields(left, right, marks),
        findings=[_finding(each) for each in differences],
    )


def _flows(row: AlignedEvents, fields: Iterable[FieldRow]) -> bool:
    """Return whether an event's fields may flow: a request's, as the script has them, and few equal ones."""
    if EventKind.REQUEST in [each.kind for each in (row.event, row.other) if each]:
        return True
    length = sum(len(field.key) + len(field.target or "") for field in fields)
    return length <= FLOW_LENGTH_MAX and all(field.oracle == field.target for field in fields)


def _shown(side: Event | None) -> str | None:
    """Return the canonical fields, which are compared, or else the fields as received."""
    if side is None or side.kind != EventKind.STARVED:
        return (side.canonical or side.fields) if side else None
    return canonical_json({**_figures(side)})


def _cell(side: Event) -> EventCell:
    raw = side.raw or ""
    is_message = side.kind in {EventKind.REQUEST, EventKind.RESPONSE}
    kind = "" if is_message else f"{side.kind}:"
    return EventCell(
        headline=" ".join(word for word in (side.actor, kind, _api(side)) if word).removesuffix(":"),
        kind=css_name(side.kind),
        at="" if isnan(side.at_ms) else f"{side.at_ms:.1f}",
        elapsed="" if side.elapsed_ms is None else f"{side.elapsed_ms:.1f}",
        note=side.note or "",
        raw=raw,
        decoded=side.fields if raw and side.fields and side.fields != side.canonical else "",
    )


def _api(event: Event) -> str:
    return f"{event.api} v{event.api_version}" if event.api else ""


@lru_cache(maxsize=4096)
def indented(text: str) -> str:
    """Return JSON text indented over several lines; text that is not JSON is returned unchanged."""
    try:
        return json.dumps(parsed_json(text, where="fields"), indent=2, ensure_ascii=False)
    except TraceError:
        return text


_Data = dict[str, Json]


def conversation_data(sections: Iterable[TargetSection], script: ScriptPage | None, source: Json) -> _Data:
    """Return the conversations of a scenario, by target, for `static/site.js`, with its script as stored."""
    return {
        "script": source,
        "texts": [step.text for step in script.steps] if script else [],
        "targets": {section.judgement.target: _of_section(section) for section in sections},
    }


def _of_section(section: TargetSection) -> _Data:
    if section.lender is not None:
        return {"like": section.lender}
    return {
        "oracle": section.judgement.oracle,
        "first": first_difference_anchor(section.judgement.target),
        "before": section.before,
        "after": section.after,
    }


def lone_conversation_data(
    name: str,
    steps: Sequence[StepRows],
    *,
    texts: Sequence[str] | Mapping[int, str] = (),
    further: _Data | None = None,
) -> _Data:
    """Return the conversation of a name for `static/site.js`, without an oracle unless `further` names one.

    The texts are those of the script's steps, in order or by number. Further values are `seen` for
    `static/site.js`, `left_out` in words, and the `oracle`.
    """
    return {
        "script": None,
        "texts": {str(at): text for at, text in texts.items()} if isinstance(texts, Mapping) else texts,
        "targets": {name: {"oracle": None, "first": "", "before": [], "after": steps, **(further or {})}},
    }


NO_ERROR: Final = "NONE"
_UNREADABLE: Final = "unreadable"
EVENT_COUNT_MAX: Final = 3_000
"""The number of events of a conversation that a page shows; the trace has all."""


def heard(events: Iterable[Event]) -> tuple[tuple[Event, ...], str]:
    """Return the events that a page shows, and a sentence on what is left out."""
    everything = tuple(events)
    small_conversation = {
        (event.connection, event.correlation_id, event.api)
        for event in everything
        if event.kind == EventKind.RESPONSE
        and descriptor(event.api).is_frequent
        and all(code == NO_ERROR for code in error_codes(event))
    }
    reported = [
        each
        for each in everything
        if (each.connection, each.correlation_id, each.api) not in small_conversation
    ]
    left_out = Counter(str(api) for _, _, api in small_conversation)
    parts = [f"{count} {api}" for api, count in sorted(left_out.items())]
    words = f"Left out, since they were answered without an error: {', '.join(parts)}." if parts else ""
    if len(reported) > EVENT_COUNT_MAX:
        words += f" The first {EVENT_COUNT_MAX} of {len(reported)} other events."
    return tuple(reported[:EVENT_COUNT_MAX]), words.strip()


def error_codes(event: Event) -> tuple[str, ...]:
    """Return the distinct error codes of an answer, at top level and within it."""
    try:
        fields = parsed_json(event.fields or "null", where="fields")
    except TraceError:
        return (_UNREADABLE,)
    return tuple(dict.fromkeys(error_codes_in(fields)))


def steps_of(events: Sequence[Event], step_at: Callable[[float], int]) -> Sequence[StepRows]:
    """Return events as steps: each event belongs to the script's step during which it occurred.

    The events are in chronological order; `step_at` is -1 for a time that belongs to no step.
    """
    rows = (
        AlignedEvents(step=step_at(event.at_ms), occurrence=place, answer=None, event=event, other=None)
        for place, event in enumerate(events)
    )
    return steps_without_script(list(PageLimit().within(rows)))
