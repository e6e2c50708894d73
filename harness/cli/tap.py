"""`tap`: record what any clients and a target send to each other; `invariants`: check stored traces."""

import asyncio
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.cli.dry_run import DRY_RUN, list_only
from harness.cli.errors import ends_with_exit_code
from harness.cli.interrupts import end_at_once_from_now_on, end_well_by_signal
from harness.cli.run_folder import RUN_ID, refuse_taken
from harness.cli.wide_console import wide_console
from harness.invariants import AtFault, Invariant, Violation
from harness.invariants.stored import check_run
from harness.orchestration.external import outline, tap_announcement
from harness.orchestration.plan import PlanError, new_run_id, parse_targets
from harness.orchestration.progress import plainly
from harness.results.exit_code import ExitCode, worst
from harness.results.run_kinds import open_folder, run_kind
from harness.tap.listeners import parse_address
from harness.tap.run import TappedRun, TapPlan, finish_later, reported, tap_target
from harness.trace.completeness import refuse_cut_short
from harness.trace.events import TARGET_LOST, RunKind
from harness.trace.schema import TraceError

_TARGET = typer.Option("--target", "-t", help="The target that clients are to reach.", show_default=False)
_LISTEN = typer.Option(help="`HOST:PORT` for clients; with port 0 the system chooses one.")
_ADVERTISE = typer.Option(help="The host that clients get in responses; by default that of `--listen`.")
_PROFILE = typer.Option(help="The profile that the trace names, e.g. `3.9`.")
_OUT = typer.Option(help="Where to make the run's folder.", file_okay=False)
_CHECK = typer.Option("--check", help="Report broken invariants while the tap runs.")
_FINISH = typer.Option("--finish", help="Decode the run of a tap that was killed; tap nothing.")
_RUNS = typer.Argument(help="Folders of runs, of a tap or of scenarios.")
_SHOWN = 40


@ends_with_exit_code
def tap(
    *,
    target: Annotated[str | None, _TARGET] = None,
    listen: Annotated[str, _LISTEN] = "127.0.0.1:0",
    advertise: Annotated[str | None, _ADVERTISE] = None,
    profile: Annotated[str | None, _PROFILE] = None,
    check: Annotated[bool, _CHECK] = False,
    out: Annotated[Path, _OUT] = Path("reports", "taps"),
    run_id: Annotated[str | None, RUN_ID] = None,
    finish_run: Annotated[Path | None, _FINISH] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Record what any clients and a target say to each other, until Ctrl-C."""
    console = wide_console()
    if finish_run is not None:
        tapped = finish_later(open_folder(finish_run, RunKind.TAP))
    elif target is None:
        raise PlanError("nothing to tap: name a --target, or a run to --finish")
    else:
        (parsed,) = parse_targets([target], profile=profile, guards_external=True)
        _check_address(listen)
        plan = TapPlan(
            run_id=run_id or new_run_id(),
            target=parsed,
            listen=listen,
            advertise=advertise,
            out=out,
            command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
            checks=check,
        )
        if parsed.is_external:
            plainly(console)(tap_announcement(parsed))
        if dry_run:
            return list_only([parsed], console, lambda _: outline(plan.run_id))
        refuse_taken(plan.out / plan.run_id)
        tapped = asyncio.run(_until_reported(plan, console))
        end_at_once_from_now_on()
    _print(console, tapped.violations)
    path = tapped.folder.path
    console.print(f"{tapped.request_count} requests: {path}", soft_wrap=True, highlight=False)
    pages = shlex.join(["kafka-conformance", "report", str(path)])
    console.print(f"Its pages: {pages}", soft_wrap=True, highlight=False, markup=False)
    return _exit_code(tapped)


def _check_address(listen: str) -> None:
    try:
        parse_address(listen)
    except ValueError as error:
        raise PlanError(str(error)) from error


async def _until_reported(plan: TapPlan, console: Console) -> TappedRun:
    stop = asyncio.Event()
    return await tap_target(plan, stop, plainly(console), began=partial(end_well_by_signal, stop))


@ends_with_exit_code
def invariants(runs: Annotated[list[Path], _RUNS]) -> ExitCode:
    """Look for broken invariants in the traces of stored runs."""
    folders = [open_folder(run, RunKind.TAP, RunKind.SUITES) for run in runs]
    for folder in folders:
        refuse_cut_short(folder)
        if run_kind(folder.path) is None:
            raise TraceError(f"{folder.run_json}: it does not name the scripts of the run")
    violations = tuple(violation for folder in folders for violation in check_run(folder))
    console = wide_console()
    _print(console, violations)
    is_scripted = all(run_kind(folder.path) is RunKind.SUITES for folder in folders)
    if is_scripted:
        console.print("The runs were scripted: their clients break rules on purpose.")
    looked_at = any(folder.targets() for folder in folders)
    applying = [_worst_of(violations, is_scripted=is_scripted)]
    return worst(applying if looked_at else [*applying, ExitCode.NOTHING_RAN])


def _print(console: Console, violations: Sequence[Violation]) -> None:
    count = Counter((each.invariant, each.party) for each in violations)
    table = Table("invariant", *AtFault, title="Broken")
    for invariant in Invariant:
        table.add_row(invariant, *(str(count[invariant, party]) for party in AtFault))
    console.print(table)
    for each in violations[:_SHOWN]:
        console.print(f"{each.target}: {reported(each)}", soft_wrap=True, highlight=False, markup=False)
    if len(violations) > _SHOWN:
        console.print(f"and {len(violations) - _SHOWN} more")


def _exit_code(tapped: TappedRun) -> ExitCode:
    applying = [_worst_of(tapped.violations, is_scripted=False)]
    if not tapped.request_count:
        applying.append(ExitCode.NOTHING_RAN)
    if tapped.footer.ended.startswith(TARGET_LOST):
        applying.append(ExitCode.UNAVAILABLE)
    return worst(applying)


def _worst_of(violations: Sequence[Violation], *, is_scripted: bool) -> ExitCode:
    counted = [each for each in violations if not is_scripted or each.party == AtFault.COORDINATOR]
    return ExitCode.UNEXPECTED if counted else ExitCode.EXPECTED
