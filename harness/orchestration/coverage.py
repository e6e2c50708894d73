"""How much of the catalogue is exercised: by the scripts alone, or by a run on each of its targets."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from harness.report.model.coverage import ClauseLine, Coverage, coverage_of_rows
from harness.report.model.tables import read_rows
from harness.scenario.script import Script
from harness.spark.rows import ClauseCoverage
from harness.trace.clause import Clause
from harness.trace.files import RunFolder


def static_coverage(clauses: Mapping[str, Clause], scripts: Mapping[str, Script]) -> Coverage:
    """Return which rows the scenarios name, without any run."""
    naming: dict[str, list[str]] = defaultdict(list)
    for script in scripts.values():
        for name in script.clauses:
            naming[name].append(script.id)
    return Coverage(
        subject="the scripts",
        targets=(),
        lines=tuple(
            ClauseLine(
                clause=clause.id,
                section_title=clause.section_title,
                statement=clause.statement,
                exclusion=clause.exclusion,
                reason=clause.reason,
                scenario_ids=tuple(sorted(naming[clause.id])),
                standings={},
            )
            for clause in clauses.values()
        ),
    )


def run_coverage(run_dir: Path) -> Coverage:
    """Return a run's coverage of the catalogue that is stored with it.

    Raises:
        TraceError: the folder is not a run's.
        ReportError: the run's tables were not built.
    """
    header = RunFolder(run_dir).read_run()
    rows = read_rows(run_dir, "clause_coverage", ClauseCoverage)
    targets = sorted({row.target for row in rows if row.run_id == header.run_id})
    return coverage_of_rows(header.run_id, targets, rows)


def coverage_to_json(coverage: Coverage) -> dict[str, object]:
    """Return the coverage as JSON-like fields, the missing rows first."""
    return {
        "subject": coverage.subject,
        "due": len(coverage.due),
        "exercised": len(coverage.due) - len(coverage.missing),
        "percent": round(coverage.percent, 1),
        "excluded": dict(coverage.exclusions()),
        "missing": [line.clause for line in coverage.missing],
        "targets": {
            target: {status.value: count for status, count in sorted(coverage.tally(target).items())}
            for target in coverage.targets
        },
        "clauses": [
            {
                "id": line.clause,
                "section": line.section_title,
                "statement": line.statement,
                "exclusion": line.exclusion,
                "reason": line.reason,
                "scenarios": line.scenario_ids,
                "exercised": line.is_exercised,
                "targets": {target: status.value for target, status in line.standings.items()},
            }
            for line in coverage.lines
        ],
    }
