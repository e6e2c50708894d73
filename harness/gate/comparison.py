"""The comparison of two targets with the named behaviours that cause its changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.orchestration.attributing import Cause, causes_of, seen_in, unequal_places
from harness.report.model.comparison import ClientChange, ComparedTarget, Comparison, change_of, changes
from harness.scenario.script import Script
from harness.targets.reference.variants import behaviour_source


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
    found = changes(before, after)
    if not explain or found.is_judgement:
        return found
    named = found.changes
    if named and before.oracle and after.oracle:
        scripts = before.loaded.scripts
        causes = causes_of(
            {change.scenario_id: _steps_that_changed(change, before, after) for change in named},
            scripts,
            (before.oracle.info.profile, after.oracle.info.profile),
            runs=dict.fromkeys(side.loaded.folder for side in (before, after)),
            progress=progress,
        )
        named = tuple(
            _explained(each, causes[each.scenario_id], scripts[each.scenario_id], before, after)
            for each in named
        )
    return replace(found, changes=named, is_explained=True)


def _steps_that_changed(change: ClientChange, before: ComparedTarget, after: ComparedTarget) -> Sequence[int]:
    """Return the steps that two targets answer differently, from a scenario's change on."""
    answers = [seen_in(side.trace.events.get(change.scenario_id, ())) for side in (before, after)]
    steps = {step for step, *_ in unequal_places(*answers) if step > change.step}
    return (change.step, *sorted(steps))


def _explained(
    change: ClientChange,
    causes: Sequence[Cause],
    script: Script,
    before: ComparedTarget,
    after: ComparedTarget,
) -> ClientChange:
    """Return a change with its cause, and the later answers at which further causes first show."""
    if not causes:
        return change
    (_, behaviours), *further = causes
    later = [
        _with_cause(seen, names)
        for step, names in further
        # A flaky change has no other cause.
        if not change.is_flaky
        and (seen := change_of(script, before, after, since=step)) is not None
        and seen.step == step
    ]
    return replace(_with_cause(change, behaviours), also=tuple(later))


def _with_cause(change: ClientChange, names: tuple[str, ...]) -> ClientChange:
    return replace(change, behaviours=names, sources=tuple(behaviour_source(name) for name in names))
