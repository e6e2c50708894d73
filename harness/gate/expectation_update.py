"""The changes to expectation files that would make a run's unexpected results expected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.diff.check import CheckedRun
from harness.diff.expectations import matches_scenario
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.target_pattern import matches_target
from harness.gate.expectation_file import LocatedEntry, with_entry, with_values
from harness.gate.words import entry_text
from harness.results.status import ResultStatus, status_of
from harness.trace.events import TARGET_LOST
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One entry to write or change, for results that are the same on some targets."""

    judgement: Judgement
    """The judgement of the first of these results."""
    specs: tuple[str, ...]
    library: str | None
    """The library that a client script was run with; None for a scenario."""
    changes: LocatedEntry | None
    """The outdated entry to change; None for a new entry."""

    @property
    def says(self) -> str:
        """The proposal in one line."""
        scenario = self.judgement.scenario_id + (f" with {self.library}" if self.library else "")
        what = f"{scenario} {self.judgement.outcome} on {', '.join(self.specs)}"
        where = "a new entry" if self.changes is None else f"changes {self.changes.place}"
        return f"{what} ({where})"

    def applied_to(self, text: str, *, reason: str, link: str, further: Mapping[str, str]) -> str:
        """Return a file's text with the proposal in it.

        Raises:
            EditError: the file cannot be changed safely.
        """
        if self.changes is None:
            entry = entry_text(
                self.judgement,
                list(self.specs),
                library=self.library,
                reason=reason,
                link=link,
                further=further,
            )
            return with_entry(text, entry)
        values = {"outcome": self.judgement.outcome, "reason": reason, "link": link, **further}
        if self.judgement.signature:
            values["signature"] = self.judgement.signature
        return with_values(text, self.changes.index, values)


def proposals(
    checked: CheckedRun,
    infos: Mapping[str, TargetInfo],
    entries: Sequence[LocatedEntry],
    *,
    scenarios: Sequence[str],
    targets: Sequence[str],
) -> tuple[Proposal, ...]:
    """Return the entries that would make the unexpected results of chosen scenarios and targets expected.

    Args:
        checked: the run, judged with the entries.
        infos: the run's targets.
        entries: the current entries of the files.
        scenarios: patterns; if empty, all are chosen.
        targets: patterns; if empty, all are chosen.
    """
    groups: dict[tuple[str, str | None, str, str | None], list[Judgement]] = {}
    for each in checked.judgements:
        if _is_chosen(each, infos[each.target], scenarios, targets):
            library = infos[each.target].library
            groups.setdefault((each.scenario_id, library, each.outcome, each.signature), []).append(each)
    return tuple(_proposal(alike, checked.judgements, infos, entries) for alike in groups.values())


def _is_chosen(
    judgement: Judgement, info: TargetInfo, scenarios: Sequence[str], targets: Sequence[str]
) -> bool:
    return (
        status_of(judgement) in (ResultStatus.FAILED, ResultStatus.INDETERMINATE, ResultStatus.FLAKY)
        and TARGET_LOST not in judgement.reason
        and (not scenarios or any(matches_scenario(one, judgement.scenario_id) for one in scenarios))
        and (not targets or any(matches_target(one, info) for one in targets))
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
    concerned = [each for each in ran if one.entry.concerns(each.scenario_id, infos[each.target])]
    return (
        one.entry.scenario == alike[0].scenario_id
        and bool(concerned)
        and {each.target for each in concerned} == {each.target for each in alike}
    )
