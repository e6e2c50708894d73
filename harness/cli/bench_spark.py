"""`bench-spark`: measure how fast the tables of many runs are made, beside DuckDB on the same files."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import PlanError
from harness.orchestration.progress import ProgressDisplay
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import open_folder
from harness.spark.master import LOCAL_MASTER
from harness.trace.events import RunKind
from harness.trace.files import LATEST

_EVENTS = typer.Option(help="Numbers of events, from small to large: `1e6,1e7,1e8`.")
_RUN = typer.Option("--run", help="A finished, judged run to multiply.")
_RATE = typer.Option(min=0.0, max=1.0, help="The share of conversations that get a planted difference.")
_ROUNDS = typer.Option(min=1, help="Turns of Spark and of DuckDB.")
_WORK = typer.Option(help="Where to keep the data; 100 million events take 5 GB.", file_okay=False)
_OUT = typer.Option(help="Where to write the report.")
_MEMORY = typer.Option(help="Heap of Spark's driver.")


@ends_with_exit_code
def bench_spark(
    *,
    events: Annotated[str, _EVENTS] = "1e6,1e7",
    run: Annotated[Path, _RUN] = Path("reports", LATEST),
    planted_rate: Annotated[float, _RATE] = 0.001,
    rounds: Annotated[int, _ROUNDS] = 9,
    work: Annotated[Path, _WORK] = Path(".cache", "bench-spark"),
    out: Annotated[Path, _OUT] = Path("reports", "bench-spark"),
    driver_memory: Annotated[str, _MEMORY] = "4g",
    spark_master: Annotated[str, typer.Option(help="Spark's master.")] = LOCAL_MASTER,
) -> ExitCode:
    """Measure the tables of many runs at several sizes, and find the planted differences.

    The exit code is 70 if Spark finds more or less than was planted.
    """
    if find_spec("duckdb") is None:
        raise PlanError("DuckDB is not installed: pip install 'kafka-conformance[bench]'")
    from harness.bench.spark_output import print_spark_report  # noqa: PLC0415 - DuckDB is an extra
    from harness.bench.spark_run import (  # noqa: PLC0415 - DuckDB is an extra
        SparkBenchPlan,
        write_spark_report,
    )
    from harness.bench.spark_run import bench_spark as measure  # noqa: PLC0415 - DuckDB is an extra

    console = wide_console(160)
    plan = SparkBenchPlan(
        base=open_folder(run, RunKind.SUITES).path,
        work=work,
        event_counts=_counts(events),
        planted_rate=planted_rate,
        rounds=rounds,
        master=spark_master,
        driver_memory=driver_memory,
    )
    make_place(out)
    with ProgressDisplay(console) as display:
        report = measure(plan, display.teller("bench-spark"))
        display.finish("bench-spark")
    print_spark_report(report, console)
    console.print(f"Report: {write_spark_report(report, out)}", soft_wrap=True, highlight=False)
    found_all = all(size.spark_found for size in report.sizes)
    return ExitCode.EXPECTED if found_all else ExitCode.HARNESS_ERROR


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError) as error:
        raise PlanError(f"{text}: no numbers of events; say `1e6,1e7`") from error
    if counts[0] < 1:
        raise PlanError(f"{text}: at least one event")
    return tuple(counts)
