"""Changes from one version to the next, as pages and files show them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.model import Judgement
from harness.report.model.behaviour_changes import BehaviourChange
from harness.report.model.change_rows import ChangeRow, contrast_lines, first_place, notes, rows
from harness.report.model.comparison import (
    ClientChange,
    Comparison,
    Side,
    api_ranges,
    changed_fields,
    compared,
)
from harness.report.model.phrases import links_in, place
from harness.report.model.run_data import Run
from harness.results.answer_impact import FieldChange
from harness.results.status import NEEDS_ATTENTION, status_of
from harness.trace.events import EventKind
from harness.trace.files import RunFolder

_BY_PROFILES: Final = "each matches its release; no single named behaviour explains the change"
_ADVERTISED: Final = "each advertises the versions that its release serves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one scenario, in words."""

    row: BehaviourChange
    seen: ClientChange
    """The same as the rows of every comparison have it."""
    place: str
    """Where the change first shows, e.g. `step 8, Heartbeat v4`."""
    contrasts: tuple[str, ...]
    """One line for each field, with its values before and after."""
    causes: tuple[str, ...]
    """The named behaviours, each with its source; one phrase if there are none."""
    reproduction: str
    """A command line that reproduces the change."""

    @property
    def explanation(self) -> str:
        """The named behaviours with their sources, or why there are none."""
        return ", ".join(self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """A difference between one target and the target that all others are compared with."""

    judgement: Judgement
    place: str
    reported: str
    """What was expected and what came, or why the conversation broke off."""
    reproduction: str
    """A command line that reproduces the difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """The changes from one target to the next."""

    from_target: str
    to_target: str
    changes: tuple[Change, ...]
    comparison: Comparison

    @property
    def rows(self) -> tuple[ChangeRow, ...]:
        """What changes for clients, the worst effect first."""
        return rows(self.comparison)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is new, which defaults differ, and what could not be compared."""
        return tuple(notes(self.comparison))

    @property
    def unexplained(self) -> int:
        """The number of unexplained changes."""
        return sum(not change.row.is_explained for change in self.changes)

    @property
    def causes(self) -> Mapping[str, int]:
        """The number of changes with each explanation, the most frequent first; a change may have several."""
        reported = Counter(cause for change in self.changes for cause in change.causes)
        return dict(reported.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes of a run, in the order of scenarios and, within one, of targets."""

    run: Run
    changes: tuple[Change, ...]
    against: str | None
    """Name of the target that all others are compared with; None if each has its own reference."""
    findings: tuple[VersionChange, ...]
    """The differences from that target, by scenario; none if there is no such target."""

    @classmethod
    def of(cls, run: Run) -> "Changes":
        """Return the changes of a run in words."""
        measured = {each.target: run.measure_of(each.target) for each in run.targets}
        return cls(
            run=run,
            changes=tuple(_change(run, row) for row in run.changes),
            against=next((measure.target for measure in measured.values() if measure), None),
            findings=tuple(
                _finding(run, each)
                for each in run.judgements
                if measured[each.target]
                and (run.first_difference(each) or status_of(each) in NEEDS_ATTENTION)
            ),
        )

    @property
    def unexplained(self) -> tuple[Change, ...]:
        """The changes in which at least one side does not behave as expected."""
        return tuple(change for change in self.changes if not change.row.is_explained)

    def by_scenario(self) -> Mapping[str, Sequence[Change]]:
        """Group the changes by scenario."""
        found: dict[str, list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.scenario_id].append(change)
        return found

    def by_step(self) -> tuple["VersionStep", ...]:
        """Group the changes by step from one target to the next."""
        order = {target: index for index, target in enumerate(self.run.header.targets)}
        found: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.from_target, change.row.to_target].append(change)
        pairs = sorted(found, key=lambda pair: (order.get(pair[1], -1), order.get(pair[0], -1)))
        return tuple(
            VersionStep(
                from_target=pair[0],
                to_target=pair[1],
                changes=tuple(found[pair]),
                comparison=_comparison(self.run, pair, found[pair]),
            )
            for pair in pairs
        )

    def by_cause(self) -> Mapping[str, Sequence[int]]:
        """Count the changes of each cause for each step of `by_step`, the most frequent cause first."""
        steps = [step.causes for step in self.by_step()]
        found = {name: [causes.get(name, 0) for causes in steps] for causes in steps for name in causes}
        return dict(sorted(found.items(), key=lambda each: -sum(each[1])))

    @property
    def sentence(self) -> str:
        """One sentence on how much changed."""
        unexplained = len(self.unexplained)
        return (
            f"{len(self.by_scenario())} of {len(self.run.scripts)} scenarios changed with some version, "
            f"{len(self.changes)} {'change' if len(self.changes) == 1 else 'changes'} in all, "
            f"{unexplained or 'none'} of them unexplained."
        )

    def known_as(self, scenario_id: str) -> str:
        """Return the KAFKA-numbers and KIPs that a scenario is about; empty if there are none."""
        script = self.run.scripts.get(scenario_id)
        return ", ".join(links_in(f"{script.source} {script.title} {script.notes}")) if script else ""


def _change(run: Run, row: BehaviourChange) -> Change:
    seen = _seen(run, row)
    return Change(
        row=row,
        seen=seen,
        place=first_place(seen),
        contrasts=contrast_lines(seen),
        causes=_causes(row),
        reproduction=run.repetition_of_change(row),
    )


def _seen(run: Run, row: BehaviourChange) -> ClientChange:
    script, before, after = run.scripts.get(row.scenario_id), row.before, row.after
    fields: tuple[FieldChange, ...] = ()
    if before and after and before.kind == after.kind == EventKind.RESPONSE:
        fields = changed_fields(before.canonical, after.canonical)
    return ClientChange(
        scenario_id=row.scenario_id,
        title=script.title if script else "",
        source=script.source if script else "",
        api=row.answer.api or "connection",
        api_version=row.answer.api_version,
        step=row.answer.step,
        actor=row.answer.actor,
        before_kind=before.kind if before else None,
        after_kind=after.kind if after else None,
        fields=fields,
        answer_count=row.step_count,
        before_outcome=row.from_outcome,
        after_outcome=row.to_outcome,
        delta="",
        behaviours=row.behaviours,
        sources=row.sources,
        known_as=links_in(f"{script.source} {script.title} {script.notes}") if script else (),
    )


def _comparison(run: Run, pair: tuple[str, str], found: Sequence[Change]) -> Comparison:
    one, other = (_side(run, target) for target in pair)
    both = one.ran & other.ran
    seen = [change.seen for change in found]
    made = compared(one, other, seen, common=run.scripts, same_count=len(both) - len(seen))
    return replace(made, is_explained=True)


def _side(run: Run, target: str) -> Side:
    summary, folder = run.target(target), RunFolder(run.directory)
    return Side(
        label=target,
        spec=summary.spec,
        profile=summary.profile,
        api_ranges=api_ranges(folder, target) if folder.headers_json(target).is_file() else {},
        judgements={each.scenario_id: each for each in run.judgements if each.target == target},
    )


def _finding(run: Run, judgement: Judgement) -> VersionChange:
    difference = run.first_difference(judgement)
    return VersionChange(
        judgement=judgement,
        place=place(difference) if difference else "",
        reported=run.contrast(difference) if difference else judgement.reason,
        reproduction=run.repetition(judgement),
    )


def _causes(row: BehaviourChange) -> tuple[str, ...]:
    if not row.is_explained:
        sides = ((row.from_target, row.from_outcome), (row.to_target, row.to_outcome))
        return (f"unexplained: {', '.join(f'{target} {outcome}' for target, outcome in sides)}",)
    named = zip(row.behaviours, row.sources, strict=True)
    reported = tuple(f"{name} ({source})" for name, source in named)
    return reported or (_ADVERTISED if row.answer.api == "ApiVersions" else _BY_PROFILES,)
