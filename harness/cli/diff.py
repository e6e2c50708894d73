"""`diff`: show what changed for clients from one coordinator to another."""

from collections.abc import Sequence
from enum import StrEnum
from os.path import relpath
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from harness.cli.errors import ends_with_exit_code
from harness.gate.comparison import compare
from harness.gate.comparison_model import Comparison
from harness.gate.comparison_pages import (
    comparisons_html,
    comparisons_json,
    comparisons_markdown,
    print_comparison,
)
from harness.gate.sides import find_steps
from harness.results.exit_code import ExitCode
from harness.trace.files import LATEST, write_whole

_SIDE = "A run's folder, `RUN@TARGET`, or a target of the run that `--run` names, e.g. `kafka:3.9.2`."


class Form(StrEnum):
    """The output format of a comparison."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


@ends_with_exit_code
def diff(
    before: Annotated[str, typer.Argument(help=_SIDE)],
    after: Annotated[str, typer.Argument(help=_SIDE)],
    further: Annotated[
        list[str] | None,
        typer.Argument(
            help="More runs or targets, each compared with the one before it.", show_default=False
        ),
    ] = None,
    *,
    run_folder: Annotated[
        Path, typer.Option("--run", help="The run of targets that you name without a run.")
    ] = Path("reports", LATEST),
    form: Annotated[Form, typer.Option("--format", help="The format of the output.")] = Form.TERMINAL,
    out: Annotated[
        Path | None, typer.Option(help="Write to this file instead of printing.", dir_okay=False)
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Find the named behaviours that explain changes, by running the reference.")
    ] = True,
) -> ExitCode:
    """Show what changes for clients between two runs, or two targets of one run; decide nothing.

    For a target and its own reference, show what the target does differently, and what clients notice.
    """
    conversation = Console(stderr=True)
    with conversation.status("comparing") as status:
        comparisons = [
            compare(*pair, explain=explain, progress=lambda text: status.update(escape(text)))
            for pair in find_steps((before, after, *(further or ())), run=run_folder)
        ]
    text = _reported(comparisons, form, pages=_pages(run_folder, out))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out, text)
        conversation.print(f"written: {out}", markup=False, highlight=False, soft_wrap=True)
    return ExitCode.EXPECTED


def _pages(run: Path, out: Path | None) -> str | None:
    """Return the relative path from a page to the run's site; None unless the page is in that folder."""
    folder = run.resolve()
    if out is None or not out.resolve().is_relative_to(folder) or not (folder / "scenarios").is_dir():
        return None
    return Path(relpath(folder, out.resolve().parent)).as_posix()


def _reported(comparisons: Sequence[Comparison], form: Form, *, pages: str | None) -> str:
    match form:
        case Form.TERMINAL:
            return _for_terminal(comparisons)
        case Form.MARKDOWN:
            return comparisons_markdown(comparisons)
        case Form.JSON:
            return comparisons_json(comparisons)
        case Form.HTML:
            return comparisons_html(comparisons, pages=pages)


def _for_terminal(comparisons: Sequence[Comparison]) -> str:
    """Render comparisons for the current terminal; on a pipe without colour."""
    console = Console()
    with console.capture() as captured:
        for comparison in comparisons:
            print_comparison(comparison, console)
    return captured.get()
