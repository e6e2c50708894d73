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
from harness.tables import Table, read_table

if TYPE_CHECKING:
    from typer._click import Command, Context


class _Command(Table):
    """What is known of a command before it is imported."""

    place: str
    """`module:name` in `harness.cli`: the name of a function, or of a `Typer` with its own commands."""
    panel: str
    """The group in which `--help` shows it."""
    says: str
    """The first sentence of its help."""
    reaches_others: bool = False
    """Whether it accepts an external broker: `--command-config` may follow it, as with Kafka's tools."""


class _Commands(Table):
    examples: str
    commands: Mapping[str, _Command]
    gone: Mapping[str, str]


_LISTED: Final = read_table("harness.cli", "commands.toml", _Commands)
COMMANDS: Final = _LISTED.commands
"""By name, in the order in which `--help` shows them."""
GONE: Final = _LISTED.gone
"""Commands that are no more, with what takes their place."""
EXAMPLES: Final = _LISTED.examples


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
    found = resolve_name(f"harness.cli.{COMMANDS[name].place}")
    # Its imports take time, which a command that only prints its version does not.
    from harness.cli.options import described  # noqa: PLC0415 - see above

    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            assert each.callback is not None
            described(f"{name} {each.name}", each.callback)
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name)(described(name, found))
    command = typer.main.get_command(alone)
    if COMMANDS[name].reaches_others:
        take_behind(command)
    return command


def add_commands(app: typer.Typer) -> None:
    """Add all commands to an application without importing them."""
    for name, each in COMMANDS.items():
        app.command(name, help=each.says, cls=LazyCommand, rich_help_panel=each.panel)(_not_imported)
    for name in GONE:
        app.command(name, hidden=True, cls=GoneCommand)(_not_imported)


def _not_imported() -> None:
    raise AssertionError("a command is imported before it runs")
