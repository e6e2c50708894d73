"""`--command-config`: how connections to external brokers are secured, for every command."""

import os
from pathlib import Path

import typer

from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE, PROPERTY_PREFIX


def name_command_config(file: str | None) -> str | None:
    """Have connections to external brokers secured as a file says, in processes that are started too."""
    if file is not None:
        os.environ[COMMAND_CONFIG_VARIABLE] = str(Path(file).absolute())
    return file


COMMAND_CONFIG = typer.Option(
    metavar="FILE",
    help="Properties of Kafka's clients (`security.protocol`, `sasl.*`, `ssl.*`) for external brokers; "
    f"{COMMAND_CONFIG_VARIABLE} names one too; {PROPERTY_PREFIX}SASL_PASSWORD sets a single property.",
    show_default=False,
    callback=name_command_config,
    is_eager=True,
)
