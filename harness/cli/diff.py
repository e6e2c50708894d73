"""`diff`: show what changed for clients from one coordinator to another, or run versions and compare them."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import command_line, list_only
from harness.clients.collect import known_ids
from harness.gate.sides import compare, find_steps
from harness.orchestration.external import dry_run as list_external
from harness.orchestration.plan import (
    PlanError,
    RunPlan,
    expectation_files,
    new_run_id,
    parse_properties,
    select_scripts,
)
from harness.orchestration.versions import version_targets
from harness.report.allure.pages import AllureLevel
from harness.report.exports.comparison import comparisons_json, comparisons_markdown, print_comparison
from harness.report.model.comparison import Comparison
from harness.results.status import ExitCode
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import Catalogue
from harness.spark.master import LOCAL_MASTER
from harness.terminal import ProgressDisplay, Writer
from harness.trace.files import LATEST, write_whole


class Form(StrEnum):
    """The output format of a comparison."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"


@ends_with_exit_code
def diff(
    sides: list[str] | None = None,
    *,
    run_folder: Path = Path("reports", LATEST),
    form: Form = Form.TERMINAL,
    out: Path | None = None,
    explain: bool = True,
    versions: str | None = None,
    against: str | None = None,
    target: list[str] | None = None,
    at_once: int | None = None,
    skip: list[str] | None = None,
    run_id: str | None = None,
    expect: list[Path] | None = None,
    broker_property: list[str] | None = None,
    suites: str = "suites",
    on: str | None = None,
    dry_run: bool = False,
) -> ExitCode:
    """Show what changes for clients between two runs, targets or versions of Kafka; decide nothing.

    For a target and its own reference, show what the target does differently, and what clients notice. With
    --versions, run versions of Kafka first; the options that say how are those of `run`.
    """
    if versions is None and (against or target or at_once or skip or on or broker_property or dry_run):
        raise PlanError("that runs targets: name versions with --versions, e.g. --versions 3.9.2,4.4.0")
    if versions is None:
        return _compare(sides or [], run_folder, form, out, explain=explain)
    # Imported here, since a comparison of stored runs drives nothing.
    from harness.cli.run import ReportOptions, carry_out  # noqa: PLC0415 - see above

    targets, compared_with = version_targets(versions, further=target or [], against=against)
    plan = RunPlan(
        run_id=run_id or new_run_id(),
        scripts=select_scripts(Catalogue(suites), sides or [], skip or []),
        catalogue=known_ids(suites),
        clauses=tuple(load_clauses(suites).values()),
        targets=targets,
        reports=out or Path("reports"),
        command=command_line(),
        expectation_files=expectation_files(suites, expect or []),
        at_once=at_once,
        against=compared_with,
        broker_properties=parse_properties(broker_property or []),
    )
    if dry_run:
        return list_only(plan.targets, partial(list_external, scripts=plan.scripts, run_id=plan.run_id))
    options = ReportOptions(shows_changes=True, allure=AllureLevel.OFF, spark_master=LOCAL_MASTER, on=on)
    return carry_out(plan, options, Writer())


def _compare(sides: Sequence[str], run: Path, form: Form, out: Path | None, *, explain: bool) -> ExitCode:
    if len(sides) < 2:
        raise PlanError("name two runs or targets to compare, or versions to run with --versions")
    writer, notes = Writer(), Writer(Console(stderr=True))
    with ProgressDisplay(notes) as display:
        comparisons = [
            compare(*pair, explain=explain, progress=display.teller("comparing"))
            for pair in find_steps(sides, run=run)
        ]
    if out is None and form is Form.TERMINAL:
        rest = "--out FILE --format markdown writes them all"
        writer.say_beginning(partial(_print_all, comparisons), rest=rest)
        return ExitCode.EXPECTED
    text = _written(comparisons, form)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)
        notes.say(f"written: {out}")
    return ExitCode.EXPECTED


def _written(comparisons: Sequence[Comparison], form: Form) -> str:
    match form:
        case Form.TERMINAL:
            console = Console(width=10_000)
            with console.capture() as captured:
                _print_all(comparisons, console)
            return captured.get()
        case Form.MARKDOWN:
            return comparisons_markdown(comparisons)
        case Form.JSON:
            return comparisons_json(comparisons)


def _print_all(comparisons: Sequence[Comparison], console: Console) -> None:
    for comparison in comparisons:
        print_comparison(comparison, console)
