"""The console command `kafka-conformance`."""

import sys

import click
import typer

from harness.cli.catalogue import explain, list_scenarios
from harness.cli.doctor import doctor
from harness.cli.run import report, run
from harness.report.exit_code import ExitCode

app = typer.Typer(
    name="kafka-conformance",
    help="Drives group coordinators with identical scripted conversations and reports what differs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("run")(run)
app.command("list")(list_scenarios)
app.command("explain")(explain)
app.command("report")(report)
app.command("doctor")(doctor)


def main() -> None:
    """Run the command line; usage errors end with 64, as `docs/exit-codes.md` says."""
    try:
        sys.exit(app(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
