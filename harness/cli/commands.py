"""Every command by its name; its module is imported when somebody chooses it, and not before.

What all commands need together takes seconds to import, and no command needs it all.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand
from typing_extensions import override

from harness.extras import remedy_for
from harness.results.exit_code import ExitCode

if TYPE_CHECKING:
    from typer._click import Command, Context


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("run:run", "Run scenarios on targets, judge what differs, and write a report."),
    "list": ("catalogue:list_scenarios", "List scenarios with their sentence, without running anything."),
    "explain": (
        "catalogue:explain",
        "Tell what a scenario claims, by which Kafka source, and how its conversation goes.",
    ),
    "report": (
        "run:report",
        "Judge a stored run again, with today's expectations, and make its report anew.",
    ),
    "matrix": (
        "matrix:matrix",
        "Drive many versions of Kafka, and tell what changed from each to the next and what explains it.",
    ),
    "mutate": (
        "mutate:mutate",
        "Derive faults from the reference's code and see whether a scenario notices each of them.",
    ),
    "coverage": (
        "coverage:coverage",
        "Tell which rows of the catalogue are exercised; ends with 1 when they are too few.",
    ),
    "doctor": ("doctor:doctor", "Tell what is there, what is missing and what to do about it."),
    "bench": ("bench:bench", "Measure the reference, in process and over TCP, side by side with a broker."),
    "bench-drive": (
        "bench_drive:bench_drive",
        "Measure whole runs on this machine: time, brokers, and results that accuse.",
    ),
    "bench-spark": (
        "bench_spark:bench_spark",
        "Measure the tables of many runs at several sizes, and find what was planted.",
    ),
    "bench-tap": (
        "bench_tap:bench_of_tap",
        "Measure clients that talk to a broker directly and through a tap, side by side.",
    ),
    "trend": (
        "trend:trend",
        "Put runs into the archive, and make tables and pages of what they say together.",
    ),
    "gate": ("gate:gate", "Decide on a stored run: 0 is green, any other exit code says why not."),
    "diff": (
        "diff:diff",
        "Tell what a client sees change between two runs, or two targets of one; it decides nothing.",
    ),
    "merge": (
        "merge:merge",
        "Join shards of one plan into one run, and judge it; runs that do not belong together are refused.",
    ),
    "loading-table": (
        "loading_table:loading_table",
        "Print what each version of each API answered while a coordinator loaded, as a table of Markdown.",
    ),
    "race": (
        "race:race",
        "Let requests overlap many times over, and tell which answers no order of them explains.",
    ),
    "replay": (
        "replay:replay",
        "Tell the reference what clients said to a tapped target, and compare what it answers.",
    ),
    "clean": (
        "clean:clean",
        (
            "Delete the groups and topics, and abort the transactions, "
            "that killed runs left on a broker of others."
        ),
    ),
    "clients": (
        "clients:clients",
        "Let real clients carry scripts out, and compare what they see with the scripts and the reference.",
    ),
    "tap": ("tap:tap", "Stand between any clients and a target, and keep what they say; Ctrl-C ends it."),
    "invariants": ("tap:invariants", "Look for broken invariants in the traces of stored runs."),
    "images": (
        "images:images",
        "Build images of Kafka where no registry is reached; `container:apache/kafka:VERSION` finds them.",
    ),
    "expect": ("expect:expect", "Keeps the known differences in order."),
}
"""By name, in the order in which `--help` lists them: where a command is, and the first sentence of its help.

Where is `module:name` in `harness.cli`, the name of a function or of a `Typer` with commands of its own.
"""


class LazyCommand(TyperCommand):
    """Stands for a command in the list of commands; the command itself parses its words and runs."""

    @override
    def make_context(
        self, info_name: str | None, args: list[str], parent: "Context | None" = None, **extra: object
    ) -> "Context":
        assert self.name is not None
        try:
            command = load_command(self.name)
        except ImportError as error:
            if (remedy := remedy_for(error)) is None:
                raise
            typer.echo(f"kafka-conformance: {remedy}", err=True)
            raise typer.Exit(ExitCode.CONFIGURATION) from error
        return command.make_context(info_name, args, parent, **extra)


def load_command(name: str) -> "Command":
    """Import a command and return it as the command line runs it."""
    found = resolve_name(f"harness.cli.{COMMANDS[name][0]}")
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name)(found)
    return typer.main.get_command(alone)


def add_commands(app: typer.Typer) -> None:
    """Give an application all commands, none of them imported."""
    for name, (_, sentence) in COMMANDS.items():
        app.command(name, help=sentence, cls=LazyCommand)(_not_imported)


def _not_imported() -> None:
    raise AssertionError("a command is imported before it runs")
