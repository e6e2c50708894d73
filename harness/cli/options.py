"""The parameters of commands: their declarations, from `options.toml`, and what several of them mean."""

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from harness.orchestration.plan import PlanError, refuse_unfit_id
from harness.results.status import ExitCode
from harness.tables import Table, read_table
from harness.targets.base.interface import Target
from harness.terminal import in_terminal


def list_only(targets: Sequence[Target], of_external: Callable[[Target], Iterable[str]]) -> ExitCode:
    """List what would be done to each external target; for the others, that the harness starts them."""
    for target in targets:
        for line in of_external(target) if target.is_external else [f"{target.spec} is started for this"]:
            typer.echo(in_terminal(line))
    return ExitCode.EXPECTED


def command_line() -> str:
    """Return the command line of this process, for the records of its run."""
    return shlex.join(["kafka-conformance", *sys.argv[1:]])


def fit_run_id(run_id: str | None) -> str | None:
    """Return the name of a new run; refuse a name that could lead to another folder."""
    if run_id is not None:
        try:
            refuse_unfit_id(run_id)
        except PlanError as error:
            raise typer.BadParameter(str(error)) from error
    return run_id


@contextmanager
def telling_of_interruption(folder: Path, reader: str) -> Iterator[None]:
    """If the block is interrupted, print where the records are, and which command reads them."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.exists():
            typer.echo(
                f"kafka-conformance: interrupted; what was recorded is in {folder}, "
                f"and `kafka-conformance {reader} {folder}` tells of it",
                err=True,
            )
        raise


def refuse_taken(folder: Path) -> None:
    """Raise PlanError if a run's folder exists already."""
    if folder.exists():
        raise PlanError(f"{folder} is there already: give the run another name")


def package_folder(folder: Path | None) -> Path | None:
    """Return a folder that is to become a package of suites, unless Python could not import it."""
    if folder is not None:
        _refuse_dots(folder)
    return folder


def _found(packages: str) -> str:
    """Extend Python's path for packages that only the working directory has.

    The folder is appended, and only if needed, so that a folder such as `docker` does not pass for an extra
    that is not installed.
    """
    return ",".join(_package(each.strip()) for each in packages.split(","))


def _package(named: str) -> str:
    """Return the name of a package given by name or by folder; extend Python's path if that is needed."""
    folder = Path(named).absolute()
    is_path = os.sep in named and folder.is_dir()
    if is_path:
        _refuse_dots(folder)
    package = folder.name if is_path else named
    top = package.partition(".")[0]
    home = folder.parent if is_path else Path.cwd()
    if find_spec(top) is None and (home / top).is_dir():
        sys.path.append(str(home))
    return package


def _refuse_dots(folder: Path) -> None:
    if "." in folder.name:
        instead = folder.with_name(folder.name.replace(".", "_"))
        raise typer.BadParameter(f"a package's folder has no dot in its name: call it {instead}")


def whole_number(text: str) -> int:
    """Return a count, which may be written as `1e6`.

    Raises:
        BadParameter: it is not a whole number from 1 on.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if number < 1 or not number.is_integer():
        raise typer.BadParameter(f"{text} is not a whole number from 1 on, such as 20000 or 1e6")
    return int(number)


class _Parameter(Table):
    """What the command line knows of a command's parameter besides its name, type and default."""

    flags: tuple[str, ...] = ()
    is_argument: bool = False
    help: str
    metavar: str | None = None
    min: int | float | None = None
    max: int | float | None = None
    show_default: bool = True
    file_okay: bool = True
    dir_okay: bool = True
    exists: bool = False

    def declared(self, name: str) -> object:
        """Return the declaration of the parameter that has this name."""
        given = self.model_dump(exclude={"flags", "is_argument"})
        make = typer.Argument if self.is_argument else typer.Option
        return make(*self.flags, **given, callback=_CALLBACKS.get(name), parser=_PARSERS.get(name))


_CALLBACKS: Final[Mapping[str, Callable[..., object]]] = {
    "run_id": fit_run_id,
    "suites": _found,
    "write_to": package_folder,
}
_PARSERS: Final = {"steps": whole_number}
R = TypeVar("R")


def described(command: str, function: Callable[..., R]) -> Callable[..., R]:
    """Give the parameters of a command the flags and the help that `options.toml` has for them."""
    tables = read_table("harness.cli", "options.toml", dict[str, dict[str, _Parameter]])
    known = tables["shared"] | tables.get(command, {})
    signature = inspect.signature(inspect.unwrap(function))
    function.__signature__ = signature.replace(  # type: ignore[attr-defined] # inspect reads it
        parameters=[
            each.replace(annotation=Annotated[each.annotation, known[name].declared(name)])
            for name, each in signature.parameters.items()
        ]
    )
    return function
