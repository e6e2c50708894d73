"""The console command `kafka-conformance`."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from harness import __version__
from harness.cli.commands import EXAMPLES, add_commands
from harness.cli.errors import end_at_once_from_now_on, is_interruption, take_signals
from harness.cli.settings import (
    ANSWER_MIB,
    COMMAND_CONFIG,
    JAR_LOCK,
    MAVEN_MIRROR,
    PAGE_MIB,
    TRACE_MIB,
    SettingsError,
    apply_settings,
)
from harness.results.status import ExitCode
from harness.targets.secured.variables import take_secrets
from harness.workers import collect_rarely

app = typer.Typer(
    name="kafka-conformance",
    help="Runs the same scripted conversations on group coordinators, and reports every difference.",
    epilog=EXAMPLES,
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
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_tell_version)
    ] = False,
    maven_mirror: Annotated[str | None, MAVEN_MIRROR] = None,
    jar_lock: Annotated[str | None, JAR_LOCK] = None,
    command_config: Annotated[str | None, COMMAND_CONFIG] = None,
    answer_mib: Annotated[float | None, ANSWER_MIB] = None,
    trace_mib: Annotated[float | None, TRACE_MIB] = None,
    page_mib: Annotated[float | None, PAGE_MIB] = None,
) -> None:
    """Take what is said before a command."""


add_commands(app)


def main() -> None:
    """Run the command line and end with one of the codes of `docs/exit-codes.md`, whatever happens."""
    take_signals()
    collect_rarely()
    take_secrets()
    try:
        sys.exit(app(standalone_mode=False, default_map=apply_settings(Path.cwd())))
    except SettingsError as error:
        typer.echo(f"kafka-conformance: {error}", err=True)
        sys.exit(ExitCode.CONFIGURATION)
    except TyperException as error:
        if message := error.format_message():
            typer.echo(f"kafka-conformance: {message}", err=True)
        sys.exit(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        end_at_once_from_now_on()
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output is gone; without this, Python would report the broken pipe again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.TEMPORARY_FAILURE)
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - Python's own exit status, 1, would mean that a target differs
        if is_interruption(error):
            end_at_once_from_now_on()
            sys.exit(ExitCode.INTERRUPTED)
        traceback.print_exc()
        sys.exit(ExitCode.HARNESS_ERROR)
