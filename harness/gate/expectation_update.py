"""The changes to expectation files that would make a run's unexpected results expected.

What diverges becomes one entry for each cause, with the scenarios that it covers. A cause that shows only
where another one does stands beside that one, in its entry. What is flaky or broke off, and the results of
client scripts, become an entry each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from harness.diff.check import CheckedRun
from harness.diff.expectations import matches_scenario
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.target_pattern import matches_target
from harness.gate.expectation_file import LocatedEntry, with_entry, with_values
from harness.gate.words import cause_text
from harness.report.model.phrases import entry_text
from harness.results.status import ResultStatus, status_of
from harness.trace.events import TARGET_LOST
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One entry to write or change, for results that are the same on some targets, or of one cause."""

    judgement: Judgement
    """The judgement of the first of these results."""
    specs: tuple[str, ...]
    """The targets, those of the entry to change included."""
    library: str | None
    """The library that a client script was run with; None for a scenario."""
    changes: LocatedEntry | None
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

    def applied_to(self, text: str, *, reason: str, link: str, further: Mapping[str, str]) -> str:
        """Return a file's text with the proposal in it.

        Raises:
            EditError: the file cannot be changed safely.
        """
        given = {"reason": reason, "link": link, **further}
        if self.changes is None and self.cause is not None:
            return with_entry(text, cause_text(self.cause, self.beside, self.scenario, self.specs, given))
        if self.changes is None:
            entry = entry_text(
                self.judgement,
                self.specs,
                library=self.library,
                reason=reason,
                link=link,
                further=further,
            )
            return with_entry(text, entry)
        if self.cause is not None:
            pattern = self.changes.entry.scenario
            is_wide = all(matches_scenario(pattern, each) for each in self._scenarios)
            scenario = pattern if is_wide else self.scenario
            place: dict[str, str | list[str]] = {"scenario": scenario, "targets": list(self.specs)}
            return with_values(text, self.changes.index, {**place, **given})
        values: dict[str, str | list[str]] = {"outcome": self.judgement.outcome, **given}
        if self.judgement.signature:
            values["signature"] = self.judgement.signature
        return with_values(text, self.changes.index, values)


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
    checked: CheckedRun,
    infos: Mapping[str, TargetInfo],
    entries: Sequence[LocatedEntry],
    *,
    scenarios: Sequence[str],
    targets: Sequence[str],
    home: Path,
) -> tuple[Proposal, ...]:
    """Return the entries that would make the unexpected results of chosen scenarios and targets expected.

    Args:
        checked: the run, judged with the entries.
        infos: the run's targets.
        entries: the current entries of the files.
        scenarios: patterns; if empty, all are chosen.
        targets: patterns; if empty, all are chosen.
        home: the file for new entries; the entry of a cause that it has already is changed.
    """
    groups: dict[tuple[str, str | None, str, str | None], list[Judgement]] = {}
    by_cause: dict[str, list[Judgement]] = {}
    for each in checked.judgements:
        if not _is_chosen(each, infos[each.target], scenarios, targets):
            continue
        if is_by_cause(each):
            for cause in _uncovered(each, infos[each.target], entries):
                by_cause.setdefault(cause, []).append(each)
        else:
            library = infos[each.target].library
            groups.setdefault((each.scenario_id, library, each.outcome, each.signature), []).append(each)
    return (
        *(
            _of_causes(causes, by_cause, infos, old)
            for old, causes in _in_entries(by_cause, [one for one in entries if one.path == home])
        ),
        *(_proposal(alike, checked.judgements, infos, entries) for alike in groups.values()),
    )


def superseded(
    checked: CheckedRun,
    infos: Mapping[str, TargetInfo],
    entries: Sequence[LocatedEntry],
    found: Sequence[Proposal],
) -> tuple[LocatedEntry, ...]:
    """Return entries that foresaw another difference of scenarios which entries with a cause cover now."""
    covered = frozenset().union(*(ids for each in found for ids in each.covered.values()))

    def is_superseded(one: LocatedEntry) -> bool:
        concerned = [
            each
            for each in checked.judgements
            if each.outcome != Outcome.NOT_APPLICABLE and one.concerns(each.scenario_id, infos[each.target])
        ]
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
        status_of(judgement) in (ResultStatus.FAILED, ResultStatus.INDETERMINATE, ResultStatus.FLAKY)
        and TARGET_LOST not in judgement.reason
        and (not scenarios or any(matches_scenario(one, judgement.scenario_id) for one in scenarios))
        and (not targets or any(matches_target(one, info) for one in targets))
    )


def _uncovered(judgement: Judgement, info: TargetInfo, entries: Sequence[LocatedEntry]) -> Iterator[str]:
    """Yield the causes of a result for which no entry covers it."""
    known = {
        cause
        for one in entries
        if one.concerns(judgement.scenario_id, info)
        for cause, covered in one.covered.items()
        if judgement.scenario_id in covered
    }
    return (cause for cause in judgement.causes if cause not in known)


def _in_entries(
    by_cause: Mapping[str, Sequence[Judgement]], entries: Sequence[LocatedEntry]
) -> Iterator[tuple[LocatedEntry | None, Sequence[str]]]:
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
    old: LocatedEntry | None,
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


def _proposal(
    alike: Sequence[Judgement],
    judgements: Iterable[Judgement],
    infos: Mapping[str, TargetInfo],
    entries: Sequence[LocatedEntry],
) -> Proposal:
    first = alike[0]
    ran = [
        each
        for each in judgements
        if each.scenario_id == first.scenario_id and each.outcome != Outcome.NOT_APPLICABLE
    ]
    return Proposal(
        judgement=first,
        specs=tuple(dict.fromkeys(infos[each.target].spec for each in alike)),
        library=infos[first.target].library,
        changes=next((one for one in entries if _is_outdated(one, alike, ran, infos)), None),
    )


def _is_outdated(
    one: LocatedEntry,
    alike: Sequence[Judgement],
    ran: Sequence[Judgement],
    infos: Mapping[str, TargetInfo],
) -> bool:
    """Return whether an entry applies to these results alone, so that changing it affects no others."""
    concerned = [each for each in ran if one.concerns(each.scenario_id, infos[each.target])]
    return (
        one.entry.cause is None
        and one.entry.scenario == alike[0].scenario_id
        and bool(concerned)
        and {each.target for each in concerned} == {each.target for each in alike}
    )
