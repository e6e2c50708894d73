"""Maintenance of expectation files: edits, faults, entries that are obsolete, and those that a run lacks.

Edits leave the rest as its author wrote it: comments, order, formatting. Values are changed with tomlkit,
which preserves their surroundings. Entries are removed line by line, each with the comment directly above it,
because TOML parsers assign such a comment to the entry before. After every edit the result is parsed again;
it is refused unless it has exactly the intended entries.

What diverges becomes one entry for each cause, with the scenarios that it covers. A cause that shows only
where another one does stands beside that one, in its entry. What is flaky or broke off, and the results of
client scripts, become an entry each.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from harness.diff.expectations import (
    Entry,
    ExpectationError,
    SourcedEntry,
    check_scenarios,
    load_expectations,
    matches_scenario,
)
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.target_pattern import matches_target
from harness.gate.evaluate import JudgedRun
from harness.report.model.phrases import entry_toml, entry_values
from harness.results.status import FORESEEABLE, ResultStatus, status_of
from harness.trace.events import TARGET_LOST
from harness.verdict import Outcome

_ENTRY: Final = re.compile(r"\s*\[\[\s*expect\s*\]\]\s*(#.*)?")


class EditError(Exception):
    """A file cannot be changed as requested; the message says why, and what to do by hand."""


def without_entries(text: str, indexes: Collection[int]) -> str:
    """Remove entries, each with the comment directly above it.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    lines = text.splitlines(keepends=True)
    starts = _starts(lines)
    entries = _entries(text)
    if len(starts) != len(entries):
        raise EditError("its entries are not written as [[expect]], one a line; change it by hand")
    places = enumerate(pairwise([*starts, len(lines)]))
    ranges = [(start, _end(lines, start, nxt)) for index, (start, nxt) in places if index in indexes]
    gone = {line for first, end in ranges for line in range(first, end)}
    kept = "".join(line for number, line in enumerate(lines) if number not in gone)
    wanted = [entry for index, entry in enumerate(entries) if index not in indexes]
    return _verified(kept.rstrip("\n") + "\n" if kept.strip() else kept, wanted)


def with_values(text: str, index: int, values: Mapping[str, object]) -> str:
    """Change or add values of an entry.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    wanted = _entries(text)
    wanted[index] |= values
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise EditError(f"the file cannot be changed: {error}") from error
    tables = document["expect"]
    if not isinstance(tables, AoT):
        raise EditError("its entries are not written as [[expect]]; change it by hand")
    for key, value in values.items():
        tables[index][key] = value
    return _verified(tomlkit.dumps(document), wanted)


def with_entry(text: str, entry: str) -> str:
    """Append an entry after all others.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    wanted = [*_entries(text), *_entries(entry)]
    head = text.rstrip("\n")
    return _verified(f"{head}\n\n{entry}" if head else entry, wanted)


def covered_text(text: str, covered: Mapping[str, Collection[str]]) -> str:
    """Return the file beside an expectation file of that text: by cause of its entries, what they cover."""
    entries = [Entry.model_validate(each) for each in _entries(text)]
    causes = {cause for entry in entries for cause in entry.causes}
    content = {cause: sorted(covered[cause]) for cause in sorted(causes)}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _starts(lines: Sequence[str]) -> list[int]:
    """Return the line on which each entry begins, with the comment directly above it."""
    starts: list[int] = []
    for number, line in enumerate(lines):
        if _ENTRY.fullmatch(line.rstrip("\n")):
            start = number
            while start > 0 and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            # A comment at the top of a file is about the file.
            starts.append(number if start == 0 and not starts else start)
    return starts


def _end(lines: Sequence[str], start: int, following: int) -> int:
    """Return the line after an entry; a separate comment between two entries belongs to neither."""
    end = following
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    while end < following and not lines[end].strip():
        end += 1
    return end


def _entries(text: str) -> list[dict[str, object]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EditError(f"the file is not TOML: {error}") from error
    return list(content.get("expect", []))


def _verified(text: str, wanted: Sequence[Mapping[str, object]]) -> str:
    with suppress(EditError):
        if _entries(text) == list(wanted):
            return text
    raise EditError("the file is written in a way that cannot be changed safely; change it by hand")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outworn:
    """An entry that can be removed, or scenarios that it need not cover, and why."""

    entry: SourcedEntry
    why: str
    left: frozenset[str] = frozenset()
    """The scenarios that the entry still covers; empty if it goes."""


def lint(
    paths: Sequence[Path], catalogue: frozenset[str], today: date
) -> tuple[int, Sequence[str], Sequence[str]]:
    """Return how many entries files have, their faults, and which entries have expired.

    A fault is what a run would refuse, or probably a mistake, such as a duplicate entry.
    """
    faults: list[str] = []
    entries: list[SourcedEntry] = []
    for path in paths:
        try:
            entries += load_expectations([path])
        except ExpectationError as error:
            faults += str(error).splitlines()
    try:
        check_scenarios(entries, sorted(catalogue))
    except ExpectationError as error:
        faults += str(error).splitlines()
    faults += [
        f"{one.place}, field 'cause': covers {scenario_id!r}, which is no scenario; "
        "`kafka-conformance expect prune` takes it out"
        for one in entries
        for scenario_id in sorted(one.scenarios - catalogue)
    ]
    faults += _twins(entries)
    expired = [
        f"{one.place}: {one.entry.scenario} expired on {one.entry.expires}"
        for one in entries
        if one.entry.has_expired(today)
    ]
    return len(entries), faults, expired


def _twins(entries: Iterable[SourcedEntry]) -> Iterator[str]:
    alike: dict[tuple[object, ...], list[SourcedEntry]] = defaultdict(list)
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
    runs: Sequence[JudgedRun],
    entries: Sequence[SourcedEntry],
    catalogue: frozenset[str],
    today: date,
) -> tuple[Outworn, ...]:
    """Return the entries that have expired, and those that matched no result that they apply to."""
    found = [_outworn_cause(one, runs, catalogue) for one in entries if not one.entry.has_expired(today)]
    found += [Outworn(entry=one, why=why) for one in entries if (why := _outworn(one, runs, today))]
    return tuple(each for each in found if each is not None)


def _outworn_cause(one: SourcedEntry, runs: Sequence[JudgedRun], catalogue: frozenset[str]) -> Outworn | None:
    """Return what an entry need not cover: what conforms wherever it ran in the runs, or exists no more."""
    covered = one.scenarios
    gone = covered - catalogue | one.mended(
        (each, run.infos) for run in runs for each in run.checked.judgements
    )
    why = f"{len(gone)} of {len(covered)} scenarios conform now, or are gone: {', '.join(sorted(gone))}"
    return Outworn(entry=one, why=why, left=covered - gone) if gone else None


def _outworn(one: SourcedEntry, runs: Sequence[JudgedRun], today: date) -> str:
    if one.entry.has_expired(today):
        return f"expired on {one.entry.expires}"
    if one.entry.may_stay_away(today):
        return ""
    concerned = [each for run in runs for each in _concerned(one, run)]
    unclear = any(
        judgement.outcome in (Outcome.INDETERMINATE, Outcome.HARNESS_ERROR)
        and one.entry.outcome != judgement.outcome
        for judgement in concerned
    )
    if not concerned or unclear or any(one.entry.foresaw(judgement) for judgement in concerned):
        return ""
    results = "result" if len(concerned) == 1 else "results"
    return f"stale: none of {len(concerned)} {results} that it speaks of is as it says"


def _concerned(one: SourcedEntry, run: JudgedRun) -> Sequence[Judgement]:
    return [
        each
        for each in run.checked.judgements
        if each.outcome != Outcome.NOT_APPLICABLE and one.concerns(each.scenario_id, run.infos[each.target])
    ]


def applying(
    entries: Iterable[SourcedEntry],
    scenario_id: str,
    info: TargetInfo,
    judgement: Judgement | None,
    today: date,
) -> Sequence[tuple[SourcedEntry, Sequence[str]]]:
    """Return each entry that names a scenario, with the reasons why it does not apply to it on a target."""
    return [
        (one, tuple(_obstacles(one, scenario_id, info, judgement, today)))
        for one in entries
        if _speaks_of(one, scenario_id, judgement)
    ]


def _speaks_of(one: SourcedEntry, scenario_id: str, judgement: Judgement | None) -> bool:
    is_named = one.entry.cause is None or scenario_id in one.scenarios
    is_seen = judgement is not None and not set(one.entry.causes).isdisjoint(judgement.causes)
    return matches_scenario(one.entry.scenario, scenario_id) and (is_named or is_seen)


def _obstacles(
    one: SourcedEntry, scenario_id: str, info: TargetInfo, judgement: Judgement | None, today: date
) -> Iterator[str]:
    entry = one.entry
    if entry.cause is not None and scenario_id not in one.scenarios:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One entry to write or change, for results that are the same on some targets, or of one cause."""

    judgement: Judgement
    """The judgement of the first of these results."""
    specs: tuple[str, ...]
    """The targets, those of the entry to change included."""
    library: str | None
    """The library that a client script was run with; None for a scenario."""
    changes: SourcedEntry | None
    """The entry to change: an outdated one, or that of the same cause; None for a new entry."""
    cause: str | None = None
    covered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By cause, the scenarios that the entry is to cover, if it is one of a cause."""

    @property
    def says(self) -> str:
        """The proposal in one line."""
        where = "a new entry" if self.changes is None else f"changes {self.changes.place}"
        targets = ", ".join(self.specs)
        if self.cause is not None:
            count, more = len(self._scenarios), len(self.covered) - 1
            beside = f", and {more} cause{'s' * (more > 1)} beside it" if more else ""
            return f"{self.cause}{beside}: {count} scenario{'s' * (count > 1)} on {targets} ({where})"
        scenario = self.judgement.scenario_id + (f" with {self.library}" if self.library else "")
        return f"{scenario} {self.judgement.outcome} on {targets} ({where})"

    @property
    def scenario(self) -> str:
        """The id or pattern of the entry's scenarios: the narrowest that matches all that it covers."""
        return self.judgement.scenario_id if self.cause is None else narrowest(self._scenarios)

    @property
    def beside(self) -> tuple[str, ...]:
        """The entry's further causes."""
        return tuple(cause for cause in self.covered if cause != self.cause)

    @property
    def _scenarios(self) -> frozenset[str]:
        return frozenset().union(*self.covered.values())

    def values(self, given: Mapping[str, str]) -> dict[str, object]:
        """Return the values of the whole entry; `given` has the reason, the link and other keys."""
        if self.cause is None:
            return {**entry_values(self.judgement, self.specs, self.library), **given}
        beside = {"beside": list(self.beside)} if self.beside else {}
        place = {"scenario": self.scenario, "targets": list(self.specs)}
        return {"cause": self.cause, **beside, **place, **given}

    def applied_to(self, text: str, given: Mapping[str, str]) -> str:
        """Return a file's text with the proposal in it.

        Raises:
            EditError: the file cannot be changed safely.
        """
        values = self.values(given)
        if self.changes is None:
            return with_entry(text, entry_toml(values))
        changed = ("outcome", "signature") if self.cause is None else ("scenario", "targets")
        new = {key: values[key] for key in (*changed, *given) if key in values}
        pattern = self.changes.entry.scenario
        if self.cause is not None and all(matches_scenario(pattern, each) for each in self._scenarios):
            new["scenario"] = pattern
        return with_values(text, self.changes.index, new)


def narrowest(scenario_ids: Iterable[str]) -> str:
    """Return the narrowest pattern that matches all ids: an id, `a/b/*`, `a/**` or `**`."""
    ids = frozenset(scenario_ids)
    if len(ids) == 1:
        return next(iter(ids))
    folders = sorted({tuple(each.split("/")[:-1]) for each in ids})
    # Whatever the first and the last of sorted sequences begin with, all of them do.
    ends = zip(folders[0], folders[-1], strict=False)
    common = [part for part, _ in takewhile(lambda pair: pair[0] == pair[1], ends)]
    return "/".join((*common, "*" if common and len(folders) == 1 else "**"))


def proposals(
    run: JudgedRun,
    entries: Sequence[SourcedEntry],
    *,
    scenarios: Sequence[str],
    targets: Sequence[str],
    home: Path,
) -> tuple[Proposal, ...]:
    """Return the entries that would make the unexpected results of chosen scenarios and targets expected.

    Without patterns all are chosen. New entries are for the file `home`; the entry of a cause that it has
    already is changed.
    """
    groups: dict[tuple[str, str | None, str, str | None], list[Judgement]] = defaultdict(list)
    by_cause: dict[str, list[Judgement]] = defaultdict(list)
    infos = run.infos
    for each in run.checked.judgements:
        if not _is_chosen(each, infos[each.target], scenarios, targets):
            continue
        if is_by_cause(each):
            for cause in _uncovered(each, infos[each.target], entries):
                by_cause[cause].append(each)
        else:
            groups[each.scenario_id, infos[each.target].library, each.outcome, each.signature].append(each)
    return (
        *(
            _of_causes(causes, by_cause, infos, old)
            for old, causes in _in_entries(by_cause, [one for one in entries if one.path == home])
        ),
        *(_proposal(alike, run, entries) for alike in groups.values()),
    )


def superseded(
    run: JudgedRun, entries: Sequence[SourcedEntry], found: Sequence[Proposal]
) -> tuple[SourcedEntry, ...]:
    """Return entries that foresaw another difference of scenarios which entries with a cause cover now."""
    covered = frozenset().union(*(ids for each in found for ids in each.covered.values()))

    def is_superseded(one: SourcedEntry) -> bool:
        concerned = _concerned(one, run)
        is_spent = all(is_by_cause(each) and not one.entry.foresaw(each) for each in concerned)
        return bool(concerned) and is_spent

    by_place = [one for one in entries if one.entry.cause is None and not one.entry.sometimes]
    return tuple(one for one in by_place if one.entry.scenario in covered and is_superseded(one))


def is_by_cause(judgement: Judgement) -> bool:
    """Return whether entries with causes foresee a result; an indeterminate one has what did show."""
    is_red = status_of(judgement) in (ResultStatus.FAILED, ResultStatus.INDETERMINATE)
    return is_red and bool(judgement.causes)


def _is_chosen(
    judgement: Judgement, info: TargetInfo, scenarios: Sequence[str], targets: Sequence[str]
) -> bool:
    return (
        status_of(judgement) in FORESEEABLE
        and TARGET_LOST not in judgement.reason
        and (not scenarios or any(matches_scenario(one, judgement.scenario_id) for one in scenarios))
        and (not targets or any(matches_target(one, info) for one in targets))
    )


def _uncovered(judgement: Judgement, info: TargetInfo, entries: Sequence[SourcedEntry]) -> Iterator[str]:
    known = {
        cause
        for one in entries
        if one.concerns(judgement.scenario_id, info)
        for cause, covered in one.covered.items()
        if judgement.scenario_id in covered
    }
    return (cause for cause in judgement.causes if cause not in known)


def _in_entries(
    by_cause: Mapping[str, Sequence[Judgement]], entries: Sequence[SourcedEntry]
) -> Iterator[tuple[SourcedEntry | None, Sequence[str]]]:
    """Yield the causes that share an entry, the widest first, with the entry if there is one already."""
    known = {cause: one for one in entries for cause in one.entry.causes}
    for one in entries:
        if causes := [cause for cause in one.entry.causes if cause in by_cause]:
            yield one, causes
    shown = {cause: {each.scenario_id for each in alike} for cause, alike in by_cause.items()}
    together: dict[str, list[str]] = {}
    for cause in sorted(by_cause.keys() - known.keys(), key=lambda each: (-len(shown[each]), each)):
        wider = next((each for each in together if shown[cause] <= shown[each]), cause)
        together.setdefault(wider, []).append(cause)
    for causes in together.values():
        yield None, causes


def _of_causes(
    causes: Sequence[str],
    by_cause: Mapping[str, Sequence[Judgement]],
    infos: Mapping[str, TargetInfo],
    old: SourcedEntry | None,
) -> Proposal:
    results = [each for cause in causes for each in by_cause[cause]]
    targets = [] if old is None else old.entry.targets
    shown_on = [infos[each.target] for each in results]
    new = (info.spec for info in shown_on if not any(matches_target(one, info) for one in targets))
    covered = {} if old is None else dict(old.covered)
    for cause in causes:
        ids = frozenset(each.scenario_id for each in by_cause[cause])
        covered[cause] = covered.get(cause, frozenset()) | ids
    return Proposal(
        judgement=results[0],
        specs=tuple(dict.fromkeys((*targets, *new))),
        library=None,
        changes=old,
        cause=causes[0] if old is None else old.entry.cause,
        covered=covered,
    )


def _proposal(alike: Sequence[Judgement], run: JudgedRun, entries: Sequence[SourcedEntry]) -> Proposal:
    first = alike[0]
    return Proposal(
        judgement=first,
        specs=tuple(dict.fromkeys(run.infos[each.target].spec for each in alike)),
        library=run.infos[first.target].library,
        changes=next((one for one in entries if _is_outdated(one, alike, run)), None),
    )


def _is_outdated(one: SourcedEntry, alike: Sequence[Judgement], run: JudgedRun) -> bool:
    """Return whether an entry applies to these results alone, so that changing it affects no others."""
    if one.entry.cause is not None or one.entry.scenario != alike[0].scenario_id:
        return False
    concerned = {each.target for each in _concerned(one, run)}
    return bool(concerned) and concerned == {each.target for each in alike}
