"""`race`: send overlapping requests, and check whether some order of them explains every answer."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from harness.cli.errors import ends_with_exit_code
from harness.cli.judge import judge_races
from harness.cli.options import command_line, list_only, refuse_taken, telling_of_interruption
from harness.diff.target_pattern import is_reference
from harness.orchestration.external import announcement, outline
from harness.orchestration.plan import PlanError, new_run_id, parse_targets
from harness.races.catalogue import select_races
from harness.races.run import RacesPlan, drive
from harness.results.status import ExitCode
from harness.terminal import ProgressDisplay, Writer


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
    dry_run: bool = False,
) -> ExitCode:
    """Send concurrent requests many times, and report answers that no order of them explains."""
    writer = Writer()
    plan = RacesPlan(
        run_id=run_id or new_run_id(),
        races=select_races(races or []),
        targets=parse_targets(target or ["reference-tcp"], profile=profile, guards_external=True),
        round_count=rounds,
        seed=seed,
        command=command_line(),
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
    with telling_of_interruption(plan.out / plan.run_id, "judge"), ProgressDisplay(writer) as display:
        folder = asyncio.run(drive(plan, display.target_says))
    code = judge_races(folder, writer)
    writer.say(f"Races: {folder.path}")
    return code


def _outline(plan: RacesPlan) -> Iterator[str]:
    yield from outline(plan.run_id)
    yield f"groups: at most {len(plan.races) * plan.round_count}, one for each round of each race"
