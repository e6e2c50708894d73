"""The console command `kafka-conformance`."""

import os
import signal
import sys
import traceback
from types import FrameType
from typing import Annotated

import typer
from typer.exceptions import TyperException

from harness import __version__
from harness.cli.bench import bench
from harness.cli.bench_spark import bench_spark
from harness.cli.bench_tap import bench_of_tap
from harness.cli.catalogue import explain, list_scenarios
from harness.cli.clients import clients
from harness.cli.coverage import coverage
from harness.cli.diff import diff
from harness.cli.doctor import doctor
from harness.cli.expect import expect
from harness.cli.gate import gate
from harness.cli.images import images
from harness.cli.loading_table import loading_table
from harness.cli.matrix import matrix
from harness.cli.merge import merge
from harness.cli.mutate import mutate
from harness.cli.race import race
from harness.cli.replay import replay
from harness.cli.run import report, run
from harness.cli.tap import invariants, tap
from harness.cli.trend import trend
from harness.report.exit_code import ExitCode

app = typer.Typer(
    name="kafka-conformance",
    help="Drives group coordinators with identical scripted conversations and reports what differs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _tell_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"kafka-conformance {__version__}")
        raise typer.Exit


@app.callback()
def _of_all(
    version: Annotated[
        bool,
        typer.Option("--version", help="Tell the version.", is_eager=True, callback=_tell_version),
    ] = False,
) -> None:
    """Take what is said before a command."""


app.command("run")(run)
app.command("list")(list_scenarios)
app.command("explain")(explain)
app.command("report")(report)
app.command("matrix")(matrix)
app.command("mutate")(mutate)
app.command("coverage")(coverage)
app.command("doctor")(doctor)
app.command("bench")(bench)
app.command("bench-spark")(bench_spark)
app.command("bench-tap")(bench_of_tap)
app.command("trend")(trend)
app.command("gate")(gate)
app.command("diff")(diff)
app.command("merge")(merge)
app.command("loading-table")(loading_table)
app.command("race")(race)
app.command("replay")(replay)
app.command("clients")(clients)
app.command("tap")(tap)
app.command("invariants")(invariants)
app.add_typer(images, name="images")
app.add_typer(expect, name="expect")


def _end_as_if_interrupted(_: int, frame: FrameType | None) -> None:
    """Take SIGTERM, by which CI cancels a job, for Ctrl-C: what was recorded is kept, brokers are stopped."""
    interrupt = signal.getsignal(signal.SIGINT)
    if callable(interrupt):
        interrupt(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def main() -> None:
    """Run the command line and end with one of the codes of `docs/exit-codes.md`, whatever happens."""
    signal.signal(signal.SIGTERM, _end_as_if_interrupted)
    try:
        sys.exit(app(standalone_mode=False))
    except TyperException as error:
        if message := error.format_message():
            typer.echo(f"kafka-conformance: {message}", err=True)
        sys.exit(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output wants no more of it, and nothing is left to be told when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.TEMPORARY_FAILURE)
    except Exception:  # noqa: BLE001 - Python's own exit status, 1, would say that a target differs
        traceback.print_exc()
        sys.exit(ExitCode.HARNESS_ERROR)


if __name__ == "__main__":
    main()
