"""The changes that a client observes from one coordinator to another, and their explanation.

The answers of both are compared position by position in their canonical form. If Kafka's answer depends on
chance and both give a permitted answer, nothing has changed.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.alignment import AnswerPosition, aligned, answers_by_position
from harness.diff.baseline import delta
from harness.diff.model import Judgement
from harness.diff.paths import is_within, unequal_leaves, unindexed
from harness.diff.raw_difference import leaf_text
from harness.gate.comparison_model import ClientChange, Comparison, LeftOut
from harness.gate.explanation import LaterCause, explained, with_cause
from harness.gate.sides import ComparedTarget
from harness.report.model.phrases import links_in
from harness.results.answer_impact import Contrast, FieldChange
from harness.results.brokers import added_properties
from harness.results.status import ResultStatus, status_of
from harness.scenario.script import Script
from harness.targets.reference.target import reference_profile
from harness.trace.embedded import canonical_fields
from harness.trace.events import Event, EventKind
from harness.trace.schema import parsed_json
from harness.verdict import COMPARABLE, RIGHT
from harness.wire.schema import API_NAMES

_API_ROW: Final = re.compile(r"api_keys\[(\d+)\]")


def compare(
    before: ComparedTarget, after: ComparedTarget, *, explain: bool, progress: Callable[[str], None]
) -> Comparison:
    """Compare two targets, scenario by scenario.

    Args:
        before: the former target.
        after: the latter target.
        explain: whether to find the named behaviours that cause the changes, by running references.
        progress: called with a message at each stage of the work.
    """
    scripts = before.loaded.scripts
    common = [name for name in scripts if name in after.loaded.scripts]
    rewritten = {name for name in common if scripts[name].digest() != after.loaded.scripts[name].digest()}
    ran_before, ran_after = _ran(before), _ran(after)
    both = [name for name in common if name in ran_before & ran_after and name not in rewritten]
    is_judgement = _is_measure_of(before, after)
    behaviours = _behaviours(before), _behaviours(after)
    changes = [change for name in both if (change := _change(scripts[name], before, after)) is not None]
    if explain and not is_judgement:
        changes, later = explained(changes, scripts, before, after, progress)
        changes = [_with_later(change, later, scripts, before, after) for change in changes]
    return Comparison(
        before=before.label,
        after=after.label,
        changes=tuple(sorted(changes, key=lambda change: (change.api, change.scenario_id))),
        same_count=len(both) - len(changes),
        newly_run=_left_out((ran_after - ran_before) & set(common), before),
        run_no_more=_left_out((ran_before - ran_after) & set(common), after),
        only_after=tuple(sorted(ran_after - set(common))),
        only_before=tuple(sorted(ran_before - set(common))),
        rewritten=tuple(sorted(rewritten)),
        is_explained=explain and not is_judgement,
        is_judgement=is_judgement,
        gained=behaviours[1] - behaviours[0],
        lost=behaviours[0] - behaviours[1],
        specs=tuple(
            dict.fromkeys(side.trace.info.spec for side in ((after,) if is_judgement else (before, after)))
        ),
        added=_added(before, after),
    )


def _added(before: ComparedTarget, after: ComparedTarget) -> Mapping[str, Mapping[str, str]]:
    """Return, by scenario id, properties that brokers of either side had but the scenario did not ask for."""
    found: dict[str, dict[str, str]] = {}
    for side in (before, after):
        for (target, scenario_id), added in added_properties(side.loaded.run.folder).items():
            if target == side.target:
                found.setdefault(scenario_id, {}).update(added)
    return found


def _is_measure_of(before: ComparedTarget, after: ComparedTarget) -> bool:
    """Return whether a target is compared with its own reference."""
    return before.loaded is after.loaded and before.target == after.trace.info.oracle


def _behaviours(side: ComparedTarget) -> frozenset[str]:
    """Return the named behaviours of the release that is a side's profile."""
    profile = reference_profile(side.trace.info.profile)
    return frozenset(behaviour.name.lower() for behaviour in profile.behaviours)


def _left_out(names: Collection[str], side: ComparedTarget) -> tuple[LeftOut, ...]:
    """Return the reasons why some scenarios could not run on a side, the most frequent first."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        judgement = side.judgement(name)
        found.setdefault("was not run" if judgement is None else judgement.reason, []).append(name)
    return tuple(
        LeftOut(reason=reason, scenarios=tuple(scenarios))
        for reason, scenarios in sorted(found.items(), key=lambda each: -len(each[1]))
    )


def _ran(side: ComparedTarget) -> frozenset[str]:
    return frozenset(
        name
        for name in side.loaded.scripts
        if (judgement := side.judgement(name)) is not None and judgement.outcome in COMPARABLE
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangedAnswer:
    """A position at which two conversations differ."""

    before: Event | None
    after: Event | None
    fields: tuple[FieldChange, ...]

    @property
    def contrast(self) -> Contrast:
        return Contrast(
            api=self.event.api or "connection",
            before_kind=self.before.kind if self.before else None,
            after_kind=self.after.kind if self.after else None,
            fields=self.fields,
        )

    @property
    def event(self) -> Event:
        found = self.after or self.before
        assert found is not None, "one of them answered"
        return found


def _change(
    script: Script, before: ComparedTarget, after: ComparedTarget, *, since: int = 0
) -> ClientChange | None:
    """Return what changed in a scenario from a given step on; None if nothing did."""
    judged = before.judgement(script.id), after.judgement(script.id)
    assert judged[0] is not None
    assert judged[1] is not None
    are_right = {judged[0].outcome, judged[1].outcome} <= RIGHT
    chance = _left_to_chance(script.id, before, after) if are_right else {}
    places = list(_places(script.id, before, after, chance))
    if _is_measure_of(before, after) and judged[1].first_step is not None:
        # The checker found everything before the finding permitted.
        since = max(since, judged[1].first_step)
    places = [place for place in places if place.event.step >= since]
    if not places:
        return None
    return _reported(script, places, judged[0], judged[1])


def _with_later(
    change: ClientChange,
    causes: Sequence[LaterCause],
    scripts: Mapping[str, Script],
    before: ComparedTarget,
    after: ComparedTarget,
) -> ClientChange:
    """Return a change with the later answers at which further causes first show."""
    later = [
        replace(with_cause(seen, cause.behaviours), later=())
        for cause in causes
        if cause.scenario_id == change.scenario_id
        and (seen := _change(scripts[change.scenario_id], before, after, since=cause.step)) is not None
        and seen.step == cause.step
    ]
    return replace(change, also=tuple(later))


def _reported(
    script: Script, places: Sequence[_ChangedAnswer], before: Judgement, after: Judgement
) -> ClientChange:
    first = places[0]
    return ClientChange(
        scenario_id=script.id,
        title=script.title,
        source=script.source,
        api=first.event.api or "connection",
        api_version=first.event.api_version,
        step=first.event.step,
        actor=first.event.actor,
        before_kind=first.before.kind if first.before else None,
        after_kind=first.after.kind if first.after else None,
        fields=first.fields,
        answer_count=len(places),
        before_outcome=before.outcome,
        after_outcome=after.outcome,
        delta=delta(after, before).value,
        behaviours=(),
        sources=(),
        known_as=links_in(f"{script.source} {script.title} {script.notes}"),
        notes=" ".join(script.notes.split()),
        before_note=first.before.note if first.before else None,
        after_note=first.after.note if first.after else None,
        later=tuple(place.contrast for place in places[1:]),
        is_flaky=ResultStatus.FLAKY in (status_of(before), status_of(after)),
    )


def _places(
    scenario_id: str,
    before: ComparedTarget,
    after: ComparedTarget,
    chance: Mapping[AnswerPosition, Sequence[str]],
) -> Iterator[_ChangedAnswer]:
    sides = [side.trace.events.get(scenario_id, ()) for side in (before, after)]
    for pair in aligned(*sides):
        if pair.answer is None or pair.is_equal:
            continue
        one, other = pair.event, pair.other
        fields = tuple(_fields(one, other, chance.get(pair.position, ())))
        are_answers = one is not None and other is not None and one.kind == other.kind == EventKind.RESPONSE
        if fields or not are_answers:
            yield _ChangedAnswer(before=one, after=other, fields=fields)


def _fields(one: Event | None, other: Event | None, chance: Sequence[str]) -> Iterator[FieldChange]:
    if one is None or other is None or one.kind != EventKind.RESPONSE or other.kind != EventKind.RESPONSE:
        return
    answers = canonical_fields(one.canonical), canonical_fields(other.canonical)
    names = _names_in(answers[1])
    for path, before, after in unequal_leaves(*answers):
        if not any(is_within(unindexed(path), declared) for declared in chance):
            yield FieldChange(path=_with_name(path, names), before=leaf_text(before), after=leaf_text(after))


def _names_in(answer: Mapping[str, object]) -> Sequence[str]:
    """Return the names of the APIs that an answer lists; they say more than their positions in it."""
    rows = answer.get("api_keys")
    keys = [row.get("api_key") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return [API_NAMES.get(key, str(key)) if isinstance(key, int) else str(key) for key in keys]


def _with_name(path: str, names: Sequence[str]) -> str:
    found = _API_ROW.match(path)
    if found is None or int(found[1]) >= len(names):
        return path
    return f"api_keys[{names[int(found[1])]}]{path[found.end() :]}"


def _left_to_chance(
    scenario_id: str, before: ComparedTarget, after: ComparedTarget
) -> dict[AnswerPosition, list[str]]:
    """Return the fields that either reference declares to depend on chance, by the answer's position."""
    found: dict[AnswerPosition, list[str]] = {}
    for side in (before, after):
        if side.oracle is None:
            continue
        for position, event in answers_by_position(side.oracle.events.get(scenario_id, ())).items():
            for declared in parsed_json(event.permitted or "[]", where=f"`permitted` of {scenario_id}"):
                found.setdefault(position, []).append(unindexed(declared["field"]))
    return found
