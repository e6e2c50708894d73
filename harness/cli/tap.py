"""`tap`: record what any clients and a target send to each other."""

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from rich.table import Table

from harness.cli.errors import end_at_once_from_now_on, end_well_by_signal, ends_with_exit_code
from harness.cli.options import command_line, list_only, refuse_taken
from harness.invariants import AtFault, Invariant, Violation
from harness.invariants.blame import in_words
from harness.orchestration.external import outline, tap_announcement
from harness.orchestration.plan import PlanError, new_run_id, parse_targets, refusing
from harness.results.status import ExitCode, worst
from harness.results.stored_data import open_folder
from harness.tap.listeners import parse_address
from harness.tap.run import TappedRun, TapPlan, finish_later, reported, tap_target
from harness.terminal import Writer, plain
from harness.trace.events import TARGET_LOST, RunKind

CAUSES: Final = 20
"""Rows for the causes of refusals."""


@ends_with_exit_code
def tap(
    *,
    target: str | None = None,
    listen: str = "127.0.0.1:0",
    advertise: str | None = None,
    profile: str | None = None,
    check: bool = False,
    out: Path = Path("reports", "taps"),
    run_id: str | None = None,
    finish_run: Path | None = None,
    dry_run: bool = False,
) -> ExitCode:
    """Record what any clients and a target say to each other, until Ctrl-C."""
    writer = Writer()
    if finish_run is not None:
        tapped = finish_later(open_folder(finish_run, RunKind.TAP))
    elif target is None:
        raise PlanError("nothing to tap: name a --target, or a run to --finish")
    else:
        (parsed,) = parse_targets([target], profile=profile, guards_external=True)
        with refusing(ValueError):
            parse_address(listen)
        plan = TapPlan(
            run_id=run_id or new_run_id(),
            target=parsed,
            listen=listen,
            advertise=advertise,
            out=out,
            command=command_line(),
            checks=check,
        )
        if parsed.is_external:
            writer.say(tap_announcement(parsed))
        if dry_run:
            return list_only([parsed], lambda _: outline(plan.run_id))
        refuse_taken(plan.out / plan.run_id)
        stop = asyncio.Event()
        began = partial(end_well_by_signal, stop)
        tapped = asyncio.run(tap_target(plan, stop, writer.say, began=began))
        end_at_once_from_now_on()
    print_violations(writer, tapped.violations)
    for line in in_words(tapped.refusals)[:CAUSES]:
        writer.say(plain(line))
    path = str(tapped.folder.path)
    writer.say(f"{tapped.request_count} requests: {path}")
    writer.say(f"Its pages: {shlex.join(['kafka-conformance', 'report', path])}")
    return _exit_code(tapped)


def _exit_code(tapped: TappedRun) -> ExitCode:
    applying = [worst_of(tapped.violations, is_scripted=False)]
    if not tapped.request_count:
        applying.append(ExitCode.NOTHING_RAN)
    if tapped.footer.ended.startswith(TARGET_LOST):
        applying.append(ExitCode.UNAVAILABLE)
    return worst(applying)


_KEPT: Final = 4
"""Rows for what follows the violations."""


def print_violations(writer: Writer, violations: Sequence[Violation]) -> None:
    """Print how often each invariant was broken and by whom, and the first violations."""
    count = Counter((each.invariant, each.party) for each in violations)
    table = Table("invariant", *AtFault, title="Broken")
    for invariant in Invariant:
        table.add_row(invariant, *(str(count[invariant, party]) for party in AtFault))
    for line in writer.lines_of(lambda console: console.print(table)):
        writer.say(line)
    lines = [[plain(f"{each.target}: {reported(each)}")] for each in violations]
    writer.say_some(lines, rest="the pages of the run have them all", keep=_KEPT)


def worst_of(violations: Sequence[Violation], *, is_scripted: bool) -> ExitCode:
    """Return the exit code for violations; scripted clients may break rules."""
    counted = [each for each in violations if not is_scripted or each.party == AtFault.COORDINATOR]
    return ExitCode.UNEXPECTED if counted else ExitCode.EXPECTED
