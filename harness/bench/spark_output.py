"""The pipeline's benchmark as a table for people."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from harness.bench.spark_run import RATIO_AT, RATIO_GOAL, SizeReport, SparkBenchReport

_GIB = 1024**3


def print_spark_report(report: SparkBenchReport, console: Console) -> None:
    """Print the sizes, the growth and the goals."""
    table = Table(box=SIMPLE_HEAD, title="Verdict matrix and first differences, and all tables of the trend")
    for name in (
        "events",
        "runs",
        "GiB",
        "Spark s",
        "DuckDB s",
        "ratio",
        "DuckDB from events s",
        "all tables s",
        "events/s",
        "to be found",
        "found",
    ):
        table.add_column(name, justify="right")
    for size in report.sizes:
        table.add_row(*_cells(size))
    console.print(table)
    console.print(
        f"before that: {report.start_s:.1f} s to start Spark, and {report.first_s:.1f} s for the two tables "
        "of the smallest size the first time",
        highlight=False,
    )
    for small, large, factor in report.growth():
        console.print(
            f"from {small:,} to {large:,} events the time for all tables grows {factor:.2f} times as fast",
            highlight=False,
        )
    if report.jvm_peak_bytes is not None:
        peak = report.jvm_peak_bytes / _GIB
        console.print(f"driver: heap {report.driver_memory}, process at most {peak:.1f} GiB", highlight=False)
    for size in report.sizes:
        if abs(size.event_count - RATIO_AT) < RATIO_AT // 10:
            console.print(
                f"goal at {RATIO_AT:,} events: within {RATIO_GOAL:g} x of DuckDB by the same plan: "
                f"{'met' if size.ratio <= RATIO_GOAL else 'missed'} ({size.ratio:.1f})",
                highlight=False,
            )
    console.print(", ".join(f"{name}: {value}" for name, value in report.machine.items()), highlight=False)


def _cells(size: SizeReport) -> list[str]:
    return [
        f"{size.event_count:,}",
        f"{size.run_count:,}",
        f"{size.archive_bytes / _GIB:.2f}",
        f"{size.spark_s:.2f}",
        f"{size.duckdb_s:.2f}",
        f"{size.ratio:.1f}",
        "-" if size.duckdb_events_s is None else f"{size.duckdb_events_s:.2f}",
        f"{size.all_tables_s:.1f}",
        f"{size.event_count / size.all_tables_s:,.0f}",
        f"{size.planted_count:,}",
        "all, and nothing else" if size.spark_found and size.duckdb_found else "NOT AS PLANTED",
    ]
