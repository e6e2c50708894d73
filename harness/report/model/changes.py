"""What a comparison says to clients, row by row, and the comparisons between a run's own targets."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

from harness.diff.model import Attribution
from harness.diff.target_pattern import is_reference
from harness.report.model.comparison import (
    ADVERTISED,
    FLAKY,
    UNKNOWN,
    ClientChange,
    ComparedTarget,
    Comparison,
    changes,
)
from harness.report.model.phrases import counted, links_in
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
from harness.targets.base.interface import TargetError
from harness.targets.reference.behaviours import ANOTHER_COORDINATOR, behaviour_sheet, changes_with
from harness.targets.reference.profile import kafka_defaults
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import COORDINATOR
from harness.trace.files import RunFolder, read_records

NAME_COUNT_MAX: Final = 6
"""The number of scenarios named in a line; JSON has all."""
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

    @property
    def facts(self) -> tuple[str, ...]:
        """Whom it concerns, since when, and what to do, a line each."""
        named = (("who", self.who), ("since", self.since), ("do", self.do))
        return (*self.details, *(f"{name}: {text}" for name, text in named if text))


def rows(comparison: Comparison) -> tuple[ChangeRow, ...]:
    """Return what changes for clients: versions that are gone, then by effect, then the most frequent."""
    seen = [each for change in comparison.changes for each in (change, *change.also)]
    grouped: dict[tuple[str, str, Effect], list[ClientChange]] = defaultdict(list)
    for change in seen:
        cause = change.deviation if comparison.is_judgement else change.cause
        grouped[cause, _says(comparison, change), _effect(comparison, change)].append(change)
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
    return min(known, key=_EFFECTS.index) if known else effect(change)


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
        if count := sum(map(len, left_out.values())):
            more = f", and {counted(len(left_out) - 1, 'more reason')}" if len(left_out) > 1 else ""
            yield f"{counted(count, 'scenario')} ran only on the {which}: {next(iter(left_out))}{more}"
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


def versions(run: Run) -> tuple[Comparison, ...]:
    """Compare the targets of a run, each with the one before it, or with the one that the run names for that.

    References in process, and targets on which nothing ran, are left out.
    """
    named = [ComparedTarget(run=run, target=each) for each in run.header.targets if each in run.by_target]
    measured = [(found.target, each) for each in named if (found := run.measure_of(each.target))]
    if measured:
        return tuple(_named(ComparedTarget(run=run, target=name), each) for name, each in measured)
    sides = [each for each in named if each.ran and not is_reference(each.summary.spec)]
    known = _attributed(RunFolder(run.directory))
    return tuple(_with_causes(_named(*pair), *pair, known) for pair in pairwise(sides))


def _named(before: ComparedTarget, after: ComparedTarget) -> Comparison:
    return replace(changes(before, after), before=before.target, after=after.target)


_Attributed: TypeAlias = Mapping[tuple[str, str | None, str | None], Mapping[str, str]]
"""Behaviours, with the places where Kafka decides them, by scenario and pair of references."""


def _attributed(folder: RunFolder) -> _Attributed:
    found: dict[tuple[str, str | None, str | None], dict[str, str]] = defaultdict(dict)
    for each in read_records(Attribution, folder.attributions) if folder.attributions.exists() else ():
        named = zip(each.behaviours, each.sources, strict=True)
        found[each.scenario_id, each.from_oracle, each.to_oracle].update(named)
    return found


def _with_causes(
    found: Comparison, before: ComparedTarget, after: ComparedTarget, known: _Attributed
) -> Comparison:
    oracles = before.summary.oracle, after.summary.oracle
    explained = []
    for each in found.changes:
        named = dict(sorted(known.get((each.scenario_id, *oracles), {}).items()))
        explained.append(replace(each, behaviours=tuple(named), sources=tuple(named.values())))
    return replace(found, is_explained=True, changes=tuple(explained))


def by_scenario(comparisons: Iterable[Comparison]) -> Mapping[str, Sequence[tuple[Comparison, ClientChange]]]:
    """Group the changes of comparisons by scenario."""
    found: dict[str, list[tuple[Comparison, ClientChange]]] = defaultdict(list)
    for each in comparisons:
        for change in each.changes:
            found[change.scenario_id].append((each, change))
    return found


def by_cause(comparisons: Sequence[Comparison]) -> Mapping[str, Sequence[int]]:
    """Count the changes of each cause in each comparison, the most frequent cause first."""
    counts = [Counter(cause for change in each.changes for cause in change.causes) for each in comparisons]
    found = {cause: [each[cause] for each in counts] for each in counts for cause in each}
    return dict(sorted(found.items(), key=lambda each: -sum(each[1])))


def how_much(comparisons: Sequence[Comparison]) -> str:
    """Return one sentence on how much changed in all comparisons of a run; empty if nothing did."""
    count = len(by_scenario(comparisons))
    changed = sum(len(each.changes) for each in comparisons)
    return f"{counted(count, 'scenario')} changed, {counted(changed, 'change')} in all." if count else ""
