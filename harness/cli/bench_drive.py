"""`bench-drive`: measure whole runs on this machine, and check that they blame no target wrongly."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.bench.sharpness import (
    MOST_S,
    Sharpness,
    chosen_scripts,
    print_sharpness,
    try_faults,
    write_sharpness,
)
from harness.bench.whole_runs import (
    WholeRun,
    WholeRunPlan,
    busy_processes,
    print_whole_runs,
    run_whole,
    write_whole_runs,
)
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.orchestration.progress import ProgressDisplay
from harness.results.exit_code import ExitCode

_TARGETS = ("reference", "kafka:3.9.2", "kafka:latest")
_SCENARIOS = typer.Argument(help="Scenario ids or globs; all if none is given.")
_TARGET = typer.Option("--target", "-t", help="What to run the scenarios on; may be repeated.")
_ROUNDS = typer.Option(min=0, help="Number of runs, one after the other.")
_BUSY = typer.Option(min=0, help="Number of processes that keep a core busy beside each run.")
_REPORT = typer.Option(help="Make a report (Spark, site, Allure) in each run.")
_SHARPNESS = typer.Option(
    "--sharpness", help="Also run references whose timers are 30 % off; all results must be red."
)
_OUT = typer.Option(help="Where to write runs and figures.")


@ends_with_exit_code
def bench_drive(
    scenarios: Annotated[list[str] | None, _SCENARIOS] = None,
    *,
    target: Annotated[list[str] | None, _TARGET] = None,
    rounds: Annotated[int, _ROUNDS] = 1,
    busy: Annotated[int, _BUSY] = 0,
    report: Annotated[bool, _REPORT] = True,
    sharpness: Annotated[bool, _SHARPNESS] = False,
    out: Annotated[Path, _OUT] = Path("reports", "bench-drive"),
) -> ExitCode:
    """Measure whole runs on this machine: time, brokers, and wrong verdicts."""
    plan = WholeRunPlan(
        targets=tuple(target or _TARGETS),
        scenarios=tuple(scenarios or ()),
        rounds=rounds,
        busy=busy,
        with_report=report,
    )
    console = Console()
    make_place(out)
    runs: list[WholeRun] = []
    try:
        with ProgressDisplay(console) as display:
            for run in run_whole(plan, out, display.teller("bench-drive")):
                runs.append(run)
                write_whole_runs(plan, runs, out)
            display.finish("bench-drive")
    finally:
        # Also after Ctrl-C, because a round takes minutes.
        if runs:
            print_whole_runs(runs, console)
            console.print(f"Figures: {out / 'latest.json'}", soft_wrap=True, highlight=False)
    is_sharp = not sharpness or _is_sharp(plan, out, console)
    accuses = any(run.red or run.exit_code == ExitCode.UNEXPECTED for run in runs)
    return ExitCode.UNEXPECTED if accuses or not is_sharp else ExitCode.EXPECTED


def _is_sharp(plan: WholeRunPlan, out: Path, console: Console) -> bool:
    """Run each reference with a fault under the same load; return whether all faults were found for sure."""
    scripts = chosen_scripts(plan.scenarios)
    console.print(
        f"{len(scripts)} scenarios mind the time; it takes {MOST_S / 60:.0f} min at most", highlight=False
    )
    tried: list[Sharpness] = []
    try:
        with ProgressDisplay(console) as display, busy_processes(plan.busy, out):
            for each in try_faults(scripts, out, display):
                tried.append(each)
                write_sharpness(tried, plan.busy, out)
    finally:
        if tried:
            print_sharpness(tried, plan.busy, console)
            console.print(f"Figures: {out / 'sharpness.json'}", soft_wrap=True, highlight=False)
    return all(each.is_found for each in tried)
