"""Targets' coverage of the catalogue's rows: values for the coverage page, the terminal and JSON."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, log10
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from harness.diff.model import Judgement
from harness.report.model.phrases import GLYPHS, css_name
from harness.report.model.run_data import AnsweredCode, Run
from harness.scenario.script import Script
from harness.trace.clause import DECIDING, Clause, ClauseStatus
from harness.verdict import Outcome

_OUTCOMES: Final = {
    ClauseStatus.DIFFERS: Outcome.DIVERGES,
    ClauseStatus.AGREED: Outcome.CONFORMS,
    ClauseStatus.UNCLEAR: Outcome.INDETERMINATE,
    ClauseStatus.NOT_APPLICABLE: Outcome.NOT_APPLICABLE,
}
STATUS_MARKS: Final = {
    **{status: (GLYPHS[outcome], css_name(outcome)) for status, outcome in _OUTCOMES.items()},
    ClauseStatus.NOT_EXERCISED: ("○", "lacking"),
    ClauseStatus.EXCLUDED: ("·", "excluded"),
}
"""One glyph for each status, with its class attribute; those of the outcome that a status follows from."""
_RAN: Final = frozenset((ClauseStatus.AGREED, ClauseStatus.DIFFERS))
HEAT_MAX: Final = 5
"""The highest class of a heat table's cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseLine:
    """One row of the catalogue with its coverage."""

    clause: Clause
    scenario_ids: tuple[str, ...]
    """Scenarios that name the row."""
    standings: Mapping[str, ClauseStatus] = field(default_factory=dict)
    """Status by target; empty if the coverage is not of a run."""

    @property
    def is_exercised(self) -> bool:
        """Whether a scenario names the row and, if the coverage is of a run, ran to a verdict on a target."""
        if not self.standings:
            return bool(self.scenario_ids)
        return not _RAN.isdisjoint(self.standings.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The catalogue, row by row."""

    subject: str
    """The subject of the coverage: a run's id, or the scripts."""
    targets: tuple[str, ...]
    """The run's targets; none if the coverage is not of a run."""
    lines: tuple[ClauseLine, ...]
    """In the catalogue's order."""

    @property
    def due(self) -> tuple[ClauseLine, ...]:
        """Rows that a scenario should exercise."""
        return tuple(line for line in self.lines if line.clause.is_due)

    @property
    def missing(self) -> tuple[ClauseLine, ...]:
        """Rows that a scenario should exercise, but none does."""
        return tuple(line for line in self.due if not line.is_exercised)

    @property
    def stale_exclusions(self) -> tuple[ClauseLine, ...]:
        """Rows that are excluded although a scenario names them."""
        return tuple(line for line in self.lines if not line.clause.is_due and line.scenario_ids)

    @property
    def percent(self) -> float:
        """The percentage of due rows that are exercised; 100 if none is due."""
        return 100.0 * (1 - len(self.missing) / len(self.due)) if self.due else 100.0

    def exclusions(self) -> Counter[str]:
        """Return the counts of excluded rows, by the kind of exclusion."""
        return Counter(line.clause.exclusion for line in self.lines if line.clause.exclusion is not None)

    def tally(self, target: str) -> Counter[ClauseStatus]:
        """Return the counts of due rows, by their status on a target."""
        return Counter(line.standings[target] for line in self.due if target in line.standings)

    def differing(self) -> tuple[tuple[str, tuple[ClauseLine, ...]], ...]:
        """Return the targets on which due rows differ, each with these rows."""
        found = (
            (name, tuple(line for line in self.due if line.standings.get(name) == ClauseStatus.DIFFERS))
            for name in self.targets
        )
        return tuple((name, lines) for name, lines in found if lines)

    def sections(self) -> tuple[tuple[str, tuple[ClauseLine, ...]], ...]:
        """Group the rows by the title of their section."""
        grouped = groupby(self.lines, key=lambda line: line.clause.section_title)
        return tuple((title, tuple(lines)) for title, lines in grouped)


def coverage_of(
    subject: str, clauses: Iterable[Clause], targets: Sequence[str], judgements: Iterable[Judgement]
) -> Coverage:
    """Return how the results of a run's scenarios on its targets cover the rows of a catalogue."""
    naming: dict[str, set[str]] = defaultdict(set)
    outcomes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in judgements:
        for clause in each.clauses:
            naming[clause].add(each.scenario_id)
            outcomes[clause, each.target].add(each.outcome)
    return Coverage(
        subject=subject,
        targets=tuple(targets),
        lines=tuple(
            ClauseLine(
                clause=clause,
                scenario_ids=tuple(sorted(naming[clause.id])),
                standings={name: _status(clause, outcomes[clause.id, name]) for name in targets},
            )
            for clause in sorted(clauses, key=lambda each: (each.section, each.id))
        ),
    )


def _status(clause: Clause, outcomes: Collection[str]) -> ClauseStatus:
    """Return the first status that applies: a difference outweighs agreement, and agreement the rest."""
    for status, deciding in DECIDING.items():
        if not deciding.isdisjoint(outcomes):
            return status
    return ClauseStatus.NOT_EXERCISED if clause.is_due else ClauseStatus.EXCLUDED


class HeatCell(NamedTuple):
    """How often one version of an API was answered with one error code."""

    answers: int
    heat: int
    """0 if it never was, otherwise from 1 to `HEAT_MAX` by orders of magnitude."""
    title: str
    """The counts target by target, as a tooltip."""


HeatTable: TypeAlias = tuple[str, Sequence[str], Sequence[tuple[int, Sequence[HeatCell]]]]
"""An API, its error codes, and its versions in ascending order, each with a cell for each code."""


def heat_tables(counts: Mapping[AnsweredCode, int]) -> Iterator[HeatTable]:
    """Yield the error codes in all targets' answers by version, a table for each API."""
    for api, of_api in groupby(sorted(counts), key=itemgetter(0)):
        keys = tuple(of_api)
        codes = sorted({code for _, _, code, _ in keys}, key=lambda code: (code != "NONE", code))
        rows = []
        for version in dict.fromkeys(key[1] for key in keys):
            cells = ({key[3]: counts[key] for key in keys if key[1:3] == (version, code)} for code in codes)
            rows.append((version, tuple(map(_heat_cell, cells))))
        yield api, codes, rows


def _heat_cell(by_target: Mapping[str, int]) -> HeatCell:
    total = sum(by_target.values())
    shares = (f"{target}: {count}" for target, count in by_target.items())
    return HeatCell(total, min(HEAT_MAX, 1 + ceil(log10(total))) if total else 0, "\n".join(shares))


def run_coverage(run: Run) -> Coverage:
    """Return a run's coverage of the catalogue that is stored with it.

    Raises:
        TraceError: the catalogue is damaged.
    """
    targets = [summary.target for summary in run.targets]
    return coverage_of(f"run {run.header.run_id}", run.clauses.values(), targets, run.judgements)


def static_coverage(clauses: Mapping[str, Clause], scripts: Mapping[str, Script]) -> Coverage:
    """Return which rows the scenarios name, without any run."""
    naming: dict[str, list[str]] = defaultdict(list)
    for each in sorted(scripts.values(), key=lambda script: script.id):
        for name in each.clauses:
            naming[name].append(each.id)
    lines = [ClauseLine(clause=each, scenario_ids=tuple(naming[each.id])) for each in clauses.values()]
    return Coverage(subject="the scripts", targets=(), lines=tuple(lines))


def coverage_to_json(coverage: Coverage) -> dict[str, object]:
    """Return the coverage as JSON-like fields, the missing rows first."""
    return {
        "subject": coverage.subject,
        "due": len(coverage.due),
        "exercised": len(coverage.due) - len(coverage.missing),
        "percent": round(coverage.percent, 1),
        "excluded": dict(coverage.exclusions()),
        "missing": [line.clause.id for line in coverage.missing],
        "targets": {
            target: {status.value: count for status, count in sorted(coverage.tally(target).items())}
            for target in coverage.targets
        },
        "clauses": [
            {
                "id": line.clause.id,
                "section": line.clause.section_title,
                "statement": line.clause.statement,
                "exclusion": line.clause.exclusion,
                "reason": line.clause.reason,
                "scenarios": line.scenario_ids,
                "exercised": line.is_exercised,
                "targets": {target: status.value for target, status in line.standings.items()},
            }
            for line in coverage.lines
        ],
    }
