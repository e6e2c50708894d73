"""`bench-judge`: measure how fast captures and taps are judged, in one process and on Spark."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from harness.bench.judge_data import load_base
from harness.bench.judge_run import GOAL, write_judge_report
from harness.bench.judge_run import bench_judge as measure
from harness.captures.judging import Terms
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import PlanError
from harness.orchestration.progress import ProgressDisplay
from harness.replay import specification
from harness.results.exit_code import ExitCode

_TAP = typer.Argument(help="A tap's folder, or its journal.bin; it is multiplied.", show_default=False)
_PROFILE = typer.Option(help="The release of what was tapped.")
_EXCHANGES = typer.Option(help="Numbers of exchanges, from small to large: `1e4,1e5`.")
_RATE = typer.Option(min=0.0, max=1.0, help="The share of copies that get a planted lie.")
_ONE_GROUP = typer.Option(
    "--one-group", help="Make one group of all exchanges: its quiet time, repeated; nothing is planted."
)
_WORK = typer.Option(help="Where the files are made.", file_okay=False)
_OUT = typer.Option(help="Where to write the report.")
_MASTER = typer.Option(help="Judge on Spark too, at this master, e.g. `local[2]`.")
_MIB = 1024**2


@ends_with_exit_code
def bench_judge(
    tap: Annotated[Path, _TAP],
    *,
    profile: Annotated[str, _PROFILE],
    exchanges: Annotated[str, _EXCHANGES] = "1e4,1e5",
    planted_rate: Annotated[float, _RATE] = 0.1,
    one_group: Annotated[bool, _ONE_GROUP] = False,
    work: Annotated[Path, _WORK] = Path(".cache", "bench-judge"),
    out: Annotated[Path, _OUT] = Path("reports", "bench-judge"),
    spark_master: Annotated[str | None, _MASTER] = None,
) -> ExitCode:
    """Measure `judge` at several sizes, and find the planted lies.

    The exit code is 70 if more or less is found than was planted.
    """
    on_spark = None
    if spark_master is not None:
        from harness.captures.on_spark import judge_on_spark  # noqa: PLC0415 - PySpark is an extra

        on_spark = partial(judge_on_spark, master=spark_master)
    terms = Terms(spec=specification(profile, {}), ports=frozenset(), is_whole=True)
    console = wide_console()
    make_place(out)
    with ProgressDisplay(console) as display:
        sizes = measure(
            load_base(tap),
            terms,
            counts=_counts(exchanges),
            planted_rate=planted_rate,
            work=work,
            on_spark=on_spark,
            is_one_group=one_group,
            tell=display.teller("bench-judge"),
        )
        display.finish("bench-judge")
    table = Table("how", "exchanges", "s", "exchanges/s a core", "peak MiB", "planted", "found")
    for each in sizes:
        peak = "" if each.peak_bytes is None else f"{each.peak_bytes / _MIB:.0f}"
        rate = "" if each.cpu_s is None else f"{each.rate:,.0f}"
        found = "all, nothing else" if each.is_found else "not these"
        table.add_row(
            each.how, f"{each.exchanges:,}", f"{each.wall_s:.1f}", rate, peak, str(each.planted), found
        )
    console.print(table)
    console.print(f"goal: {GOAL:,} exchanges a second a core", highlight=False)
    console.print(f"Report: {write_judge_report(sizes, out)}", soft_wrap=True, highlight=False)
    return ExitCode.EXPECTED if all(each.is_found for each in sizes) else ExitCode.HARNESS_ERROR


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError) as error:
        raise PlanError(f"{text}: no numbers of exchanges; say `1e4,1e5`") from error
    if counts[0] < 1:
        raise PlanError(f"{text}: at least one exchange")
    return tuple(counts)
