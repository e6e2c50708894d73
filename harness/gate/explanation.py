"""The named behaviours that cause the changes between two targets, found with their references.

A behaviour is a candidate if exchanging it changes the first answer that changed. Of several candidates,
only those count that make one reference answer as the other does. The former's reference then gets the
behaviours that were found, and the first answer that still differs is explained in the same way.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.gate.comparison_model import ClientChange
from harness.gate.sides import ComparedTarget
from harness.orchestration.attributing import attribute, is_whole, recorded, seen_in, unequal_places
from harness.scenario.script import Script
from harness.targets.reference.variants import behaviour_source, variant
from harness.trace.events import Event

_LATER_COUNT_MAX: Final = 2
"""The number of answers after the first that are explained in one scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterCause:
    """The behaviours that change a later answer of a scenario, in addition to those of earlier answers."""

    scenario_id: str
    step: int
    behaviours: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A search for the behaviours that change answers of some scenarios."""

    scripts: Mapping[str, Script]
    before: ComparedTarget
    after: ComparedTarget
    progress: Callable[[str], None]
    known: frozenset[str] = frozenset()
    """The latter's behaviours that the former's reference already has."""

    def decisive(self, steps: Mapping[str, int]) -> Mapping[str, tuple[str, ...]]:
        """Return, by scenario, the behaviours that make either reference answer a step as the other does.

        If no behaviour does so alone, return all that change the answer.
        """
        found = self.attributed(steps)
        several = {name: steps[name] for name, each in found.items() if len(each.behaviours) > 1}
        meddling = self.attributed(several, is_crossed=True)
        return {name: _decisive(each, meddling.get(name)) for name, each in found.items()}

    def attributed(
        self, steps: Mapping[str, int | None], *, is_crossed: bool = False
    ) -> Mapping[str, Attribution]:
        """Find the named behaviours whose exchange changes the answers of a reference.

        Both references may have the same name, in two runs, so this search gives them names of its own.

        Args:
            steps: the scenarios, each with the step to examine; None for all steps.
            is_crossed: whether to find those whose exchange makes it differ from the other reference.
        """
        oracles = self.before.oracle, self.after.oracle
        if not steps or oracles[0] is None or oracles[1] is None:
            return {}
        reported = oracles[::-1] if is_crossed else oracles
        traces: dict[str, TargetTrace] = {}
        judgements: list[Judgement] = []
        for name, side, oracle, events in zip(
            ("before", "after"), (self.before, self.after), oracles, reported, strict=True
        ):
            assert oracle is not None
            assert events is not None
            measure = f"{name}: reference-{oracle.info.profile}"
            traces[measure] = replace(oracle, events=_at_steps(events, steps).events)
            traces[name] = side.trace
            judgements += [
                replace(judgement, target=name, oracle=measure)
                for scenario_id in steps
                if (judgement := side.judgement(scenario_id)) is not None
            ]
        found = asyncio.run(
            attribute(
                {name: self.scripts[name] for name in steps},
                traces,
                judgements,
                order=("before", "after"),
                progress=self.progress,
                known=self.known,
            )
        )
        return {each.scenario_id: each for each in found if each.behaviours}

    def knowing(self, known: frozenset[str], names: Sequence[str]) -> "_Search":
        """Return a search in which the former's reference has some of the latter's behaviours.

        Args:
            known: these behaviours.
            names: the scenarios to run again; the search covers those that the new reference completes.
        """
        former, latter = self.before.oracle, self.after.oracle
        assert former is not None
        assert latter is not None
        target = variant(former.info.profile, known, of=latter.info.profile)
        reported = asyncio.run(recorded(target, [self.scripts[name] for name in names]))
        events = {name: tuple(each) for name, each in reported.items() if is_whole(each)}
        loaded = self.before.loaded
        traces = {
            **loaded.traces,
            self.before.trace.info.oracle or self.before.target: replace(former, events=events),
        }
        return replace(self, before=replace(self.before, loaded=replace(loaded, traces=traces)), known=known)

    def steps_that_differ(self, scenario_id: str) -> Iterator[int]:
        """Yield the steps at which the two references answer a scenario differently."""
        sides = [_events(side.oracle, scenario_id) for side in (self.before, self.after)]
        if all(sides):
            yield from (step for step, *_ in unequal_places(*map(seen_in, sides)))


def explained(
    changes: Sequence[ClientChange],
    scripts: Mapping[str, Script],
    before: ComparedTarget,
    after: ComparedTarget,
    progress: Callable[[str], None],
) -> tuple[list[ClientChange], tuple[LaterCause, ...]]:
    """Return changes with the named behaviours that cause them, and the further causes of later answers.

    If nothing explains the first answer that changed, all answers are examined together.
    """
    search = _Search(scripts=scripts, before=before, after=after, progress=progress)
    steps = {change.scenario_id: change.step for change in changes}
    found = search.decisive(steps)
    rest = {name: None for name in steps if name not in found}
    names = {**found, **{name: each.behaviours for name, each in search.attributed(rest).items()}}
    named = [with_cause(change, names.get(change.scenario_id, ())) for change in changes]
    # A flaky change has no other cause.
    first = {change.scenario_id: (change.step, change.behaviours) for change in named if not change.is_flaky}
    return named, tuple(_later({name: first[name] for name in found if name in first}, search))


def _later(first: Mapping[str, tuple[int, tuple[str, ...]]], search: _Search) -> Iterator[LaterCause]:
    """Repeatedly explain the first answer that still differs once all behaviours found so far are applied.

    Args:
        first: by scenario: the step of the first change, and the behaviours that cause it.
        search: the search for the first changes.
    """
    known = {name: frozenset(behaviours) for name, (_, behaviours) in first.items()}
    since = {name: step for name, (step, _) in first.items()}
    changed = {name: _steps_that_changed(name, search) for name in first}
    for _ in range(_LATER_COUNT_MAX):
        for behaviours, names in _gathered(known).items():
            knowing = search.knowing(behaviours, names)
            steps = {
                name: _next(changed[name], since[name], knowing.steps_that_differ(name)) for name in names
            }
            looked_at = {name: step for name, step in steps.items() if step is not None}
            found = knowing.decisive(looked_at)
            for name in names:
                if name not in looked_at:
                    del known[name]
                    continue
                # A step that is explained in part may have further causes.
                since[name] = looked_at[name] + (name not in found)
                if name in found:
                    known[name] |= set(found[name])
                    yield LaterCause(scenario_id=name, step=looked_at[name], behaviours=found[name])


def _gathered(known: Mapping[str, frozenset[str]]) -> Mapping[frozenset[str], Sequence[str]]:
    """Group scenarios with the same known behaviours."""
    found: dict[frozenset[str], list[str]] = {}
    for name, behaviours in known.items():
        found.setdefault(behaviours, []).append(name)
    return found


def _next(changed: frozenset[int], since: int, differing: Iterable[int]) -> int | None:
    return min((step for step in differing if step >= since and step in changed), default=None)


def _steps_that_changed(scenario_id: str, search: _Search) -> frozenset[int]:
    """Return the steps at which both the targets and their references answer differently."""
    sides = [seen_in(_events(side.trace, scenario_id)) for side in (search.before, search.after)]
    return frozenset(step for step, *_ in unequal_places(*sides)) & frozenset(
        search.steps_that_differ(scenario_id)
    )


def _events(trace: TargetTrace | None, scenario_id: str) -> Sequence[Event]:
    return () if trace is None else trace.events.get(scenario_id, ())


def _decisive(found: Attribution, meddling: Attribution | None) -> tuple[str, ...]:
    """Return the behaviours that make either reference answer as the other does; all if none does."""
    if meddling is None:
        return found.behaviours
    decisive = tuple(name for name in found.behaviours if name not in meddling.behaviours)
    return decisive or found.behaviours


def with_cause(change: ClientChange, names: tuple[str, ...]) -> ClientChange:
    """Return a change with the named behaviours that cause it."""
    return replace(change, behaviours=names, sources=tuple(behaviour_source(name) for name in names))


def _at_steps(trace: TargetTrace, steps: Mapping[str, int | None]) -> TargetTrace:
    """Return a trace reduced to one step of each scenario, or to all steps where none is given."""
    events = {
        name: tuple(event for event in trace.events.get(name, ()) if step is None or event.step == step)
        for name, step in steps.items()
    }
    return replace(trace, events=events)
