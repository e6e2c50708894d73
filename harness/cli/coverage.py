"""`list --coverage`: which rows of the catalogue are exercised, and their status on targets."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from harness.report.model.coverage import (
    STATUS_MARKS,
    ClauseLine,
    Coverage,
    coverage_to_json,
    run_coverage,
    static_coverage,
)
from harness.report.model.run_data import Run
from harness.results.status import ExitCode
from harness.results.stored_data import open_folder
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import collect
from harness.terminal import in_terminal
from harness.trace.clause import ClauseStatus
from harness.trace.events import RunKind
from harness.trace.files import LATEST

_LATEST = Path("reports", LATEST)


def list_coverage(run: Path | None, *, minimum: float, as_json: bool, suites: str) -> ExitCode:
    """Print the coverage of a run, by default of the newest, or of the scripts if there is none.

    If less than a minimum percentage of the observable rows is exercised, the exit code is 1.
    """
    if run is None and not _LATEST.exists():
        coverage = static_coverage(load_clauses(suites), collect(suites))
    else:
        coverage = run_coverage(Run.load(open_folder(run or _LATEST, RunKind.SUITES).path))
    if as_json:
        typer.echo(json.dumps(coverage_to_json(coverage), indent=2, ensure_ascii=False))
    else:
        for line in _lines(coverage):
            typer.echo(in_terminal(line))
    return ExitCode.EXPECTED if coverage.percent >= minimum else ExitCode.UNEXPECTED


def _lines(coverage: Coverage) -> Iterator[str]:
    for title, lines in (
        ("not exercised", coverage.missing),
        ("said to be out of reach, yet exercised", coverage.stale_exclusions),
    ):
        for line in lines:
            yield f"{title}: {line.clause.id}  {line.clause.statement}"
    for title, lines in coverage.sections():
        if due := [line for line in lines if line.clause.is_due]:
            standings = (f"  {target} {_standings(due, target)}" for target in coverage.targets)
            exercised = sum(line.is_exercised for line in due)
            yield f"{title}: {exercised} of {len(due)} exercised{''.join(standings)}"
    count = len(coverage.due) - len(coverage.missing)
    excluded = ", ".join(f"{number} {why}" for why, number in sorted(coverage.exclusions().items()))
    yield (
        f"{coverage.subject}: {count} of {len(coverage.due)} observable rows are exercised "
        f"({coverage.percent:.1f} %); {excluded or 'nothing is excluded'}"
    )
    for target in coverage.targets:
        tally = coverage.tally(target)
        counts = ", ".join(f"{tally[each]} {each.value}" for each in ClauseStatus if tally[each])
        yield f"  {target}: {counts}"


def _standings(due: list[ClauseLine], target: str) -> str:
    counts = Counter(line.standings[target] for line in due if target in line.standings)
    return " ".join(f"{counts[status]}{STATUS_MARKS[status][0]}" for status in ClauseStatus if counts[status])
