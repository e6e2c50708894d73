"""The coverage as Markdown, for a file beside the run or a comment on a change."""

from collections.abc import Iterable, Sequence

from harness.report.model.coverage import STATUS_GLYPHS, ClauseLine, Coverage
from harness.spark.rows import ClauseStatus


def coverage_markdown(coverage: Coverage) -> str:
    """Return a page: the totals, what no scenario exercises, and the catalogue section by section."""
    exercised = len(coverage.due) - len(coverage.missing)
    lines = [
        f"# Coverage: {coverage.subject}",
        "",
        f"{exercised} of {len(coverage.due)} rows that a client can observe are exercised"
        f" ({coverage.percent:.1f} %). "
        + ", ".join(f"{count} {why}" for why, count in sorted(coverage.exclusions().items()))
        + ".",
        "",
        *_totals(coverage),
        *_missing(coverage.missing),
        f"Signs: {', '.join(f'{glyph} {status.value}' for status, glyph in STATUS_GLYPHS.items())}.",
        "",
    ]
    for title, of_section in coverage.sections():
        lines += [f"## {title}", "", *_section(coverage, of_section), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _totals(coverage: Coverage) -> list[str]:
    if not coverage.targets:
        return []
    standings = [status for status in ClauseStatus if status is not ClauseStatus.EXCLUDED]
    rows = [
        [target, *(str(coverage.tally(target)[status] or "") for status in standings)]
        for target in coverage.targets
    ]
    return [*_table(["target", *(status.value for status in standings)], rows), ""]


def _missing(missing: Iterable[ClauseLine]) -> list[str]:
    rows = [[line.clause, line.statement] for line in missing]
    return ["## Not exercised", "", *_table(["row", "statement"], rows), ""] if rows else []


def _section(coverage: Coverage, lines: Sequence[ClauseLine]) -> list[str]:
    return _table(
        ["row", "statement", *coverage.targets, "scenarios, or why there is none"],
        [
            [
                line.clause,
                line.statement,
                *(STATUS_GLYPHS[line.standings[target]] for target in coverage.targets),
                _scenarios(line),
            ]
            for line in lines
        ],
    )


def _scenarios(line: ClauseLine) -> str:
    if line.scenario_ids:
        return ", ".join(f"`{name}`" for name in line.scenario_ids)
    return f"{line.exclusion}: {line.reason}" if line.exclusion else "**none**"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(headings), _row(["---"] * len(headings)), *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
