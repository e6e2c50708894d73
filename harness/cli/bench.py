"""`bench`: measure how fast the reference is, beside a broker on the same machine."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from harness.bench.output import print_report, write_report
from harness.bench.rounds import Turns
from harness.bench.run import BenchPlan
from harness.bench.run import bench as run_bench
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.cli.suites_here import SUITES
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import parse_targets
from harness.orchestration.progress import ProgressDisplay
from harness.results.exit_code import ExitCode
from harness.scenario.registry import collect

_TARGET = typer.Option("--target", "-t", help="The broker to measure beside the reference.")
_PROFILE = typer.Option(help="The reference's profile; the target's own if not given.")
_ROUNDS = typer.Option(min=1, help="Turns of each.")
_SECONDS = typer.Option(min=0.1, help="Seconds of measuring in each turn.")
_HEAT_UP = typer.Option(min=0.1, help="Seconds of warm-up before the first turn of each workload.")
_CLIENTS = typer.Option(min=1, help="Number of client processes.")
_SUITE_ROUNDS = typer.Option(min=0, help="Runs of the whole suite on each; 0 for none.")
_OUT = typer.Option(help="Where to write the report.")


@ends_with_exit_code
def bench(
    *,
    target: Annotated[str, _TARGET] = "kafka:4.3.1",
    profile: Annotated[str | None, _PROFILE] = None,
    rounds: Annotated[int, _ROUNDS] = 5,
    seconds: Annotated[float, _SECONDS] = 1.0,
    heat_up: Annotated[float, _HEAT_UP] = 1.5,
    clients: Annotated[int, _CLIENTS] = 1,
    suite_rounds: Annotated[int, _SUITE_ROUNDS] = 2,
    out: Annotated[Path, _OUT] = Path("reports", "bench"),
    suites: Annotated[str, SUITES] = "suites",
) -> ExitCode:
    """Measure the reference, in process and over TCP, side by side with a broker."""
    console = wide_console(120)
    (parsed,) = parse_targets([target])
    plan = BenchPlan(
        target=parsed,
        profile=profile,
        turns=Turns(rounds=rounds, seconds=seconds, heat_up_s=heat_up, clients=clients),
        scripts=collect(suites) if suite_rounds else {},
        suite_rounds=suite_rounds,
    )
    make_place(out)
    with ProgressDisplay(console) as display:
        display.teller("bench")
        report = asyncio.run(run_bench(plan, display))
        display.finish("bench")
    print_report(report, console)
    console.print(f"Report: {write_report(report, out)}", soft_wrap=True, highlight=False)
    return ExitCode.EXPECTED
