"""`coverage`: show which rows of the catalogue are exercised, and their status on targets."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.cli.suites_here import SUITES
from harness.orchestration.coverage import coverage_to_json, run_coverage, static_coverage
from harness.orchestration.coverage_page import coverage_markdown
from harness.orchestration.plan import PlanError
from harness.report.model.coverage import STATUS_GLYPHS, ClauseLine, Coverage
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import open_folder
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import collect
from harness.spark.rows import ClauseStatus
from harness.trace.events import RunKind
from harness.trace.files import LATEST, write_whole

_RUN = typer.Argument(
    help="A run's folder; the newest below reports/ if none is given.", metavar="[RUN]", show_default=False
)
_LATEST = Path("reports", LATEST)
_ANY_WIDTH = 10_000


@ends_with_exit_code
def coverage(
    run: Annotated[Path | None, _RUN] = None,
    *,
    scripts: Annotated[bool, typer.Option("--scripts", help="Read the scripts instead of a run.")] = False,
    minimum: Annotated[
        float, typer.Option(min=0, max=100, help="The percentage of observable rows that must be exercised.")
    ] = 100.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Also write a page of Markdown.")] = None,
    suites: Annotated[str, SUITES] = "suites",
) -> ExitCode:
    """List the rows of the catalogue that scenarios exercise; exit code 1 if there are too few."""
    looked_at = _coverage(run, suites, scripts=scripts)
    if markdown is not None:
        write_whole(markdown, coverage_markdown(looked_at))
    if as_json:
        typer.echo(json.dumps(coverage_to_json(looked_at), indent=2, ensure_ascii=False))
    else:
        _print(looked_at, Console())
    return ExitCode.EXPECTED if looked_at.percent >= minimum else ExitCode.UNEXPECTED


def _coverage(run: Path | None, suites: str, *, scripts: bool) -> Coverage:
    if run is not None and scripts:
        raise PlanError("give a run, or --scripts to look at none")
    if run is not None or (not scripts and _LATEST.exists()):
        return run_coverage(open_folder(run or _LATEST, RunKind.SUITES).path)
    return static_coverage(load_clauses(suites), collect(suites))


def _print(looked_at: Coverage, console: Console) -> None:
    for title, lines in (
        ("Not exercised", looked_at.missing),
        ("Said to be out of reach, yet exercised", looked_at.stale_exclusions),
    ):
        if lines:
            console.print(f"[bold]{title}[/]")
            console.print(_grid([(line.clause, line.statement) for line in lines]))
            console.print()
    console.print(_fitting_sections(looked_at, console))
    exercised = len(looked_at.due) - len(looked_at.missing)
    excluded = ", ".join(f"{count} {why}" for why, count in sorted(looked_at.exclusions().items()))
    console.print(
        f"{looked_at.subject}: {exercised} of {len(looked_at.due)} observable rows are exercised "
        f"({looked_at.percent:.1f} %); {excluded or 'nothing is excluded'}",
        highlight=False,
    )
    for target in looked_at.targets:
        tally = looked_at.tally(target)
        reported = ", ".join(f"{tally[each]} {each.value}" for each in ClauseStatus if tally[each])
        console.print(f"  {target}: {reported}", highlight=False)


def _grid(rows: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*row)
    return grid


def _fitting_sections(looked_at: Coverage, console: Console) -> Table:
    """Return the sections with a column per target, or with none if they do not fit."""
    whole = _sections(looked_at, looked_at.targets)
    is_fitting = (
        console.measure(whole, options=console.options.update(max_width=_ANY_WIDTH)).maximum <= console.width
    )
    return whole if is_fitting else _sections(looked_at, ())


def _sections(looked_at: Coverage, targets: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("section")
    for title in ("rows due", "exercised", *targets):
        table.add_column(title, justify="right")
    for title, lines in looked_at.sections():
        due = [line for line in lines if line.is_due]
        if due:
            exercised = sum(line.is_exercised for line in due)
            standings = (_standings(due, name) for name in targets)
            table.add_row(title, str(len(due)), str(exercised), *standings)
    return table


def _standings(due: list[ClauseLine], target: str) -> str:
    """Return the counts of rows by status on a target, e.g. `2✗ 30✓ 4—`."""
    counts = Counter(line.standings[target] for line in due if target in line.standings)
    return " ".join(f"{counts[status]}{STATUS_GLYPHS[status]}" for status in ClauseStatus if counts[status])
