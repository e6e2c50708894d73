"""`race`: operations that overlap, and whether some order of them explains every answer."""

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.errors import ends_with_exit_code
from harness.conduct.plan import PlanError, new_run_id, parse_targets
from harness.conduct.progress import ProgressDisplay
from harness.races.catalogue import Race, RaceError, select_races
from harness.races.folder import RacesFolder
from harness.races.judge import Verdict
from harness.races.report import print_verdicts, write_report
from harness.races.run import RacesPlan, drive, judge_folder
from harness.races.search import Finding
from harness.report.exit_code import ExitCode, worst

_RACES = typer.Argument(help="Races by name or glob; all if none is given.", show_default=False)
_TARGET = typer.Option("--target", "-t", help="What to drive; may be repeated.")
_PROFILE = typer.Option(help="Hold targets against this profile, e.g. `3.9`.")
_ROUNDS = typer.Option(min=1, help="Rounds of each race on each target, each with a group of its own.")
_SEED = typer.Option(help="Decides who takes part in a round and when each sets off.")
_OUT = typer.Option(help="Where run folders are made.", file_okay=False)
_RUN_ID = typer.Option(help="Name of the run folder; made of the time if not given.")
_JUDGE = typer.Option("--judge", help="Judge this run folder again, and drive nothing.", exists=True)
_PIPE_WIDTH = 140


@ends_with_exit_code
def race(
    races: Annotated[list[str] | None, _RACES] = None,
    *,
    target: Annotated[list[str] | None, _TARGET] = None,
    profile: Annotated[str | None, _PROFILE] = None,
    rounds: Annotated[int, _ROUNDS] = 200,
    seed: Annotated[int, _SEED] = 0,
    out: Annotated[Path, _OUT] = Path("reports", "races"),
    run_id: Annotated[str | None, _RUN_ID] = None,
    judge_again: Annotated[Path | None, _JUDGE] = None,
) -> ExitCode:
    """Let requests overlap many times over, and tell which answers no order of them explains."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    with ProgressDisplay(console) as display:
        tell = display.of_targets()
        if judge_again is None:
            plan = RacesPlan(
                run_id=run_id or new_run_id(),
                races=_chosen(races or []),
                targets=parse_targets(target or ["reference-tcp"], profile=profile),
                round_count=rounds,
                seed=seed,
                command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
                out=out,
            )
            folder = asyncio.run(drive(plan, tell))
        else:
            folder = RacesFolder(judge_again)
        verdicts = judge_folder(folder, tell)
    run = folder.read_run()
    write_report(folder.path, run, verdicts)
    print_verdicts(console, run, verdicts)
    console.print(f"Races: {folder.path}", highlight=False, soft_wrap=True)
    return _exit_code(verdicts)


def _chosen(patterns: Sequence[str]) -> tuple[Race, ...]:
    try:
        return select_races(patterns)
    except RaceError as error:
        raise PlanError(str(error)) from error


def _exit_code(verdicts: Sequence[Verdict]) -> ExitCode:
    applying = {ExitCode.EXPECTED if verdicts else ExitCode.NOTHING_RAN}
    for each in verdicts:
        if each.findings.get(Finding.UNEXPLAINED):
            applying.add(ExitCode.UNEXPECTED)
        if each.findings.get(Finding.UNDECIDED) or each.findings.get(Finding.UNANSWERED):
            applying.add(ExitCode.INDETERMINATE)
    return worst(applying)
