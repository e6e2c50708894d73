"""Changes from one target of a run to the next, row by row, as pages and files show them."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

from harness.diff.model import Attribution, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.comparison import (
    ADVERTISED,
    FLAKY,
    UNKNOWN,
    ClientChange,
    ComparedTarget,
    Comparison,
    change_of,
    compared,
)
from harness.report.model.field_rows import readable
from harness.report.model.phrases import PROGRAM, counted, links_in, place, property_options, shortened
from harness.report.model.run_data import Run
from harness.results.client_impact import (
    BEHAVIOURS,
    Effect,
    audience,
    audience_words,
    deviation_source,
    effect,
    outdated_clients,
    removals_between,
)
from harness.results.status import NEEDS_ATTENTION, status_of
from harness.targets.base.interface import TargetError
from harness.targets.reference.behaviours import ANOTHER_COORDINATOR, behaviour_sheet, changes_with
from harness.targets.reference.profile import kafka_defaults
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import COORDINATOR
from harness.trace.events import EventKind
from harness.trace.files import RunFolder, read_records
from harness.verdict import COMPARABLE, RIGHT, Expectation

FIELD_COUNT_MAX: Final = 4
"""The number of fields shown of one change; JSON has all."""
NAME_COUNT_MAX: Final = 6
"""The number of scenarios named in a line; JSON has all."""
_VALUE_LENGTH_MAX: Final = 160
_WITH: Final = re.compile(r"\b([Ww])ith(out)? it,")
"""How a text about a behaviour begins what a release does that has it, or lacks it."""
_EFFECTS: Final = tuple(Effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One thing that changes for clients."""

    effect: Effect
    says: str
    """What changes, in plain words."""
    who: str
    since: str = ""
    """The releases that have it, with KIP or KAFKA-number."""
    do: str = ""
    details: tuple[str, ...] = ()
    """Further lines, e.g. the APIs and versions that are gone."""
    cause: str = ""
    changes: tuple[ClientChange, ...] = ()
    """The scenarios that show it; the first is the example."""


def rows(comparison: Comparison) -> tuple[ChangeRow, ...]:
    """Return what changes for clients: versions that are gone, then by effect, then the most frequent."""
    seen = [each for change in comparison.changes for each in (change, *change.also)]
    grouped: dict[tuple[str, str, Effect], list[ClientChange]] = {}
    for change in seen:
        cause = change.deviation if comparison.is_judgement else change.cause
        key = (cause, _says(comparison, change), _effect(comparison, change))
        grouped.setdefault(key, []).append(change)
    ordered = sorted(
        grouped.items(), key=lambda each: (_EFFECTS.index(each[0][2]), -len(each[1]), each[0][:2])
    )
    gone = () if comparison.is_judgement else tuple(_gone_versions(comparison))
    return (*gone, *(_row(comparison, *key, found) for key, found in ordered))


def _row(
    comparison: Comparison, cause: str, says: str, worst: Effect, found: Sequence[ClientChange]
) -> ChangeRow:
    first = found[0]
    impacts = [BEHAVIOURS[name] for name in first.named if name in BEHAVIOURS]
    who = [key for each in impacts for key in each.who] or audience(first.api)
    return ChangeRow(
        effect=worst,
        says=says,
        who=audience_words(who),
        since=", ".join(dict.fromkeys((*_since(comparison, first), *links_in(cause)))),
        do=" ".join(each.do for each in impacts if worst == Effect.STOPS and each.do),
        details=() if first.named else tuple(filter(None, [deviation_source(first.deviation)])),
        cause=cause,
        changes=tuple(found),
    )


def _since(comparison: Comparison, change: ClientChange) -> Iterator[str]:
    """Yield the releases with which the behaviours of a change begin or end, with their issues."""
    sides = [reference_profile(name) for name in comparison.profiles]
    for name in change.named:
        if name == COORDINATOR:
            yield ANOTHER_COORDINATOR
            continue
        try:
            release, source = changes_with(name, *sides), behaviour_sheet(name).source
        except TargetError:
            continue
        issues = ", ".join(links_in(source))
        yield f"{release} ({issues})" if issues else release


def _effect(comparison: Comparison, change: ClientChange) -> Effect:
    if change.cause in {FLAKY, ADVERTISED}:
        return Effect.NOBODY
    known = [
        each.lost if name in comparison.lost and each.lost is not None else each.effect
        for name in change.named
        if (each := BEHAVIOURS.get(name)) is not None
    ]
    return min(known, key=_EFFECTS.index) if known else effect(change.contrast)


def _says(comparison: Comparison, change: ClientChange) -> str:
    if change.cause == FLAKY:
        return "A side's result did not recur: this need not be a change between releases."
    known = [
        in_time(each.says, is_lost=name in comparison.lost)
        for name in change.named
        if (each := BEHAVIOURS.get(name)) is not None
    ]
    return " ".join(known) or change.consequence


def in_time(text: str, *, is_lost: bool) -> str:
    """Return a text about a behaviour as one about a change: what is the case now, and what was before."""

    def when(found: re.Match[str]) -> str:
        word = "before" if (found[2] is None) == is_lost else "now"
        return f"{word.capitalize() if found[1] == 'W' else word}:"

    first = _WITH.search(text)
    describes_it = first is None or (first[2] and not text.startswith((first[0], "This concerns")))
    return f"{'Before: ' if is_lost and describes_it else ''}{_WITH.sub(when, text)}"


def _gone_versions(comparison: Comparison) -> Iterator[ChangeRow]:
    """Yield the APIs of which the latter no longer serves what the former served."""
    before, after = comparison.api_ranges
    raised = {api: (before[api][0], after[api][0]) for api in before if api in after}
    raised = {api: minima for api, minima in raised.items() if minima[0] < minima[1]}
    if raised:
        removals = removals_between(*(reference_profile(name).version for name in comparison.profiles))
        yield ChangeRow(
            effect=Effect.STOPS,
            says=(
                f"The oldest versions of {counted(len(raised), 'API')} are gone. A client that has no newer "
                "ones fails: it refuses the broker, or the broker closes the connection."
            ),
            who="; ".join(_outdated(raised)) or "clients that send nothing newer",
            since=", ".join(f"{release} ({each.name})" for release, each in removals.items()),
            do="Upgrade these clients before the brokers.",
            details=(
                ", ".join(f"{api} {_versions(*minima)}" for api, minima in sorted(raised.items())),
                *(each.says for each in removals.values()),
            ),
        )
    if ended := sorted(before.keys() - after.keys()):
        yield ChangeRow(
            effect=Effect.STOPS,
            says=f"{', '.join(ended)}: no longer served in any version.",
            who="clients that send them",
        )


def _outdated(raised: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    for name, releases in outdated_clients({api: least for api, (_, least) in raised.items()}).items():
        listed = [f"{release} ({', '.join(apis)})" for release, apis in releases.items()]
        yield f"{name} before {', '.join(listed)}"


def _versions(first: int, served: int) -> str:
    return f"v{first}" if served == first + 1 else f"v{first}-{served - 1}"


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield what is new, which defaults differ, and what could not be compared, a line each."""
    if not comparison.is_judgement:
        yield from _protocols(comparison)
        yield from _defaults(comparison)
    for left_out, which in ((comparison.newly_run, "latter"), (comparison.run_no_more, "former")):
        if count := sum(len(each.scenarios) for each in left_out):
            more = f", and {counted(len(left_out) - 1, 'more reason')}" if len(left_out) > 1 else ""
            yield f"{counted(count, 'scenario')} ran only on the {which}: {left_out[0].reason}{more}"
    for names, what in (
        (comparison.only_after, "only in the latter's run"),
        (comparison.only_before, "only in the former's run"),
        (comparison.rewritten, "rewritten in between, and not compared"),
    ):
        if names:
            more = f" and {len(names) - NAME_COUNT_MAX} more" if len(names) > NAME_COUNT_MAX else ""
            yield f"{counted(len(names), 'scenario')} {what}: {', '.join(names[:NAME_COUNT_MAX])}{more}"


def _protocols(comparison: Comparison) -> Iterator[str]:
    for which, names in (("new", comparison.gained), ("gone", comparison.lost)):
        found = [each.protocol for name, each in BEHAVIOURS.items() if name in names and each.protocol]
        if found:
            yield f"{which} in {comparison.profiles[1]}: {', '.join(found)}"


def _defaults(comparison: Comparison) -> Iterator[str]:
    before, after = (kafka_defaults(name) for name in comparison.profiles)
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"another default: {name} was {before[name]}, and is {after[name]}"


def sentence(comparison: Comparison) -> str:
    """Return one sentence on how much changed."""
    changed = len(comparison.changes)
    unknown = sum(change.cause == UNKNOWN for change in comparison.changes)
    ran = changed + comparison.same_count
    if not changed:
        return f"none of {ran} scenarios changed"
    causes = f", {unknown or 'none'} of them for an unknown cause" if comparison.is_explained else ""
    return f"answers changed in {changed} of {ran} scenarios{causes}"


def status(comparison: Comparison, row: ChangeRow) -> str:
    """Return whether the behaviours of a row are `new` or `gone` in the latter; empty if neither."""
    names = row.changes[0].named if row.changes else ()
    reported = dict.fromkeys(
        "new" if name in comparison.gained else "gone"
        for name in names
        if name in comparison.gained | comparison.lost
    )
    return ", ".join(reported)


def first_place(change: ClientChange) -> str:
    """Return where a change first shows, in words."""
    version = "" if change.api_version is None else f" v{change.api_version}"
    return f"step {change.step}, {change.api}{version}"


def contrast_lines(change: ClientChange) -> tuple[str, ...]:
    """Return what changed, with one line for each field."""
    if not change.fields:
        was = _happening(change.before_kind, change.before_note)
        return (f"{was} → {_happening(change.after_kind, change.after_note)}",)
    reported = tuple(
        f"{each.path}: {_value(each.before)} → {_value(each.after)}"
        for each in change.fields[:FIELD_COUNT_MAX]
    )
    rest = len(change.fields) - FIELD_COUNT_MAX
    return (*reported, f"and {counted(rest, 'more field')}") if rest > 0 else reported


def _happening(kind: str | None, note: str | None) -> str:
    if kind is None:
        return "nothing, since the conversation had ended"
    said = _HAPPENINGS.get(kind, kind)
    return f"{said}: {shortened(note, _VALUE_LENGTH_MAX)}" if note and kind != EventKind.RESPONSE else said


_HAPPENINGS: Final = {
    EventKind.RESPONSE.value: "an answer",
    EventKind.CLOSED.value: "the connection closed",
    EventKind.MALFORMED.value: "an answer that cannot be read",
    EventKind.NO_ANSWER.value: "no answer",
    EventKind.SILENCE.value: "no answer yet",
}


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


def reproduction_of(comparison: Comparison, scenario_id: str) -> str:
    """Return a command line that runs a scenario on both sides again."""
    targets = tuple(word for spec in comparison.specs for word in ("--target", spec))
    properties = property_options([comparison.added.get(scenario_id, {})])
    return shlex.join((PROGRAM, "run", *targets, *properties, scenario_id))


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
        one, other = (self.targets[name] for name in pair)
        same_count = len(one.ran & other.ran) - len(found)
        seen = [change.seen for change in found]
        made = compared(one, other, seen, common=self.run.scripts, same_count=same_count)
        return replace(made, before=pair[0], after=pair[1], is_explained=True)

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
    return {
        name: ComparedTarget(run=run, target=name)
        for name in run.header.targets
        if name in run.by_target and not is_reference(run.target(name).spec)
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
