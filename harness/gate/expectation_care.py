"""Maintenance of expectation files: faults in them, obsolete entries, and which entries apply where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from harness.diff.check import CheckedRun
from harness.diff.expectations import ExpectationError, matches_scenario
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.expectation_file import LocatedEntry, located_entries
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """The result of checking expectation files."""

    entry_count: int
    faults: tuple[str, ...]
    """What makes a run refuse the files, or is probably a mistake."""
    expired: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outworn:
    """An entry that can be removed, or scenarios that it need not cover, and why."""

    entry: LocatedEntry
    why: str
    left: frozenset[str] = frozenset()
    """The scenarios that the entry still covers; empty if it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applies:
    """Whether an entry applies to a scenario on a target."""

    entry: LocatedEntry
    obstacles: tuple[str, ...]
    """Why the entry does not apply; empty if it does."""


def lint(paths: Sequence[Path], catalogue: frozenset[str], today: date) -> Linted:
    """Check files for what a run would refuse, for duplicate entries, and for expired entries."""
    faults: list[str] = []
    entries: list[LocatedEntry] = []
    for path in paths:
        try:
            entries += located_entries([path])
        except ExpectationError as error:
            faults += str(error).splitlines()
    faults += [
        f"{one.place}, field 'scenario': {one.entry.scenario!r} matches no scenario; "
        "see `kafka-conformance list` for the ids"
        for one in entries
        if not any(matches_scenario(one.entry.scenario, scenario_id) for scenario_id in catalogue)
    ]
    faults += [
        f"{one.place}, field 'cause': covers {scenario_id!r}, which is no scenario; "
        "`kafka-conformance expect prune` takes it out"
        for one in entries
        for scenario_id in sorted(one.sourced().scenarios - catalogue)
    ]
    faults += _twins(entries)
    expired = tuple(
        f"{one.place}: {one.entry.scenario} expired on {one.entry.expires}"
        for one in entries
        if one.entry.has_expired(today)
    )
    return Linted(entry_count=len(entries), faults=tuple(faults), expired=expired)


def _twins(entries: Iterable[LocatedEntry]) -> Iterator[str]:
    """Yield a message for each duplicate entry."""
    alike: dict[tuple[object, ...], list[LocatedEntry]] = defaultdict(list)
    for one in entries:
        entry = one.entry
        libraries = tuple(sorted(entry.libraries or ()))
        place = (entry.scenario, tuple(sorted(entry.targets)), libraries)
        if entry.cause is None:
            alike[*place, entry.outcome, entry.signature].append(one)
    for first, *others in alike.values():
        for other in others:
            yield f"{other.place}: says the same as {first.place}; remove one of them"


def outworn(
    runs: Sequence[tuple[CheckedRun, Mapping[str, TargetInfo]]],
    entries: Sequence[LocatedEntry],
    catalogue: frozenset[str],
    today: date,
) -> tuple[Outworn, ...]:
    """Return the entries that have expired, and those that matched no result that they apply to.

    Args:
        runs: each run, judged with `LocatedEntry.sourced()` of the entries, and its targets.
        entries: the entries of all files.
        catalogue: the ids of all scenarios.
        today: the date by which entries expire.
    """
    found = [_outworn_cause(one, runs, catalogue) for one in entries if not one.entry.has_expired(today)]
    found += [Outworn(entry=one, why=why) for one in entries if (why := _outworn(one, runs, today))]
    return tuple(each for each in found if each is not None)


def _outworn_cause(
    one: LocatedEntry,
    runs: Sequence[tuple[CheckedRun, Mapping[str, TargetInfo]]],
    catalogue: frozenset[str],
) -> Outworn | None:
    """Return what an entry need not cover: what conforms wherever it ran in the runs, or exists no more."""
    results = [(each, infos) for checked, infos in runs for each in checked.judgements]
    covered = one.sourced().scenarios
    gone = covered - catalogue | one.sourced().mended(results)
    if not gone:
        return None
    left = covered - gone
    why = f"{len(gone)} of {len(covered)} scenarios conform now, or are gone: {', '.join(sorted(gone))}"
    return Outworn(entry=one, why=why, left=left)


def _outworn(
    one: LocatedEntry, runs: Sequence[tuple[CheckedRun, Mapping[str, TargetInfo]]], today: date
) -> str:
    if one.entry.has_expired(today):
        return f"expired on {one.entry.expires}"
    if one.entry.may_stay_away(today):
        return ""
    concerned = [
        judgement
        for checked, infos in runs
        for judgement in checked.judgements
        if judgement.outcome != Outcome.NOT_APPLICABLE
        and one.concerns(judgement.scenario_id, infos[judgement.target])
    ]
    unclear = any(
        judgement.outcome in (Outcome.INDETERMINATE, Outcome.HARNESS_ERROR)
        and one.entry.outcome != judgement.outcome
        for judgement in concerned
    )
    if not concerned or unclear or any(one.entry.foresaw(judgement) for judgement in concerned):
        return ""
    results = "result" if len(concerned) == 1 else "results"
    return f"stale: none of {len(concerned)} {results} that it speaks of is as it says"


def applying(
    entries: Iterable[LocatedEntry],
    scenario_id: str,
    info: TargetInfo,
    judgement: Judgement | None,
    today: date,
) -> tuple[Applies, ...]:
    """Return, for every entry that names a scenario, whether it applies to it on a target, or why not.

    Args:
        entries: the entries of all files.
        scenario_id: the scenario.
        info: the target.
        judgement: its result in a run, if a run was given.
        today: the date by which entries expire.
    """
    return tuple(
        Applies(entry=one, obstacles=tuple(_obstacles(one, scenario_id, info, judgement, today)))
        for one in entries
        if _speaks_of(one, scenario_id, judgement)
    )


def _speaks_of(one: LocatedEntry, scenario_id: str, judgement: Judgement | None) -> bool:
    """Return whether an entry names a scenario; one with a cause covers it, or has a cause of its result."""
    is_named = one.entry.cause is None or scenario_id in one.sourced().scenarios
    is_seen = judgement is not None and not set(one.entry.causes).isdisjoint(judgement.causes)
    return matches_scenario(one.entry.scenario, scenario_id) and (is_named or is_seen)


def _obstacles(
    one: LocatedEntry, scenario_id: str, info: TargetInfo, judgement: Judgement | None, today: date
) -> Iterator[str]:
    entry = one.entry
    if entry.cause is not None and scenario_id not in one.sourced().scenarios:
        yield "it does not cover this scenario; `kafka-conformance expect update` adds it"
    if not entry.concerns(scenario_id, info):
        version = f", profile {info.profile}" if info.profile else ""
        yield f"its targets {', '.join(entry.targets)} do not fit {info.spec}{version}"
    if entry.has_expired(today):
        yield f"it expired on {entry.expires}"
    if judgement is None:
        return
    if judgement.outcome != entry.outcome:
        yield f"it lists {entry.outcome!r}, and the run has {judgement.outcome!r}"
    elif entry.signature not in (None, judgement.signature):
        yield f"it pins signature {entry.signature}, and the run's finding has {judgement.signature}"
    elif entry.cause is not None and not entry.foresaw(judgement):
        yield "the run's result has not its cause"
