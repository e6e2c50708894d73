"""What a client sees change from one coordinator to another, and what explains it.

The answers of both are compared place by place in their canonical form. Where Kafka's answer hangs on chance
and both give one of the right ones, nothing has changed.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.conduct.attributing import attribute
from harness.diff.answers import answers_by_step
from harness.diff.baseline import delta
from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.diff.paths import is_within, unequal_leaves, unindexed
from harness.diff.seen import leaf_text
from harness.gate.sides import Side
from harness.report.phrases import links_in
from harness.scenario.script import Script
from harness.trace.events import Event, EventKind
from harness.verdict import Outcome

UNKNOWN: Final = "unknown"
"""The cause of a change of which nothing is known."""
ADVERTISED: Final = "advertised versions"
"""The cause where each side advertises the APIs that its release has."""
_HELD: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT, Outcome.DIVERGES, Outcome.INDETERMINATE))
_RIGHT: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field of an answer, before and after."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChange:
    """One scenario that is answered otherwise."""

    scenario_id: str
    title: str
    source: str
    api: str
    """Of the answer in which the change is first seen; `connection` where it was none."""
    api_version: int | None
    step: int
    actor: str | None
    before_kind: str | None
    """An `EventKind`, or None where the conversation had ended by then."""
    after_kind: str | None
    fields: tuple[FieldChange, ...]
    """All that differ in that answer; none where only one of them answered."""
    answer_count: int
    """In how many answers of the conversation they differ."""
    before_outcome: str
    after_outcome: str
    delta: str
    """How the judgement stands to the earlier one: a `harness.verdict.Delta`."""
    behaviours: tuple[str, ...]
    """Named behaviours that the change hangs on, if any was found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of them."""
    known_as: tuple[str, ...]
    """KAFKA-numbers and KIPs that the scenario is about."""

    @property
    def cause(self) -> str:
        """What it is put down to: named behaviours, else what the scenario is about, else `unknown`."""
        named = ", ".join(self.behaviours) or ", ".join(self.known_as)
        if not named and self.api == "ApiVersions" and {self.before_outcome, self.after_outcome} <= _RIGHT:
            return ADVERTISED
        return named or UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two targets, compared."""

    before: str
    after: str
    changes: tuple[ClientChange, ...]
    """By API, then by scenario."""
    same_count: int
    newly_held: tuple[str, ...]
    """Scenarios of both runs that could be held only with the latter."""
    held_no_more: tuple[str, ...]
    """And only with the former."""
    only_after: tuple[str, ...]
    """Scenarios that only the latter's run has."""
    only_before: tuple[str, ...]
    """And only the former's."""
    rewritten: tuple[str, ...]
    """Scenarios that are not the same conversation on both sides, and are therefore not compared."""
    is_explained: bool
    """Whether named behaviours were looked for."""

    def by_api(self) -> Mapping[str, Sequence[ClientChange]]:
        """Gather the changes of each API."""
        return _grouped(self.changes, lambda change: change.api)

    def by_cause(self) -> Mapping[str, Sequence[ClientChange]]:
        """Gather the changes of each cause; those without a known one come first."""
        grouped = _grouped(self.changes, lambda change: change.cause)
        return dict(sorted(grouped.items(), key=lambda each: (each[0] != UNKNOWN, -len(each[1]), each[0])))


def _grouped(
    changes: Sequence[ClientChange], key: Callable[[ClientChange], str]
) -> dict[str, list[ClientChange]]:
    found: dict[str, list[ClientChange]] = {}
    for change in changes:
        found.setdefault(key(change), []).append(change)
    return found


def compare(before: Side, after: Side, *, explain: bool, progress: Callable[[str], None]) -> Comparison:
    """Compare two targets, scenario by scenario.

    Args:
        before: the former.
        after: the latter.
        explain: whether to look for the named behaviours that changes hang on; references are driven for it.
        progress: told what is being worked on.
    """
    scripts = before.loaded.scripts
    common = [name for name in scripts if name in after.loaded.scripts]
    rewritten = {name for name in common if scripts[name].digest() != after.loaded.scripts[name].digest()}
    held_before, held_after = _held(before), _held(after)
    both = [name for name in common if name in held_before & held_after and name not in rewritten]
    changes = [change for name in both if (change := _change(scripts[name], before, after)) is not None]
    causes: Mapping[str, Attribution] = {}
    if explain and changes:
        changed = {change.scenario_id: scripts[change.scenario_id] for change in changes}
        causes = _attributed(changed, before, after, progress)
    told = [_explained(change, causes.get(change.scenario_id)) for change in changes]
    return Comparison(
        before=before.label,
        after=after.label,
        changes=tuple(sorted(told, key=lambda change: (change.api, change.scenario_id))),
        same_count=len(both) - len(changes),
        newly_held=tuple(sorted((held_after - held_before) & set(common))),
        held_no_more=tuple(sorted((held_before - held_after) & set(common))),
        only_after=tuple(sorted(held_after - set(common))),
        only_before=tuple(sorted(held_before - set(common))),
        rewritten=tuple(sorted(rewritten)),
        is_explained=explain,
    )


def _held(side: Side) -> frozenset[str]:
    return frozenset(
        name
        for name in side.loaded.scripts
        if (judgement := side.judgement(name)) is not None and judgement.outcome in _HELD
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A place in two conversations in which they differ."""

    before: Event | None
    after: Event | None
    fields: tuple[FieldChange, ...]

    @property
    def event(self) -> Event:
        found = self.after or self.before
        assert found is not None, "one of them answered"
        return found


def _change(script: Script, before: Side, after: Side) -> ClientChange | None:
    judged = before.judgement(script.id), after.judgement(script.id)
    assert judged[0] is not None
    assert judged[1] is not None
    are_right = {judged[0].outcome, judged[1].outcome} <= _RIGHT
    chance = _left_to_chance(script.id, before, after) if are_right else {}
    places = list(_places(script.id, before, after, chance))
    if not places:
        return None
    return _told(script, places, judged[0], judged[1])


def _told(script: Script, places: Sequence[_Place], before: Judgement, after: Judgement) -> ClientChange:
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
    )


def _places(
    scenario_id: str, before: Side, after: Side, chance: Mapping[tuple[int, int], Sequence[str]]
) -> Iterator[_Place]:
    told = [_by_place(side.trace, scenario_id) for side in (before, after)]
    for place in sorted(told[0].keys() | told[1].keys()):
        one, other = told[0].get(place), told[1].get(place)
        if one is not None and other is not None and (one.kind, one.digest) == (other.kind, other.digest):
            continue
        fields = tuple(_fields(one, other, chance.get(place, ())))
        are_answers = one is not None and other is not None and one.kind == other.kind == EventKind.RESPONSE
        if fields or not are_answers:
            yield _Place(before=one, after=other, fields=fields)


def _by_place(trace: TargetTrace, scenario_id: str) -> dict[tuple[int, int], Event]:
    """Return what was answered, by step and by which of its answers it is."""
    return {
        (step, number): event
        for step, events in answers_by_step(trace.events.get(scenario_id, ())).items()
        for number, event in enumerate(events)
    }


def _fields(one: Event | None, other: Event | None, chance: Sequence[str]) -> Iterator[FieldChange]:
    if one is None or other is None or one.kind != EventKind.RESPONSE or other.kind != EventKind.RESPONSE:
        return
    leaves = unequal_leaves(json.loads(one.canonical or "{}"), json.loads(other.canonical or "{}"))
    for path, before, after in leaves:
        if not any(is_within(unindexed(path), declared) for declared in chance):
            yield FieldChange(path=path, before=leaf_text(before), after=leaf_text(after))


def _left_to_chance(scenario_id: str, before: Side, after: Side) -> dict[tuple[int, int], list[str]]:
    """Return the fields that either reference declares to hang on chance, by place."""
    found: dict[tuple[int, int], list[str]] = {}
    for side in (before, after):
        if side.oracle is None:
            continue
        for place, event in _by_place(side.oracle, scenario_id).items():
            for declared in json.loads(event.permitted or "[]"):
                found.setdefault(place, []).append(unindexed(declared["field"]))
    return found


def _explained(change: ClientChange, found: Attribution | None) -> ClientChange:
    if found is None:
        return change
    return replace(change, behaviours=found.behaviours, sources=found.sources)


def _attributed(
    scripts: Mapping[str, Script], before: Side, after: Side, progress: Callable[[str], None]
) -> Mapping[str, Attribution]:
    """Find the named behaviours that changes hang on, between the references of both sides.

    Both may be of one name, in two runs, so they are told apart by names of their own.
    """
    traces: dict[str, TargetTrace] = {}
    judgements: list[Judgement] = []
    for name, side in (("before", before), ("after", after)):
        oracle = side.oracle
        if oracle is None:
            return {}
        told = f"reference-{oracle.info.profile}"
        traces[told] = oracle
        traces[name] = side.trace
        judgements += [
            replace(judgement, target=name, oracle=told)
            for scenario_id in scripts
            if (judgement := side.judgement(scenario_id)) is not None
        ]
    found = asyncio.run(attribute(scripts, traces, judgements, order=("before", "after"), progress=progress))
    return {each.scenario_id: each for each in found if each.behaviours}
