"""Which named behaviours the changes between two targets hang on, as their references tell.

A behaviour is found if to exchange it changes the answer in which a change is first seen. Of several, those
count that make the one reference answer as the other does; the others only meddle.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.gate.comparison_model import ClientChange
from harness.gate.sides import ComparedTarget
from harness.orchestration.attributing import attribute
from harness.scenario.script import Script
from harness.targets.reference.variants import behaviour_source


def explained(
    changes: Sequence[ClientChange],
    scripts: Mapping[str, Script],
    before: ComparedTarget,
    after: ComparedTarget,
    progress: Callable[[str], None],
) -> list[ClientChange]:
    """Return changes with the named behaviours that they hang on.

    What comes after the answer in which a change is first seen may hang on more, and is looked at only where
    nothing explains that answer.
    """
    steps = {change.scenario_id: change.step for change in changes}
    found = _attributed(scripts, before, after, steps, progress)
    several = {name: steps[name] for name, each in found.items() if len(each.behaviours) > 1}
    meddling = _attributed(scripts, before, after, several, progress, is_crossed=True)
    names = {name: _decisive(each, meddling.get(name)) for name, each in found.items()}
    rest = {name: None for name in steps if name not in found}
    names |= {
        name: each.behaviours for name, each in _attributed(scripts, before, after, rest, progress).items()
    }
    return [_with_cause(change, names.get(change.scenario_id, ())) for change in changes]


def _decisive(found: Attribution, meddling: Attribution | None) -> tuple[str, ...]:
    """Return the behaviours that make either reference answer as the other does; all, where none does."""
    if meddling is None:
        return found.behaviours
    decisive = tuple(name for name in found.behaviours if name not in meddling.behaviours)
    return decisive or found.behaviours


def _with_cause(change: ClientChange, names: tuple[str, ...]) -> ClientChange:
    return replace(change, behaviours=names, sources=tuple(behaviour_source(name) for name in names))


def _attributed(
    scripts: Mapping[str, Script],
    before: ComparedTarget,
    after: ComparedTarget,
    steps: Mapping[str, int | None],
    progress: Callable[[str], None],
    *,
    is_crossed: bool = False,
) -> Mapping[str, Attribution]:
    """Find the named behaviours of which an exchange makes a reference answer otherwise than it does.

    Both may be of one name, in two runs, so they are told apart by names of their own.

    Args:
        scripts: of both.
        before: the former.
        after: the latter.
        steps: the scenarios, each with the step that is looked at; None for all of them.
        progress: told what is being worked on.
        is_crossed: whether to find those that make it answer otherwise than the other reference does.
    """
    oracles = before.oracle, after.oracle
    if not steps or oracles[0] is None or oracles[1] is None:
        return {}
    reported = oracles[::-1] if is_crossed else oracles
    traces: dict[str, TargetTrace] = {}
    judgements: list[Judgement] = []
    for name, side, oracle, events in zip(
        ("before", "after"), (before, after), oracles, reported, strict=True
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
    chosen = {name: scripts[name] for name in steps}
    found = asyncio.run(attribute(chosen, traces, judgements, order=("before", "after"), progress=progress))
    return {each.scenario_id: each for each in found if each.behaviours}


def _at_steps(trace: TargetTrace, steps: Mapping[str, int | None]) -> TargetTrace:
    """Return what is on record of one step of each scenario."""
    events = {
        name: tuple(event for event in trace.events.get(name, ()) if step is None or event.step == step)
        for name, step in steps.items()
    }
    return replace(trace, events=events)
