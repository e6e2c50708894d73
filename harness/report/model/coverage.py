"""Targets' coverage of the catalogue's rows: values for the coverage page, the terminal and Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import ceil, log10
from typing import Final

from harness.report.model.phrases import GLYPHS
from harness.report.model.run_data import Run
from harness.report.model.tables import read_rows
from harness.spark.rows import ClauseCoverage, ClauseStatus, ErrorCodeCount
from harness.verdict import Outcome

STATUS_GLYPHS: Final = {
    ClauseStatus.DIFFERS: GLYPHS[Outcome.DIVERGES],
    ClauseStatus.AGREED: GLYPHS[Outcome.CONFORMS],
    ClauseStatus.UNCLEAR: GLYPHS[Outcome.INDETERMINATE],
    ClauseStatus.NOT_APPLICABLE: GLYPHS[Outcome.NOT_APPLICABLE],
    ClauseStatus.NOT_EXERCISED: "○",
    ClauseStatus.EXCLUDED: "·",
}
"""One glyph for each status; a status that follows from an outcome has that outcome's glyph."""
STATUS_STYLES: Final = {
    ClauseStatus.DIFFERS: "diverges",
    ClauseStatus.AGREED: "conforms",
    ClauseStatus.UNCLEAR: "indeterminate",
    ClauseStatus.NOT_APPLICABLE: "not-applicable",
    ClauseStatus.NOT_EXERCISED: "lacking",
    ClauseStatus.EXCLUDED: "excluded",
}
"""The class attribute of a status's mark."""
_RAN: Final = frozenset((ClauseStatus.AGREED, ClauseStatus.DIFFERS))
HEAT_MAX: Final = 5
"""The highest class of a heat table's cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseLine:
    """One row of the catalogue with its coverage."""

    clause: str
    section_title: str
    statement: str
    exclusion: str | None
    reason: str | None
    """Why the row is excluded; None if it is not."""
    scenario_ids: tuple[str, ...]
    """Scenarios that name the row."""
    standings: Mapping[str, ClauseStatus]
    """Status by target; empty if the coverage is not of a run."""

    @property
    def is_due(self) -> bool:
        """Whether a scenario should exercise the row."""
        return self.exclusion is None

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
        return tuple(line for line in self.lines if line.is_due)

    @property
    def missing(self) -> tuple[ClauseLine, ...]:
        """Rows that a scenario should exercise, but none does."""
        return tuple(line for line in self.due if not line.is_exercised)

    @property
    def stale_exclusions(self) -> tuple[ClauseLine, ...]:
        """Rows that are excluded although a scenario names them."""
        return tuple(line for line in self.lines if not line.is_due and line.scenario_ids)

    @property
    def percent(self) -> float:
        """The percentage of due rows that are exercised; 100 if none is due."""
        return 100.0 * (1 - len(self.missing) / len(self.due)) if self.due else 100.0

    def exclusions(self) -> Counter[str]:
        """Return the counts of excluded rows, by the kind of exclusion."""
        return Counter(line.exclusion for line in self.lines if line.exclusion is not None)

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
        grouped = groupby(self.lines, key=lambda line: line.section_title)
        return tuple((title, tuple(lines)) for title, lines in grouped)


def coverage_of_rows(run_id: str, targets: Iterable[str], rows: Iterable[ClauseCoverage]) -> Coverage:
    """Return the coverage of a run from its rows, one for each target and clause."""
    ordered = sorted(
        (row for row in rows if row.run_id == run_id), key=lambda row: (row.section, row.clause, row.target)
    )
    lines = [_line(tuple(of_clause)) for _, of_clause in groupby(ordered, key=lambda row: row.clause)]
    return Coverage(subject=f"run {run_id}", targets=tuple(targets), lines=tuple(lines))


def _line(rows: tuple[ClauseCoverage, ...]) -> ClauseLine:
    first = rows[0]
    return ClauseLine(
        clause=first.clause,
        section_title=first.section_title,
        statement=first.statement,
        exclusion=first.exclusion,
        reason=first.reason,
        scenario_ids=tuple(sorted({name for row in rows for name in row.scenario_ids})),
        standings={row.target: ClauseStatus(row.standing) for row in rows},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """How often one version of an API was answered with one error code."""

    count: int
    heat: int
    """0 if it never was, otherwise from 1 to `HEAT_MAX` by orders of magnitude."""
    title: str
    """The counts target by target, as a tooltip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatTable:
    """The error codes in all targets' answers to one API, by version."""

    api: str
    error_codes: tuple[str, ...]
    rows: tuple[tuple[int, tuple[HeatCell, ...]], ...]
    """By version, ascending; one cell for each error code."""


def heat_tables(counts: Iterable[ErrorCodeCount]) -> tuple[HeatTable, ...]:
    """Return a table of error codes by version for each API."""
    ordered = sorted(counts, key=lambda each: each.api)
    return tuple(_heat_table(api, tuple(group)) for api, group in groupby(ordered, key=lambda each: each.api))


def _heat_table(api: str, counts: tuple[ErrorCodeCount, ...]) -> HeatTable:
    codes = sorted({each.error_code for each in counts}, key=lambda code: (code != "NONE", code))
    versions = sorted({each.api_version for each in counts})
    return HeatTable(
        api=api,
        error_codes=tuple(codes),
        rows=tuple(
            (
                version,
                tuple(
                    _heat_cell([e for e in counts if (e.api_version, e.error_code) == (version, code)])
                    for code in codes
                ),
            )
            for version in versions
        ),
    )


def _heat_cell(counts: list[ErrorCodeCount]) -> HeatCell:
    total = sum(each.response_count for each in counts)
    reported = sorted(f"{each.target}: {each.response_count}" for each in counts)
    heat = min(HEAT_MAX, 1 + ceil(log10(total))) if total else 0
    return HeatCell(count=total, heat=heat, title="\n".join(reported))


def read_coverage(run: Run) -> Coverage:
    """Read a run's coverage of the catalogue from its tables.

    Raises:
        ReportError: the table was not built.
    """
    rows = read_rows(run.directory, "clause_coverage", ClauseCoverage)
    return coverage_of_rows(run.header.run_id, [summary.target for summary in run.targets], rows)


def clause_anchor(clause: str) -> str:
    """Return the anchor of a row on the coverage page."""
    return f"clause-{clause}"


def coverage_globals() -> dict[str, object]:
    """Return the globals that the page's template needs in addition to its values."""
    return {"standing_glyphs": STATUS_GLYPHS, "standing_styles": STATUS_STYLES}
