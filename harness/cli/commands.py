"""All commands by name; the module of a command is imported only when the command is used.

Importing the needs of all commands takes seconds, and no single command needs them all.
"""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException
from typing_extensions import override

from harness.cli.settings import take_behind
from harness.extras import remedy_for
from harness.results.status import ExitCode

if TYPE_CHECKING:
    from typer._click import Command, Context


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("run:run", "Run scenarios on targets, judge the differences, and write a report."),
    "list": (
        "catalogue:list_scenarios",
        "List scenarios, each with its one-sentence claim, or the coverage of the catalogue; run nothing.",
    ),
    "explain": (
        "catalogue:explain",
        "Explain a scenario: its claim, the Kafka source that decides it, and its conversation.",
    ),
    "report": (
        "run:report",
        "Apply today's expectations to a stored run, or to shards joined, and make its report again.",
    ),
    "diff": (
        "diff:diff",
        "Show what changes for clients between two runs, targets or versions of Kafka; decide nothing.",
    ),
    "gate": ("gate:gate", "Decide on a stored run: exit code 0 is green, any other says why not."),
    "expect": ("expect:expect", "Check, add and remove expectation entries (known differences)."),
    "trend": ("trend:trend", "Put runs into the archive, and make tables and pages of all of them."),
    "clients": (
        "clients:clients",
        "Run client scripts with real clients, and compare the results with the scripts and the reference.",
    ),
    "search": (
        "search:search",
        "Make conversations that nobody wrote, and explain what two sides answer differently.",
    ),
    "race": (
        "race:race",
        "Send concurrent requests many times, and report answers that no order of them explains.",
    ),
    "tap": ("tap:tap", "Record what any clients and a target say to each other, until Ctrl-C."),
    "judge": (
        "judge:judge",
        "Compare the answers in recordings with the reference, check runs' invariants, and name causes.",
    ),
    "clean": (
        "clean:clean",
        "Clean an external broker: delete the groups and topics, and abort the transactions, of killed runs.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check this machine: what is there, what is missing, and what to do about it.",
    ),
}
"""By name: the place of a command, and the first sentence of its help.

The place is `module:name` in `harness.cli`: the name of a function, or of a `Typer` with its own commands.
"""
PANELS: Final[Mapping[str, tuple[str, ...]]] = {
    "Run and look": ("run", "list", "explain", "report"),
    "Decide and compare": ("diff", "gate", "expect", "trend"),
    "Other tests": ("clients", "search", "race", "tap", "judge"),
    "The brokers and this machine": ("clean", "doctor"),
}
"""The commands in the groups that `--help` shows."""
GONE: Final[Mapping[str, str]] = {
    "merge": "use `kafka-conformance report RUN RUN… --out NEW`",
    "matrix": "use `kafka-conformance diff --versions VERSIONS`",
    "replay": "use `kafka-conformance judge RUN`",
    "invariants": "use `kafka-conformance judge RUN`",
    "coverage": "use `kafka-conformance list --coverage`",
    "post": "the GitHub action posts (.github/actions/gate, inputs `comment` and `issue`)",
    "mutate": "use `python tools/mutate.py`, in a checkout",
    "loading-table": "use `python tools/loading_table.py`, in a checkout",
    "images": "use `python tools/images.py VERSION…`, in a checkout",
    "bench": "use `python tools/bench.py`, in a checkout",
    "bench-spark": "use `python tools/bench_spark.py RUN`, in a checkout",
    "bench-drive": "time `kafka-conformance run`",
    "bench-judge": "time `kafka-conformance judge`",
}
"""Commands that went before the first release, with what takes their place; to be forgotten with it."""
EXAMPLES: Final = """Examples, each a line:

`kafka-conformance run --target reference --target kafka:3.9.2`

`kafka-conformance run --target external:127.0.0.1:9092 'classic/heartbeat/*'`

`kafka-conformance gate reports/latest --baseline reports/EARLIER`

`kafka-conformance diff --run reports/latest kafka:3.9.2 kafka:4.4.0`
"""
_REACH_OTHERS: Final = frozenset({"clean", "clients", "race", "run", "tap"})
"""Commands that accept an external broker: `--command-config` may follow them, as with Kafka's tools."""


class GoneCommand(TyperCommand):
    """A command that is no more, which names what takes its place."""

    @override
    def make_context(
        self, info_name: str | None, args: list[str], parent: "Context | None" = None, **extra: object
    ) -> "Context":
        assert self.name is not None
        raise TyperException(f"there is no command '{self.name}' any more: {GONE[self.name]}")


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
    return command


def add_commands(app: typer.Typer) -> None:
    """Add all commands to an application without importing them."""
    for panel, names in PANELS.items():
        for name in names:
            _, sentence = COMMANDS[name]
            app.command(name, help=sentence, cls=LazyCommand, rich_help_panel=panel)(_not_imported)
    for name in GONE:
        app.command(name, hidden=True, cls=GoneCommand)(_not_imported)


def _not_imported() -> None:
    raise AssertionError("a command is imported before it runs")
