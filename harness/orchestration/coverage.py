"""How much of the catalogue the scripts exercise, and any coverage as JSON."""

from collections import defaultdict
from collections.abc import Mapping

from harness.report.model.coverage import Coverage, line_of
from harness.scenario.script import Script
from harness.trace.clause import Clause


def static_coverage(clauses: Mapping[str, Clause], scripts: Mapping[str, Script]) -> Coverage:
    """Return which rows the scenarios name, without any run."""
    naming: dict[str, list[str]] = defaultdict(list)
    for script in scripts.values():
        for name in script.clauses:
            naming[name].append(script.id)
    lines = tuple(line_of(clause, naming[clause.id], {}) for clause in clauses.values())
    return Coverage(subject="the scripts", targets=(), lines=lines)


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
