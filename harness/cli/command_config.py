"""`--command-config`: how connections to external brokers are secured, for every command."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE, PROPERTY_PREFIX

if TYPE_CHECKING:
    from typer._click import Command


def name_command_config(file: str | None) -> str | None:
    """Secure connections to external brokers as a file specifies, also in processes that are started."""
    if file is not None:
        os.environ[COMMAND_CONFIG_VARIABLE] = str(Path(file).absolute())
    return file


_HELP: Final = (
    "Properties of Kafka's clients (`security.protocol`, `sasl.*`, `ssl.*`) for external brokers; "
    f"{COMMAND_CONFIG_VARIABLE} names one too; {PROPERTY_PREFIX}SASL_PASSWORD sets a single property."
)
COMMAND_CONFIG = typer.Option(
    metavar="FILE", help=_HELP, show_default=False, callback=name_command_config, is_eager=True
)


def take_behind(command: "Command") -> None:
    """Accept the option after a command too; the command reads its value from the environment."""

    def stated(command_config: Annotated[str | None, COMMAND_CONFIG] = None) -> None:
        raise AssertionError(f"only its option is of use, not {command_config}")

    alone = typer.Typer(add_completion=False)
    alone.command()(stated)
    (option,) = (each for each in typer.main.get_command(alone).params if each.name == "command_config")
    option.expose_value = False
    command.params.append(option)
