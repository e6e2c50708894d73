"""Options that stand before a command and apply to each of them; nothing here is slow to import."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from harness.targets.base.interface import TargetError
from harness.targets.base.limits import ANSWER_BYTES, MIB, PAGE_BYTES, TRACE_BYTES, ByteLimit
from harness.targets.jars.locks import LOCK_VARIABLE
from harness.targets.jars.repository import mirror_url
from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE
from harness.targets.secured.variables import MIRROR_VARIABLE, PROPERTY_PREFIX

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


def _limit(limit: ByteLimit, effect: str) -> object:
    def set_it(mebibytes: float | None) -> float | None:
        if mebibytes is not None:
            limit.set(mebibytes)
        return mebibytes

    what = f"The most MiB of {limit.what} ({limit.default // MIB} by default); {effect}."
    return typer.Option(limit.option, min=0.001, help=what, callback=set_it)


ANSWER_MIB = _limit(ANSWER_BYTES, "a target that sends more is lost")
TRACE_MIB = _limit(TRACE_BYTES, "a target that sends more is lost")
PAGE_MIB = _limit(PAGE_BYTES, "the report leaves out the rest")


def _name_mirror(url: str | None) -> str | None:
    """Fetch jars from a mirror from now on."""
    if url is not None:
        os.environ[MIRROR_VARIABLE] = url
    try:
        mirror_url()
    except TargetError as error:
        raise typer.BadParameter(str(error)) from error
    return url


def _name_lock(file: str | None) -> str | None:
    """Record hashes in a file from now on, also in processes that are started."""
    if file is not None:
        os.environ[LOCK_VARIABLE] = file
    return file


MAVEN_MIRROR = typer.Option(
    metavar="URL",
    help=f"A mirror of Maven Central to get Kafka's jars from; {MIRROR_VARIABLE} names one too.",
    show_default=False,
    callback=_name_mirror,
    is_eager=True,
)
JAR_LOCK = typer.Option(
    metavar="FILE",
    help="Records the SHA-512 of the jars of Kafka versions that are newer than this package, so that you "
    f"can keep it under version control; by default it lies in the cache. {LOCK_VARIABLE} names one too.",
    show_default=False,
    callback=_name_lock,
    is_eager=True,
)
