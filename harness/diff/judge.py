"""The outcome of one scenario for one target, from the recorded events alone.

Doubt never becomes a pass. A conversation that broke off, a reference that cannot be compared with, and a
failed checker are each distinguished from a target that conforms and from one that diverges.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.diff.alignment import awaits
from harness.diff.compare import Departures, differences
from harness.diff.model import Difference, Judgement
from harness.diff.raw_difference import Against
from harness.diff.starved import is_late, starved_before, timer_run_out
from harness.scenario.own_settings import assumptions
from harness.scenario.script import Script, step_text
from harness.trace.events import BROKER_ENDED, LATE, LEADERS_MOVED, TARGET_LOST, Event, EventKind
from harness.verdict import Delta, Expectation, Outcome

_VALUE_CHARACTERS: Final = 160
EXTERNAL: Final = "external:"
"""The beginning of the spec of a broker that need not be Kafka."""
CONFORMS_REASON: Final = "every answer is as the script expects and as the reference gives it"
CLAIM_IS_TRUE: Final = "; what the script pins is true"
ALONE_REASON: Final = "every answer is as the script expects"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetInfo:
    """What a checker needs to know about a target besides its trace."""

    run_id: str
    target: str
    """The target's name, e.g. `kafka-3.9.2`."""
    spec: str
    """The spec as the user wrote it, e.g. `kafka:3.9.2`."""
    profile: str
    oracle: str | None
    """Name of the target that this one is compared with; None for a reference."""
    library: str | None = None
    """The client library that ran scripts on the target; None where scenarios were run."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Settings of the target's brokers that these did not report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judgement without its final expectation and delta, and the differences that it is based on."""

    judgement: Judgement
    differences: tuple[Difference, ...] = ()
    starvations: Mapping[str, str] = field(default_factory=dict)
    """By cause, how the machine kept the conversation from running before it showed; none if it was calm."""

    @property
    def starved(self) -> str | None:
        """How the machine kept the conversation from running before its finding; None if it was calm."""
        return self.starvations.get(self.differences[0].cause) if self.differences else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    outcome: Outcome
    reason: str
    differences: tuple[Difference, ...] = ()
    starvations: Mapping[str, str] = field(default_factory=dict)


def judge(
    script: Script,
    info: TargetInfo,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    departures: Departures | None = None,
) -> Judged:
    """Judge one scenario for one target from its events, in sequence; none at all is a harness error.

    The reference's events are there where `info.oracle` names one.
    """
    try:
        ruling = _rule(script, info, events, oracle_events, departures or Departures())
        if ruling.outcome is Outcome.DIVERGES:
            reasons = (ruling.reason, *assumptions(script, info.assumed))
            ruling = replace(ruling, reason="; ".join(reasons))
    except Exception as error:  # noqa: BLE001 - whatever a trace does to the checker must not become a pass
        ruling = _Ruling(
            outcome=Outcome.HARNESS_ERROR,
            reason=f"the checker failed on this trace: {type(error).__name__}: {error}",
        )
    judgement = _judgement(script, info, events, ruling)
    return Judged(judgement=judgement, differences=ruling.differences, starvations=ruling.starvations)


def _rule(
    script: Script,
    info: TargetInfo,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    departures: Departures,
) -> _Ruling:
    refused = _refused(events) or _beyond_release(info.oracle, oracle_events)
    if refused is not None:
        return refused
    kept, broke_off = _until_break(script, events)
    named = info.oracle
    doubt = None if named is None else _doubt_about_oracle(script, named, oracle_events, departures)
    measure = None if named is None or doubt else oracle_events
    found = differences(script, kept, measure, departures, forgives_faults=info.spec.startswith(EXTERNAL))
    finding = found[0] if found else None
    if finding is not None and not finding.is_lenient:
        claim = CLAIM_IS_TRUE if is_claim_true(found) else ""
        reason = f"{_reason(script, kept, finding, oracle_events)}{claim}"
        starvations = _starvations(script, kept, found)
        return _Ruling(outcome=Outcome.DIVERGES, reason=reason, differences=found, starvations=starvations)
    if broke_off or doubt:
        reason = "; ".join(filter(None, (broke_off, doubt)))
        return _Ruling(outcome=Outcome.INDETERMINATE, reason=reason, differences=found)
    if finding is not None:
        reason = f"{_reason(script, kept, finding)}; no client should take notice"
        return _Ruling(outcome=Outcome.LENIENT, reason=reason, differences=found)
    return _Ruling(outcome=Outcome.CONFORMS, reason=ALONE_REASON if info.oracle is None else CONFORMS_REASON)


def _starvations(script: Script, events: Sequence[Event], found: Sequence[Difference]) -> Mapping[str, str]:
    """Return how the machine kept a conversation from running before each cause showed first."""
    first = {one.cause: one for one in reversed(found) if not (one.is_lenient or one.is_consequence)}
    before = {cause: starved_before(script, events, one) for cause, one in first.items()}
    return {cause: starved for cause, starved in before.items() if starved is not None}


def is_claim_true(found: Sequence[Difference]) -> bool:
    """Return whether everything that a scenario itself pins is as it says, whatever else differs."""
    return all(each.is_lenient or each.against != Against.EXPECTATION for each in found)


def _refused(events: Sequence[Event]) -> _Ruling | None:
    if not events:
        return _Ruling(outcome=Outcome.HARNESS_ERROR, reason="nothing was recorded")
    for kind, outcome in (
        (EventKind.HARNESS_ERROR, Outcome.HARNESS_ERROR),
        (EventKind.NOT_APPLICABLE, Outcome.NOT_APPLICABLE),
    ):
        if (event := _first(events, kind)) is not None:
            return _Ruling(outcome=outcome, reason=event.note or kind.value)
    moved = next((each.note for each in events if (each.note or "").startswith(LEADERS_MOVED)), None)
    return None if moved is None else _Ruling(outcome=Outcome.INDETERMINATE, reason=moved)


def _beyond_release(oracle: str | None, events: Sequence[Event] | None) -> _Ruling | None:
    """Return the ruling where the release that a target is compared with cannot run the script, or None."""
    event = _first(events or (), EventKind.NOT_APPLICABLE)
    if event is None:
        return None
    return _Ruling(outcome=Outcome.NOT_APPLICABLE, reason=f"nothing to measure by: {oracle}: {event.note}")


def _until_break(script: Script, events: Sequence[Event]) -> tuple[Sequence[Event], str | None]:
    """Return the events that can be judged, and why the conversation broke off if it did.

    Events of the step in which the target was lost are about its end, not about its behaviour. An event that
    breaks off a conversation may belong to no step, for example when a whole drive reaches its time limit.
    """
    lost = next((event for event in events if (event.note or "").startswith(TARGET_LOST)), None)
    if lost is not None:
        at = lost.step if lost.step >= 0 else max(event.step for event in events)
        reached = f"at step {at}: " if at >= 0 else ""
        return [event for event in events if event.step < at], f"{reached}{lost.note}"
    abandoned = _first(events, EventKind.ABANDONED)
    if abandoned is not None:
        kept = [event for event in events if event is not abandoned]
        at = abandoned.step if abandoned.step >= 0 else max(event.step for event in events)
        return kept, f"abandoned at step {at}: {abandoned.note}"
    last = max(event.step for event in events)
    due = next((i for i, step in enumerate(script.steps) if i > last and awaits(step)), None)
    ended = None if due is None else f"the trace ends after step {last}, before {_at(script, due)}"
    return events, ended


def _doubt_about_oracle(
    script: Script, oracle: str, events: Sequence[Event] | None, departures: Departures
) -> str | None:
    """Return why the reference's trace cannot be compared with, or None if it can."""
    if not events:
        return f"{oracle} has no trace to compare with"
    for kind in (EventKind.HARNESS_ERROR, EventKind.ABANDONED):
        if (event := _first(events, kind)) is not None:
            return f"nothing to compare with: {oracle}, {kind.value}: {event.note}"
    _, broke_off = _until_break(script, events)
    if broke_off is not None:
        return f"nothing to compare with: {oracle}: {broke_off}"
    astray = next((one for one in differences(script, events, None, departures) if not one.is_lenient), None)
    if astray is None:
        return None
    return f"nothing to compare with: {oracle} departs from the script: {_reason(script, events, astray)}"


def _reason(
    script: Script, events: Sequence[Event], finding: Difference, oracle_events: Sequence[Event] | None = None
) -> str:
    """Describe a finding in one sentence: where it is, what came and what was expected."""
    whose = "expected" if finding.against == Against.EXPECTATION else "the reference gives"
    what = f"{finding.field} is {_short(finding.actual)}" if finding.field else finding.actual
    detail = _detail(script, events, finding, oracle_events or ())
    return f"{_at(script, finding.step)}: {what}{detail}, {whose} {_short(finding.expected)}"


def _short(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[: _VALUE_CHARACTERS - 1]}…"


def _at(script: Script, step: int) -> str:
    return (
        f"step {step} ({step_text(script.steps[step])})" if 0 <= step < len(script.steps) else f"step {step}"
    )


def _detail(
    script: Script, events: Sequence[Event], finding: Difference, oracle_events: Sequence[Event]
) -> str:
    """Return measurements and notes of an event, which vary between runs and are thus not in a difference."""
    if finding.field is not None:
        return ""
    event = next((one for one in events if one.sequence == finding.event_sequence), None)
    if event is None:
        return ""
    if is_late(event):
        return f" ({'; '.join(_times(script, event, events, oracle_events))})"
    parts = [f"after {event.elapsed_ms:g} ms"] if event.elapsed_ms is not None else []
    parts += [event.note.removeprefix(BROKER_ENDED)] if event.note else []
    return f" ({', '.join(parts)})" if parts else ""


def _times(
    script: Script, event: Event, events: Sequence[Event], oracle_events: Sequence[Event]
) -> Iterator[str]:
    """Say when a late answer came and when Kafka's comes, how long clients wait, and what the wait ended."""
    yield f"came after {(event.elapsed_ms or 0) / 1000:.1f} s"
    due = next((one for one in oracle_events if (one.step, one.kind) == (event.step, event.kind)), None)
    if due is not None:
        yield f"Kafka's comes after {due.elapsed_ms:.0f} ms"
    yield (event.note or "").removeprefix(LATE)
    if (over := timer_run_out(script, events)) is not None and over.step == event.step:
        yield f"{over.words} ran out meanwhile, so what follows is not judged"


def causes_of(found: Sequence[Difference]) -> tuple[str, ...]:
    """Return the causes of differences that count of themselves, each once, the finding's first."""
    return tuple(dict.fromkeys(one.cause for one in found if not (one.is_lenient or one.is_consequence)))


def _first(events: Sequence[Event], kind: EventKind) -> Event | None:
    return next((event for event in events if event.kind == kind), None)


def _judgement(script: Script, info: TargetInfo, events: Sequence[Event], ruling: _Ruling) -> Judgement:
    finding = ruling.differences[0] if ruling.differences else None
    times = [event.at_ms for event in events]
    return Judgement(
        run_id=info.run_id,
        target=info.target,
        oracle=info.oracle,
        scenario_id=script.id,
        title=script.title,
        suite=script.suite,
        apis=script.apis,
        clauses=script.clauses,
        source=script.source,
        outcome=ruling.outcome.value,
        expectation=Expectation.UNEXPECTED.value,
        delta=Delta.NO_BASELINE.value,
        reason=ruling.reason,
        observed=ruling.reason,
        causes=causes_of(ruling.differences),
        link=None,
        signature=finding.signature if finding else None,
        first_step=finding.step if finding else None,
        difference_count=len(ruling.differences),
        event_count=len(events),
        duration_ms=max(times) - min(times) if times else 0.0,
    )
