"""`diff`: what changed for clients from one coordinator to another."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.errors import ends_with_exit_code
from harness.gate.comparison import Comparison, compare
from harness.gate.comparison_pages import (
    comparisons_html,
    comparisons_json,
    comparisons_markdown,
    print_comparison,
)
from harness.gate.sides import find_pairs
from harness.report.exit_code import ExitCode
from harness.trace.files import LATEST, write_whole

_SIDE = "A run's folder, `RUN@TARGET`, or a target of the run that `--run` names, e.g. `kafka:3.9.2`."


class Form(StrEnum):
    """How a comparison is told."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


@ends_with_exit_code
def diff(
    before: Annotated[str, typer.Argument(help=_SIDE)],
    after: Annotated[str, typer.Argument(help=_SIDE)],
    *,
    run_folder: Annotated[
        Path, typer.Option("--run", help="Where targets are looked for that are named without a run.")
    ] = Path("reports", LATEST),
    form: Annotated[Form, typer.Option("--format", help="How it is told.")] = Form.TERMINAL,
    out: Annotated[
        Path | None, typer.Option(help="A file to write instead of printing.", dir_okay=False)
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Find the named behaviours that changes hang on; drives the reference.")
    ] = True,
) -> ExitCode:
    """Tell what a client sees change between two runs, or two targets of one; it decides nothing."""
    talk = Console(stderr=True)
    comparisons = [
        compare(
            *pair,
            explain=explain,
            progress=lambda text: talk.print(text, markup=False, highlight=False, soft_wrap=True),
        )
        for pair in find_pairs(before, after, run=run_folder)
    ]
    text = _told(comparisons, form)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)
        talk.print(f"written: {out}", markup=False, highlight=False, soft_wrap=True)
    return ExitCode.EXPECTED


def _told(comparisons: Sequence[Comparison], form: Form) -> str:
    match form:
        case Form.TERMINAL:
            return _for_terminal(comparisons)
        case Form.MARKDOWN:
            return comparisons_markdown(comparisons)
        case Form.JSON:
            return comparisons_json(comparisons)
        case Form.HTML:
            return comparisons_html(comparisons)


def _for_terminal(comparisons: Sequence[Comparison]) -> str:
    """Render as for the terminal that there is; on a pipe without colour."""
    console = Console()
    with console.capture() as captured:
        for comparison in comparisons:
            print_comparison(comparison, console)
    return captured.get()
