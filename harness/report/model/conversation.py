"""The content of a scenario's page, as values that a template can render."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Final

from harness.diff.model import Attempt, Difference, Judgement
from harness.report.model.contrasts import contrasted
from harness.report.model.field_rows import FieldRow, Mark, aligned_fields, flat_fields
from harness.report.model.history import History
from harness.report.model.names import css_name, first_difference_anchor, target_anchor
from harness.report.model.phrases import GLYPHS, disagreement, expectation_entry, place
from harness.report.model.run_data import Run, ScriptPage, times_in
from harness.report.model.tables import AlignedAnswer, oracle_side, target_side
from harness.results.answer_impact import impact_of
from harness.results.status import NEEDS_ATTENTION, ResultStatus, mark, shown, status_of
from harness.spark.rows import AlignedStep, TargetSummary
from harness.trace.canonical import canonical_json
from harness.trace.events import EventKind
from harness.trace.schema import TraceError, parsed_json
from harness.verdict import Outcome

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCell:
    """One event on one side."""

    headline: str
    kind: str
    at: str
    elapsed: str
    note: str
    raw: str
    """The frame's hexadecimal digits; empty if nothing was on the wire."""
    decoded: str
    """The fields as received, JSON, if they differ from the canonical ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceText:
    """One difference in words."""

    place: str
    difference_class: str
    against: str
    expected: str
    actual: str
    signature: str
    is_first: bool
    is_lenient: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event on both sides."""

    actor: str
    api: str
    """The API with its version; empty if the event has no API."""
    oracle: EventCell | None
    target: EventCell | None
    is_different: bool
    is_kind_different: bool
    is_flowing: bool
    """Whether the fields may flow in one paragraph."""
    fields: tuple[FieldRow, ...]
    findings: tuple[DifferenceText, ...]
    """The differences to show above the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRows:
    """One step of the script and its events."""

    index: int
    text: str
    rows: tuple[EventRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSection:
    """One scenario on one target."""

    judgement: Judgement
    summary: TargetSummary
    glyph: str
    outcome: str
    expectation: str
    status: ResultStatus
    needs_attention: bool
    is_open: bool
    urgency: int
    """0 if the result needs attention, 1 if it has other differences, else 2."""
    anchor: str
    first_difference_anchor: str
    finding: DifferenceText | None
    noticed: str
    """What a client would notice of the finding; empty if that is not known, or if there is no finding."""
    before: tuple[StepRows, ...]
    """The steps before the first difference; empty if there is none."""
    after: tuple[StepRows, ...]
    reproduction: str
    history: str
    """The results in the archive's runs, one code each, the oldest first; empty if there are none."""
    entry: str
    """A TOML entry that would make the result expected; empty if none is needed."""
    advice: str
    """What to do instead of writing an entry; empty if an entry is appropriate."""
    shown: str
    """How often the result occurred; empty if it did not have to be confirmed."""
    attempts: tuple[Attempt, ...]
    """All attempts, if there were several."""


def target_sections(
    run: Run, scenario_id: str, judgements: Sequence[Judgement], history: History
) -> tuple[TargetSection, ...]:
    """Return the sections of one scenario, one for each target that it was run on; references come last."""
    rows = run.steps.of_scenario(scenario_id)
    return tuple(
        _section(run, judgement, rows.get(judgement.target, ()), history)
        for judgement in sorted(judgements, key=lambda each: each.target in run.references)
    )


def steps_without_script(
    rows: Sequence[AlignedStep], differences: Iterable[Difference] = ()
) -> tuple[StepRows, ...]:
    """Return the steps of a conversation that has no script."""
    return tuple(_steps(rows, differences, None))


def _section(run: Run, judgement: Judgement, rows: Sequence[AlignedStep], history: History) -> TargetSection:
    differences = run.differences.get((judgement.target, judgement.scenario_id), ())
    summary = run.target(judgement.target)
    steps = tuple(_steps(rows, differences, run.scripts.get(judgement.scenario_id)))
    first = next((each for each in differences if each.ordinal == 0), None)
    how = status_of(judgement)
    advice = disagreement(judgement) if judgement.outcome == Outcome.DIVERGES else ""
    return TargetSection(
        judgement=judgement,
        summary=summary,
        glyph=GLYPHS[Outcome(judgement.outcome)],
        outcome=css_name(judgement.outcome),
        expectation=css_name(mark(judgement)),
        status=how,
        needs_attention=how in NEEDS_ATTENTION,
        is_open=how is not ResultStatus.PASSED or bool(differences),
        urgency=0 if how in NEEDS_ATTENTION else 1 if differences else 2,
        anchor=target_anchor(judgement.target),
        first_difference_anchor=first_difference_anchor(judgement.target),
        finding=_finding(first, rows) if first else None,
        noticed=impact_of(first) if first else "",
        before=tuple(step for step in steps if first and 0 <= step.index < first.step),
        after=tuple(step for step in steps if not (first and 0 <= step.index < first.step)),
        reproduction=run.repetition(judgement),
        history=history.codes(judgement),
        entry=expectation_entry(judgement, summary) if how in _MAY_BE_FORESEEN and not advice else "",
        advice=advice,
        shown=shown(judgement),
        attempts=run.attempts.get((judgement.target, judgement.scenario_id), ()),
    )


_MAY_BE_FORESEEN: Final = (ResultStatus.FAILED, ResultStatus.INDETERMINATE, ResultStatus.FLAKY)


def _finding(difference: Difference, rows: Iterable[AlignedStep]) -> DifferenceText:
    expected, actual = contrasted(difference, times_in(rows, difference))
    return DifferenceText(
        place=place(difference),
        difference_class=difference.difference_class,
        against=difference.against,
        expected=expected,
        actual=actual,
        signature=difference.signature,
        is_first=difference.ordinal == 0,
        is_lenient=difference.is_lenient,
    )


def _steps(
    rows: Sequence[AlignedStep], differences: Iterable[Difference], script: ScriptPage | None
) -> Iterable[StepRows]:
    texts = [step.text for step in script.steps] if script else []
    recorded = tuple(differences)
    by_step = {index: tuple(members) for index, members in groupby(rows, key=lambda row: row.step)}
    for index in (*by_step, *sorted({each.step for each in recorded} - by_step.keys())):
        text = texts[index] if 0 <= index < len(texts) else ""
        here = [each for each in recorded if each.step == index]
        laid_out = _events(by_step.get(index, ()), here, differing=bool(recorded))
        yield StepRows(index=index, text=text, rows=tuple(laid_out))


def _bare(findings: tuple[DifferenceText, ...]) -> EventRow:
    """Return a row for differences without an event on either side."""
    return EventRow(
        actor="",
        api="",
        oracle=None,
        target=None,
        is_different=True,
        is_kind_different=False,
        is_flowing=False,
        fields=(),
        findings=findings,
    )


def _events(
    rows: Sequence[AlignedStep], differences: Sequence[Difference], *, differing: bool
) -> Iterable[EventRow]:
    """Yield a step's events, each with the differences that are about it.

    Differences about a missing event of the target are shown beside the oracle's event, if there is one.
    """
    about: dict[int | None, list[Difference]] = {row.target_sequence: [] for row in rows}
    lacking: list[Difference] = []
    for each in differences:
        about.get(each.event_sequence, lacking).append(each)
    for row in rows:
        if row.target_sequence is None:
            here, lacking = lacking, []
        else:
            here = about[row.target_sequence]
        yield _event(row, here, differing=differing)
    if lacking:
        yield _bare(tuple(_finding(each, rows) for each in lacking))


def _event(row: AlignedStep, differences: Sequence[Difference], *, differing: bool) -> EventRow:
    """Return one event's row; if nothing differs, the oracle's bytes are only in its own section."""
    oracle, target = oracle_side(row), target_side(row)
    marks = {
        each.field: Mark.LENIENT if each.is_lenient else Mark.DIFFERS for each in differences if each.field
    }
    left, right = _shown(oracle if row.oracle else target), _shown(target)
    flat = flat_fields(left, right)
    is_flowing = not marks and _flows(row, flat)
    return EventRow(
        actor=row.actor or "",
        api=_api(row),
        oracle=_cell(row, oracle if differing else replace(oracle, raw=None)) if oracle else None,
        target=_cell(row, target) if target else None,
        is_different=bool(differences),
        is_kind_different=bool(row.oracle) and row.oracle_kind != row.target_kind,
        is_flowing=is_flowing,
        fields=flat if is_flowing else aligned_fields(left, right, marks),
        findings=tuple(_finding(each, (row,)) for each in differences),
    )


def _flows(row: AlignedStep, fields: Iterable[FieldRow]) -> bool:
    """Return whether an event's fields may flow: a request's, as the script has them, and few equal ones."""
    if EventKind.REQUEST in (row.target_kind, row.oracle_kind):
        return True
    length = sum(len(field.key) + len(field.target or "") for field in fields)
    return length <= FLOW_LENGTH_MAX and all(field.oracle == field.target for field in fields)


def _shown(side: AlignedAnswer | None) -> str | None:
    """Return the canonical fields, which are compared, or else the fields as received.

    Of a starved stretch, figures that could not be taken are left out.
    """
    fields = (side.canonical or side.fields) if side else None
    if fields is None or side is None or side.kind != EventKind.STARVED:
        return fields
    figures = parsed_json(fields, where="the figures of a starved stretch")
    assert isinstance(figures, dict)
    return canonical_json({name: value for name, value in figures.items() if value is not None})


def _cell(row: AlignedStep, side: AlignedAnswer) -> EventCell:
    raw = side.raw or ""
    is_message = side.kind in {EventKind.REQUEST, EventKind.RESPONSE}
    kind = "" if is_message else f"{side.kind}:"
    return EventCell(
        headline=" ".join(word for word in (row.actor, kind, _api(row)) if word).removesuffix(":"),
        kind=css_name(side.kind),
        at="" if side.at_ms is None else f"{side.at_ms:.1f}",
        elapsed="" if side.elapsed_ms is None else f"{side.elapsed_ms:.1f}",
        note=side.note or "",
        raw=raw,
        decoded=side.fields if raw and side.fields and side.fields != side.canonical else "",
    )


def _api(row: AlignedStep) -> str:
    return f"{row.api} v{row.api_version}" if row.api else ""


@lru_cache(maxsize=4096)
def indented(text: str) -> str:
    """Return JSON text indented over several lines; text that is not JSON is returned unchanged."""
    try:
        return json.dumps(parsed_json(text, where="fields"), indent=2, ensure_ascii=False)
    except TraceError:
        return text
