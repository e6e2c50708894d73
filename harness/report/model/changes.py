"""Changes from one target of a run to the next, as pages and files show them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

from harness.diff.check import TargetTrace
from harness.diff.judge import TargetInfo
from harness.diff.model import Attribution, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.change_rows import ChangeRow, contrast_lines, first_place, notes, rows
from harness.report.model.comparison import (
    ClientChange,
    ComparedTarget,
    Comparison,
    LoadedRun,
    change_of,
    compared,
)
from harness.report.model.phrases import links_in, place
from harness.report.model.run_data import Run
from harness.results.status import NEEDS_ATTENTION, status_of
from harness.trace.files import RunFolder, read_records
from harness.verdict import COMPARABLE, RIGHT, Expectation

_BY_PROFILES: Final = "each matches its release; no single named behaviour explains the change"
_ADVERTISED: Final = "each advertises the versions that its release serves"
_Causes: TypeAlias = Mapping[tuple[str, str | None, str | None], set[tuple[str, str]]]
"""Behaviours, and where Kafka decides them, by scenario and pair of references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A scenario that two neighbouring targets answer differently.

    Neighbours are consecutive targets in the order in which the run names them, leaving out references and
    targets on which the scenario could not run.
    """

    from_target: str
    to_target: str
    seen: ClientChange
    """The first answers that differ."""
    is_explained: bool
    """Whether each of the two targets does as its oracle does, or as an expectation entry lists."""
    reproduction: str
    """A command line that reproduces the change."""

    @property
    def scenario_id(self) -> str:
        """The scenario."""
        return self.seen.scenario_id

    @property
    def place(self) -> str:
        """Where the change first shows, e.g. `step 8, Heartbeat v4`."""
        return first_place(self.seen)

    @property
    def contrasts(self) -> tuple[str, ...]:
        """One line for each field, with its values before and after."""
        return contrast_lines(self.seen)

    @property
    def causes(self) -> tuple[str, ...]:
        """The named behaviours, each with its source; one phrase if there are none."""
        if not self.is_explained:
            before, after = self.seen.before_outcome, self.seen.after_outcome
            return (f"unexplained: {self.from_target} {before}, {self.to_target} {after}",)
        named = zip(self.seen.behaviours, self.seen.sources, strict=True)
        reported = tuple(f"{name} ({source})" for name, source in named)
        return reported or (_ADVERTISED if self.seen.api == "ApiVersions" else _BY_PROFILES,)

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
        return sum(not change.is_explained for change in self.changes)

    @property
    def causes(self) -> Mapping[str, int]:
        """The number of changes with each explanation, the most frequent first; a change may have several."""
        reported = Counter(cause for change in self.changes for cause in change.causes)
        return dict(reported.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes of a run, in the order of scenarios and, within one, of targets."""

    run: Run
    targets: Mapping[str, ComparedTarget]
    """By name, but for references."""
    changes: tuple[Change, ...]
    against: str | None
    """Name of the target that all others are compared with; None if each has its own reference."""
    findings: tuple[VersionChange, ...]
    """The differences from that target, by scenario; none if there is no such target."""

    @classmethod
    def of(cls, run: Run) -> "Changes":
        """Return the changes of a run in words."""
        measured = {each.target: run.measure_of(each.target) for each in run.targets}
        targets = _compared_targets(run)
        return cls(
            run=run,
            targets=targets,
            changes=tuple(_changes(run, targets)),
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
        return tuple(change for change in self.changes if not change.is_explained)

    def by_scenario(self) -> Mapping[str, Sequence[Change]]:
        """Group the changes by scenario."""
        found: dict[str, list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.scenario_id].append(change)
        return found

    def by_step(self) -> tuple["VersionStep", ...]:
        """Group the changes by step from one target to the next."""
        order = {target: index for index, target in enumerate(self.run.header.targets)}
        found: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.from_target, change.to_target].append(change)
        pairs = sorted(found, key=lambda pair: (order.get(pair[1], -1), order.get(pair[0], -1)))
        return tuple(
            VersionStep(
                from_target=pair[0],
                to_target=pair[1],
                changes=tuple(found[pair]),
                comparison=self._comparison(pair, found[pair]),
            )
            for pair in pairs
        )

    def _comparison(self, pair: tuple[str, str], found: Sequence[Change]) -> Comparison:
        one, other = (replace(self.targets[name].side(), label=name) for name in pair)
        same_count = len(one.ran & other.ran) - len(found)
        seen = [change.seen for change in found]
        made = compared(one, other, seen, common=self.run.scripts, same_count=same_count)
        return replace(made, is_explained=True)

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


def _compared_targets(run: Run) -> Mapping[str, ComparedTarget]:
    """Return the targets in the order in which the run names them, but for references."""
    infos = [
        TargetInfo(
            run_id=each.run_id, target=each.target, spec=each.spec, profile=each.profile, oracle=each.oracle
        )
        for each in run.targets
    ]
    loaded = LoadedRun(
        folder=RunFolder(run.directory),
        header=run.header,
        scripts={},
        traces={
            each.target: TargetTrace(info=each, events=run.steps.of_target(each.target)) for each in infos
        },
        judgements={(each.target, each.scenario_id): each for each in run.judgements},
    )
    named = [name for name in run.header.targets if name in run.by_target]
    return {
        name: ComparedTarget(loaded=loaded, target=name)
        for name in named
        if not is_reference(run.target(name).spec)
    }


def _changes(run: Run, targets: Mapping[str, ComparedTarget]) -> Iterator[Change]:
    order, causes = list(targets), _causes(RunFolder(run.directory))
    judged: dict[str, list[Judgement]] = defaultdict(list)
    for each in run.judgements:
        if each.target in targets and each.outcome in COMPARABLE and each.scenario_id in run.scripts:
            judged[each.scenario_id].append(each)
    for scenario_id, found in sorted(judged.items()):
        for one, other in pairwise(sorted(found, key=lambda each: order.index(each.target))):
            seen = change_of(run.scripts[scenario_id], targets[one.target], targets[other.target])
            if seen is None:
                continue
            named = sorted(causes[scenario_id, one.oracle, other.oracle])
            yield Change(
                from_target=one.target,
                to_target=other.target,
                seen=replace(
                    seen,
                    behaviours=tuple(name for name, _ in named),
                    sources=tuple(source for _, source in named),
                ),
                is_explained=all(
                    each.outcome in RIGHT or each.expectation == Expectation.EXPECTED for each in (one, other)
                ),
                reproduction=run.repetition_of_change(one.target, other.target, scenario_id),
            )


def _causes(folder: RunFolder) -> _Causes:
    found: dict[tuple[str, str | None, str | None], set[tuple[str, str]]] = defaultdict(set)
    for each in read_records(Attribution, folder.attributions) if folder.attributions.exists() else ():
        named = zip(each.behaviours, each.sources, strict=True)
        found[each.scenario_id, each.from_oracle, each.to_oracle].update(named)
    return found


def _finding(run: Run, judgement: Judgement) -> VersionChange:
    difference = run.first_difference(judgement)
    return VersionChange(
        judgement=judgement,
        place=place(difference) if difference else "",
        reported=run.contrast(difference) if difference else judgement.reason,
        reproduction=run.repetition(judgement),
    )
