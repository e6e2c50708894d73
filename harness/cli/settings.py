"""Settings of a repository for all commands: the table `[tool.kafka-conformance]` of its pyproject.toml.

`docs/installing.md` explains its keys. An option on the command line wins.
"""

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.targets.base.interface import TargetError
from harness.targets.base.limits import ANSWER_BYTES, MIB, PAGE_BYTES, TRACE_BYTES, ByteLimit
from harness.targets.jars.locks import LOCK_VARIABLE
from harness.targets.jars.repository import mirror_url
from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE
from harness.targets.secured.variables import MIRROR_VARIABLE, PROPERTY_PREFIX

if TYPE_CHECKING:
    from typer._click import Command

_FILE: Final = "pyproject.toml"
_TABLE: Final = "kafka-conformance"

_JUDGING: Final = ("suites", "expect")
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "run": (*_JUDGING, "target", "out", "assume"),
    "report": _JUDGING,
    "gate": _JUDGING,
    "clients": _JUDGING,
    **dict.fromkeys(("list", "explain", "diff", "doctor"), ("suites",)),
}
"""The options that the table sets, by command; outside `run`, `--out` has another meaning."""

_EXPECT_VERBS: Final = ("lint", "update", "prune", "why")
"""The commands of the group `expect`, which take the same of the table as `gate`."""


class SettingsError(Exception):
    """The table is invalid; the message contains the file, the key and the error."""


class Settings(BaseModel):
    """The table, with paths made absolute by `read_settings`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=lambda name: name.replace("_", "-")
    )

    suites: str | None = None
    expect: list[str] = Field(default_factory=list)
    target: list[str] = Field(default_factory=list)
    out: str | None = None
    jar_lock: str | None = None
    assume: list[str] = Field(default_factory=list)


def read_settings(start: Path) -> tuple[Settings, Path] | None:
    """Return the settings of the nearest pyproject.toml at or above a folder, and that file's folder.

    Raises:
        SettingsError: the file is not valid TOML, or the table has an invalid key or value.
    """
    file = next((path for each in (start, *start.parents) if (path := each / _FILE).is_file()), None)
    if file is None:
        return None
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    if not isinstance(tables, Mapping) or _TABLE not in tables:
        return None
    try:
        return Settings.model_validate(tables[_TABLE]), file.parent
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the table"
        known = ", ".join(field.alias or name for name, field in Settings.model_fields.items())
        raise SettingsError(f"{file}, [tool.{_TABLE}], {where}: {first['msg']}; there are {known}") from error


def apply_settings(start: Path) -> dict[str, Mapping[str, object]]:
    """Return the defaults of commands that the settings at or above a folder change.

    The settings' folder is appended to Python's import path, so that nothing in it shadows an installed
    package. A lock of jars is passed on in the environment unless one is set there.

    Raises:
        SettingsError: the settings are invalid.
    """
    found = read_settings(start)
    if found is None:
        return {}
    settings, folder = found
    if settings.suites is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    if settings.jar_lock is not None:
        os.environ.setdefault(LOCK_VARIABLE, str(folder / settings.jar_lock))
    values = settings.model_dump(exclude={"jar_lock"}, exclude_defaults=True)
    if settings.expect:
        values["expect"] = [str(folder / each) for each in settings.expect]
    if settings.out is not None:
        values["out"] = str(folder / settings.out)
    of_commands = {
        command: {name: values[name] for name in names if name in values}
        for command, names in _OPTIONS.items()
    }
    return {**of_commands, "expect": dict.fromkeys(_EXPECT_VERBS, of_commands["gate"])}


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
    if url is not None:
        os.environ[MIRROR_VARIABLE] = url
    try:
        mirror_url()
    except TargetError as error:
        raise typer.BadParameter(str(error)) from error
    return url


def _name_lock(file: str | None) -> str | None:
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
