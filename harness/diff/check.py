"""Check a whole run: the only module that sets outcome, expectation, confirmation and delta."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice

from harness.diff.compare import Departures
from harness.diff.expectations import SourcedEntry, StaleEntry, apply_expectations, known_causes
from harness.diff.gravity import headed
from harness.diff.judge import TargetInfo, judge
from harness.diff.model import Attempt, Difference, Judgement, compared_with
from harness.diff.repeats import (
    NO_FURTHER_ATTEMPT,
    Repeated,
    confirmed_causes,
    has_shown,
    in_doubt,
    is_accusation,
    weigh,
)
from harness.diff.target_pattern import is_reference
from harness.scenario.script import Script
from harness.trace.events import Event
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTrace:
    """The recorded events of one target."""

    info: TargetInfo
    events: Mapping[str, Sequence[Event]]
    """Events by scenario id, in sequence."""
    repeats: Mapping[str, Sequence[Sequence[Event]]] = field(default_factory=dict)
    """All attempts except the first, in order, by the ids of scenarios that were run more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """All results of the checker for a run."""

    judgements: tuple[Judgement, ...]
    """One for every script and target, in the order of the targets and then of the scripts."""
    differences: tuple[Difference, ...]
    stale_entries: tuple[StaleEntry, ...]
    removed: tuple[Judgement, ...]
    """Judgements of the baseline that this run lacks."""
    attempts: tuple[Attempt, ...] = ()
    """Attempts at scenarios that were run more than once, or were to be; in the order of the judgements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precedents:
    """What results are compared with."""

    entries: Sequence[SourcedEntry] = ()
    """The known differences."""
    baseline: Sequence[Judgement] | None = None
    """An earlier run's judgements, or None."""
    today: date
    """The date by which expiry is judged."""

    def known_by(self, infos: Mapping[str, TargetInfo]) -> Mapping[str, frozenset[str]]:
        """Return the causes that each target is known for."""
        return {name: known_causes(self.entries, info) for name, info in infos.items()}


def set_against(
    judged: Sequence[Repeated], infos: Mapping[str, TargetInfo], precedents: Precedents
) -> CheckedRun:
    """Apply expectations and the baseline to judgements.

    A reference that others are compared with is never expected to depart from a script. Judgements are in the
    order of the targets and then of the scripts.
    """
    known, entries, today = precedents.known_by(infos), precedents.entries, precedents.today
    judged = [_under_news(_as_measure(each, infos), known[each.first.judgement.target]) for each in judged]
    confirmed = confirmed_causes(judged)
    attempts = [one for repeated in judged for one in repeated.attempts]
    foreseen = apply_expectations([one.judgement for one in attempts], infos, entries, today)
    ruled = [
        judgement if has_shown(one, confirmed) or not is_accusation(judgement) else in_doubt(one)
        for one, judgement in zip(attempts, foreseen.judgements, strict=True)
    ]
    applied = apply_expectations(ruled, infos, entries, today)
    expected = iter(applied.judgements)
    weighed = [
        weigh(repeated.expected_as(tuple(islice(expected, len(repeated.attempts)))), confirmed)
        for repeated in judged
    ]
    compared, removed = compared_with([judged.judgement for judged, _ in weighed], precedents.baseline)
    return CheckedRun(
        judgements=compared,
        differences=tuple(difference for judged, _ in weighed for difference in judged.differences),
        stale_entries=applied.stale_entries,
        removed=removed,
        attempts=tuple(attempt for _, attempts in weighed for attempt in attempts),
    )


def _under_news(repeated: Repeated, known: frozenset[str]) -> Repeated:
    """Return attempts, each headed by its gravest difference that its target is not known for."""
    headings = [(one, *headed(one.judgement, one.differences, known)) for one in repeated.attempts]
    attempts = (replace(one, judgement=judgement, differences=found) for one, judgement, found in headings)
    return replace(repeated, attempts=tuple(attempts))


def _as_measure(repeated: Repeated, infos: Mapping[str, TargetInfo]) -> Repeated:
    """Return the attempts of a reference that others are compared with, its departures as harness errors."""
    target = repeated.first.judgement.target
    is_measure = is_reference(target) and any(info.oracle == target for info in infos.values())
    departs = "nobody is compared here, since the reference departs from the script: "

    def ruled(one: Judgement) -> Judgement:
        if one.outcome != Outcome.DIVERGES:
            return one
        reason, observed = f"{departs}{one.reason}", f"{departs}{one.observed}"
        return replace(one, outcome=Outcome.HARNESS_ERROR.value, reason=reason, observed=observed)

    return (
        repeated.expected_as([ruled(one.judgement) for one in repeated.attempts]) if is_measure else repeated
    )


def stored_against(stored: CheckedRun, infos: Mapping[str, TargetInfo], precedents: Precedents) -> CheckedRun:
    """Apply expectations and the baseline to the results that a run stored; `set_against` says of what.

    Outcomes, confirmations and differences stay as they are; only which one heads a result may change.
    """
    known = precedents.known_by(infos)
    of_result: dict[tuple[str, str], list[Difference]] = {}
    for one in stored.differences:
        of_result.setdefault((one.target, one.scenario_id), []).append(one)
    headings = [
        headed(each, of_result.get((each.target, each.scenario_id), ()), known[each.target])
        for each in stored.judgements
    ]
    of = {(each.target, each.scenario_id): each for each, _ in headings}
    attempts = [_as_judgement(each, of[each.target, each.scenario_id]) for each in stored.attempts]
    applied = apply_expectations((*of.values(), *attempts), infos, precedents.entries, precedents.today)
    count = len(headings)
    compared, removed = compared_with(applied.judgements[:count], precedents.baseline)
    expected = zip(stored.attempts, applied.judgements[count:], strict=True)
    return replace(
        stored,
        judgements=compared,
        differences=tuple(difference for _, found in headings for difference in found),
        stale_entries=applied.stale_entries,
        removed=removed,
        attempts=tuple(
            replace(each, expectation=one.expectation) if each.was_run else each for each, one in expected
        ),
    )


def _as_judgement(attempt: Attempt, judgement: Judgement) -> Judgement:
    """Return what an attempt would have been judged as alone; one that was not run is not applicable."""
    return replace(
        judgement,
        outcome=attempt.outcome if attempt.was_run else Outcome.NOT_APPLICABLE.value,
        observed=attempt.reason,
        signature=attempt.signature,
        causes=attempt.causes,
    )


def with_attempt(
    repeated: Repeated, script: Script, info: TargetInfo, events: Sequence[Event], oracle: TargetTrace | None
) -> Repeated:
    """Return a scenario's attempts with one more, judged like the others."""
    judged = judge(script, info, events, _events_of(script, oracle))
    return replace(repeated, attempts=(*repeated.attempts, judged))


def judge_attempts(
    script: Script, trace: TargetTrace, oracle: TargetTrace | None, departures: Departures
) -> Repeated:
    """Judge a target's attempts at a script; `set_against` sets the rest.

    All are compared with the same oracle, whose answers do not vary: its time is virtual.
    """
    attempts = [trace.events.get(script.id, ())]
    missing = None
    for events in trace.repeats.get(script.id, ()):
        note = events[0].note or "" if events else ""
        if note.startswith(NO_FURTHER_ATTEMPT):
            missing = note.removeprefix(NO_FURTHER_ATTEMPT)
        else:
            attempts.append(events)
    due = _events_of(script, oracle)
    judged = (judge(script, trace.info, events, due, departures) for events in attempts)
    return Repeated(attempts=tuple(judged), missing=missing)


def _events_of(script: Script, trace: TargetTrace | None) -> Sequence[Event] | None:
    return None if trace is None else trace.events.get(script.id, ())
