"""`race`: send overlapping requests, and check whether some order of them explains every answer."""

import asyncio
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import list_only, refuse_taken, telling_of_interruption
from harness.diff.target_pattern import is_reference
from harness.orchestration.external import announcement, outline
from harness.orchestration.plan import PlanError, new_run_id, parse_targets
from harness.races.catalogue import Race, RaceError, select_races
from harness.races.folder import RacesFolder, RunRecord
from harness.races.judge import Verdict
from harness.races.report import print_verdicts, write_report
from harness.races.run import RacesPlan, drive, is_applicable, judge_folder
from harness.races.search import SearchOutcome
from harness.results.status import ExitCode, worst
from harness.results.stored_data import open_folder
from harness.terminal import ProgressDisplay, Writer, plain
from harness.trace.events import RunKind, TraceHeader

_KEPT: Final = 10
"""Rows for what follows the verdicts."""


@ends_with_exit_code
def race(
    races: list[str] | None = None,
    *,
    target: list[str] | None = None,
    profile: str | None = None,
    rounds: int = 200,
    seed: int = 0,
    out: Path = Path("reports", "races"),
    run_id: str | None = None,
    judge_again: Path | None = None,
    dry_run: bool = False,
) -> ExitCode:
    """Send concurrent requests many times, and report answers that no order of them explains."""
    writer = Writer()
    if judge_again is not None:
        return _judge(RacesFolder(open_folder(judge_again, RunKind.RACES).path), writer)
    plan = RacesPlan(
        run_id=run_id or new_run_id(),
        races=_chosen(races or []),
        targets=parse_targets(target or ["reference-tcp"], profile=profile, guards_external=True),
        round_count=rounds,
        seed=seed,
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        out=out,
    )
    for each in plan.targets:
        if is_reference(each.spec):
            served = each.spec.replace("reference", "reference-tcp")
            raise PlanError(f"{each.spec} skips waits, and no race takes place there; write {served}")
        if each.is_external:
            writer.say(announcement(each))
    if dry_run:
        return list_only(plan.targets, lambda _: _outline(plan))
    refuse_taken(plan.out / plan.run_id)
    with telling_of_interruption(plan.out / plan.run_id, "race --judge"), ProgressDisplay(writer) as display:
        folder = asyncio.run(drive(plan, display.target_says))
    return _judge(folder, writer)


def _outline(plan: RacesPlan) -> Iterator[str]:
    yield from outline(plan.run_id)
    yield f"groups: at most {len(plan.races) * plan.round_count}, one for each round of each race"


def _judge(folder: RacesFolder, writer: Writer) -> ExitCode:
    with ProgressDisplay(writer) as display:
        verdicts = judge_folder(folder, display.target_says)
    run = folder.read_plan()
    write_report(folder.path, run, verdicts)
    printing = partial(print_verdicts, run=run, verdicts=verdicts)
    writer.say_beginning(printing, rest="index.html has them all", keep=_KEPT)
    missing = _not_run(run, folder.all_headers(), verdicts)
    writer.say_some([[plain(line)] for line in missing], rest="all were cut short", keep=1)
    writer.say(f"Races: {folder.path}")
    return worst((_exit_code(verdicts), *([ExitCode.BAD_DATA] if missing else [])))


def _chosen(patterns: Sequence[str]) -> tuple[Race, ...]:
    try:
        return select_races(patterns)
    except RaceError as error:
        raise PlanError(str(error)) from error


def _not_run(run: RunRecord, targets: Sequence[TraceHeader], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return a line for each race whose rounds are not all on file, because the run was stopped early."""
    done = {(each.target, each.race): each.rounds for each in verdicts}
    return tuple(
        f"{target.spec}: {race}: cut short, {done.get((target.spec, race), 0)} of {run.round_count} rounds"
        for target in targets
        for race in run.races
        if done.get((target.spec, race), 0) < run.round_count and is_applicable(race, target)
    )


def _exit_code(verdicts: Sequence[Verdict]) -> ExitCode:
    applying = {ExitCode.EXPECTED if verdicts else ExitCode.NOTHING_RAN}
    for each in verdicts:
        if each.findings.get(SearchOutcome.UNEXPLAINED):
            applying.add(ExitCode.UNEXPECTED)
        if each.findings.get(SearchOutcome.UNDECIDED) or each.findings.get(SearchOutcome.UNANSWERED):
            applying.add(ExitCode.INDETERMINATE)
    return worst(applying)
