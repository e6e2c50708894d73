"""All commands by name; the module of a command is imported only when the command is used.

Importing the needs of all commands takes seconds, and no single command needs them all.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand
from typing_extensions import override

from harness.cli.command_config import take_behind
from harness.cli.suites_here import find_suites_here
from harness.extras import remedy_for
from harness.results.exit_code import ExitCode

if TYPE_CHECKING:
    from typer._click import Command, Context


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("run:run", "Run scenarios on targets, judge the differences, and write a report."),
    "list": ("catalogue:list_scenarios", "List scenarios, each with its one-sentence claim; run nothing."),
    "explain": (
        "catalogue:explain",
        "Explain a scenario: its claim, the Kafka source that decides it, and its conversation.",
    ),
    "report": (
        "run:report",
        "Judge a stored run again with today's expectations, and make its report anew.",
    ),
    "matrix": (
        "matrix:matrix",
        "Run many versions of Kafka, list what changes from each to the next, and explain it.",
    ),
    "mutate": (
        "mutate:mutate",
        "Put one fault at a time into the reference, and check that a scenario finds it.",
    ),
    "coverage": (
        "coverage:coverage",
        "List the rows of the catalogue that scenarios exercise; exit code 1 if there are too few.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check this machine: what is there, what is missing, and what to do about it.",
    ),
    "bench": ("bench:bench", "Measure the reference, in process and over TCP, side by side with a broker."),
    "bench-drive": (
        "bench_drive:bench_drive",
        "Measure whole runs on this machine: time, brokers, and wrong verdicts.",
    ),
    "bench-spark": (
        "bench_spark:bench_spark",
        "Measure the tables of many runs at several sizes, and find the planted differences.",
    ),
    "bench-judge": (
        "bench_judge:bench_judge",
        "Measure `judge` at several sizes, and find the planted lies.",
    ),
    "trend": (
        "trend:trend",
        "Put runs into the archive, and make tables and pages of all of them.",
    ),
    "gate": ("gate:gate", "Decide on a stored run: exit code 0 is green, any other says why not."),
    "post": (
        "post:post",
        "Post the gate's decision to GitHub, as one comment on the pull request or as one issue.",
    ),
    "diff": (
        "diff:diff",
        "Show what changes for clients between two runs, or two targets of one run; decide nothing.",
    ),
    "merge": (
        "merge:merge",
        "Join the shards of one plan into one run, and judge it; refuse runs of different plans.",
    ),
    "loading-table": (
        "loading_table:loading_table",
        "Print a Markdown table of what each version of each API answered while a coordinator loaded.",
    ),
    "race": (
        "race:race",
        "Send concurrent requests many times, and report answers that no order of them explains.",
    ),
    "search": (
        "search:search",
        "Make conversations that nobody wrote, and explain what two sides answer differently.",
    ),
    "replay": (
        "replay:replay",
        "Send the requests of a tapped target to the reference, and compare the answers.",
    ),
    "judge": (
        "judge:judge",
        "Compare a broker's answers in captures or taps with those of the reference.",
    ),
    "clean": (
        "clean:clean",
        "Clean an external broker: delete the groups and topics, and abort the transactions, of killed runs.",
    ),
    "clients": (
        "clients:clients",
        "Run client scripts with real clients, and compare the results with the scripts and the reference.",
    ),
    "tap": ("tap:tap", "Record what any clients and a target say to each other, until Ctrl-C."),
    "invariants": ("tap:invariants", "Look for broken invariants in the traces of stored runs."),
    "images": (
        "images:images",
        "Build images of Kafka where no registry is reached; use them as `container:apache/kafka:VERSION`.",
    ),
    "expect": ("expect:expect", "Check, add and remove expectation entries (known differences)."),
}
"""By name: the place of a command, and the first sentence of its help.

The place is `module:name` in `harness.cli`: the name of a function, or of a `Typer` with its own commands.
"""


PANELS: Final[Mapping[str, tuple[str, ...]]] = {
    "Run and look": ("run", "list", "explain", "report", "clients", "merge", "clean"),
    "Decide and compare": ("gate", "post", "diff", "matrix", "expect", "trend"),
    "Other tests": ("search", "race", "tap", "replay", "judge", "invariants"),
    "The harness itself": (
        *("doctor", "coverage", "mutate", "loading-table", "images"),
        *("bench", "bench-drive", "bench-spark", "bench-judge"),
    ),
}
"""The commands in the groups that `--help` shows."""
EXAMPLES: Final = """Examples, each a line:

`kafka-conformance run --target reference --target kafka:3.9.2`

`kafka-conformance run --target external:127.0.0.1:9092 'classic/heartbeat/*'`

`kafka-conformance gate reports/latest --baseline reports/EARLIER`

`kafka-conformance diff --run reports/latest kafka:3.9.2 kafka:4.4.0`
"""
_REACH_OTHERS: Final = frozenset({"clean", "clients", "race", "run", "tap"})
"""Commands that accept an external broker: `--command-config` may follow them, as with Kafka's tools."""


class LazyCommand(TyperCommand):
    """A placeholder in the list of commands; the real command is imported to parse its arguments and run."""

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
    """Import a command and return it ready for the command line."""
    found = resolve_name(f"harness.cli.{COMMANDS[name][0]}")
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name)(found)
    command = typer.main.get_command(alone)
    if name in _REACH_OTHERS:
        take_behind(command)
    find_suites_here(command)
    return command


def add_commands(app: typer.Typer) -> None:
    """Add all commands to an application without importing them."""
    for panel, names in PANELS.items():
        for name in names:
            _, sentence = COMMANDS[name]
            app.command(name, help=sentence, cls=LazyCommand, rich_help_panel=panel)(_not_imported)


def _not_imported() -> None:
    raise AssertionError("a command is imported before it runs")
