"""Find the package that `--suites` names in the working directory, or by its folder."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter

SUITES = typer.Option(
    help="The Python package with the scenarios, or its folder, e.g. `reports/RUN-found`; "
    "several as `mine,suites`."
)


def package_folder(folder: Path | None) -> Path | None:
    """Return a folder that is to become a package of suites, unless Python could not import it."""
    if folder is not None:
        _refuse_dots(folder)
    return folder


def find_suites_here(command: "Command") -> None:
    """Let a command find its package of suites in the working directory if it is nowhere else."""
    for option in command.params:
        if option.name == "suites":
            option.callback = _found


def _found(_context: "Context", _option: "Parameter", packages: str) -> str:
    """Extend Python's path for a package that only the working directory has.

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
