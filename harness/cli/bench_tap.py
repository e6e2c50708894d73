"""`bench-tap`: measure what a tap costs its clients."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from harness.bench.rounds import Turns
from harness.bench.tap_run import TapBenchPlan, bench_tap, print_tap_report, write_tap_report
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import parse_targets
from harness.orchestration.progress import ProgressDisplay
from harness.results.exit_code import ExitCode

_TARGET = typer.Option("--target", "-t", help="The broker that clients connect to, with and without a tap.")
_ROUNDS = typer.Option(min=1, help="Turns of each.")
_SECONDS = typer.Option(min=0.1, help="Seconds of measuring in each turn.")
_HEAT_UP = typer.Option(min=0.1, help="Seconds of warm-up before the first turn of each workload.")
_OUT = typer.Option(help="Where to write the report.")


@ends_with_exit_code
def bench_of_tap(
    *,
    target: Annotated[str, _TARGET] = "kafka:4.3.1",
    rounds: Annotated[int, _ROUNDS] = 5,
    seconds: Annotated[float, _SECONDS] = 1.0,
    heat_up: Annotated[float, _HEAT_UP] = 1.5,
    out: Annotated[Path, _OUT] = Path("reports", "bench-tap"),
) -> ExitCode:
    """Measure clients of a broker, directly and through a tap, side by side."""
    console = wide_console(120)
    (parsed,) = parse_targets([target])
    plan = TapBenchPlan(
        target=parsed, turns=Turns(rounds=rounds, seconds=seconds, heat_up_s=heat_up, clients=1)
    )
    make_place(out)
    with ProgressDisplay(console) as display:
        report = asyncio.run(bench_tap(plan, display.teller("bench-tap")))
        display.finish("bench-tap")
    print_tap_report(report, console)
    console.print(f"Report: {write_tap_report(report, out)}", soft_wrap=True, highlight=False)
    return ExitCode.EXPECTED
