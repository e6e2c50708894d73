"""`post`: post the gate's decision to GitHub."""

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.errors import ends_with_exit_code
from harness.gate.post import Posted, PostError, body_of, circumstances, post_comment, post_issue
from harness.results.errors import ReportError
from harness.results.exit_code import ExitCode
from harness.trace.files import LATEST
from harness.trace.schema import TraceError, json_object

_NAME = typer.Option(help="The name by which a later run finds what was posted; one for each gate.")
_ISSUE = typer.Option(
    help="In place of a comment: open an issue with this title if the decision is red, and update it later.",
    metavar="TITLE",
    show_default=False,
)
_RIGHTS = "give its job `permissions: pull-requests: write` (for --issue: `issues: write`)"


@ends_with_exit_code
def post(
    run_folder: Annotated[Path, typer.Argument(help="The folder with gate.md and gate.json.")] = Path(
        "reports", LATEST
    ),
    *,
    issue: Annotated[str | None, _ISSUE] = None,
    name: Annotated[str, _NAME] = "gate",
) -> ExitCode:
    """Post the gate's decision to GitHub, as one comment on the pull request or as one issue."""
    summary, data = run_folder / "gate.md", run_folder / "gate.json"
    if not (summary.is_file() and data.is_file()):
        raise ReportError(f"{run_folder} has no decision to post: run `kafka-conformance gate {run_folder}`")
    text, is_green = _decision(summary, data)
    where = circumstances(os.environ)
    if issue is None and where.pull_request is None:
        typer.echo("Not posted: this workflow checks no pull request.")
        return ExitCode.EXPECTED
    if issue is None and where.is_fork:
        _say("No comment: GitHub lends workflows of forks no right to write one.")
        return ExitCode.EXPECTED
    body = body_of(text, name, where.run_address)
    try:
        if issue is None:
            posted: Posted | None = post_comment(body, name, where)
        else:
            posted = post_issue(issue, body, name, where, is_green=is_green)
    except PostError as error:
        _say(f"Not posted: {error}. If the workflow lacks the right, {_RIGHTS}.")
        return ExitCode.UNAVAILABLE
    if posted is None:
        typer.echo("Not posted: the decision is green, and no issue is open.")
    else:
        typer.echo(f"{'Posted' if posted.is_new else 'Updated'}: {posted.address}")
    return ExitCode.EXPECTED


def _decision(summary: Path, data: Path) -> tuple[str, bool]:
    """Read a decision: its text, and whether it is green."""
    try:
        text = summary.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TraceError(f"{summary}: no UTF-8: {error}") from error
    is_green = json_object(data.read_bytes(), where=str(data)).get("is_green")
    if not text.strip() or not isinstance(is_green, bool):
        raise TraceError(f"{data.parent}: no decision that is whole: run `kafka-conformance gate` again")
    return text, is_green


def _say(sentence: str) -> None:
    """Print a sentence, and add it to the job's summary if there is one."""
    typer.echo(sentence)
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(file).open("a", encoding="utf-8") as summary:
            summary.write(f"\n> {sentence}\n")
