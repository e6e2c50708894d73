"""`--suites` of a package in the working directory: it is found there, as `python -m` would find it."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter

SUITES = typer.Option(help="The Python package with the scenarios; several as `mine,suites`.")


def find_suites_here(command: "Command") -> None:
    """Let a command find its package of suites in the working directory, if it is nowhere else."""
    for option in command.params:
        if option.name == "suites":
            option.callback = _found


def _found(_context: "Context", _option: "Parameter", packages: str) -> str:
    """Extend Python's path for a package that only the working directory has.

    The folder joins at the end, and only then: a folder such as `docker` shall not stand for an extra that is
    not installed.
    """
    here = Path.cwd()
    for package in packages.split(","):
        top = package.strip().partition(".")[0]
        if find_spec(top) is None and (here / top).is_dir():
            sys.path.append(str(here))
    return packages
