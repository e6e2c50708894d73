"""Options that several commands share, each declared once, and what they mean."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from harness.orchestration.plan import PlanError, refuse_unfit_id
from harness.results.status import ExitCode
from harness.targets.base.interface import Target
from harness.terminal import in_terminal

EXPECT: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--expect", help="Another expectation file; may be repeated.", dir_okay=False),
]
"""What it names is there, or the command ends with 66; only `expect update` writes a new file."""
BROKER_PROPERTY = typer.Option(
    "--broker-property",
    help="A property for every broker that is started, e.g. `group.max.size=2`; may be repeated. "
    "A scenario's own properties come first.",
)
SKIP = typer.Option(help="Scenario ids or globs to leave out; may be repeated.")
ON = typer.Option(
    "--on",
    help="A Spark cluster whose executors drive: `spark://HOST:PORT` or `local-cluster[2,1,1024]`.",
    show_default=False,
)
DRY_RUN: Final = typer.Option("--dry-run", help="List what would be done to external brokers; send nothing.")


def list_only(targets: Sequence[Target], of_external: Callable[[Target], Iterable[str]]) -> ExitCode:
    """List what would be done to each external target; for the others, that the harness starts them."""
    for target in targets:
        for line in of_external(target) if target.is_external else [f"{target.spec} is started for this"]:
            typer.echo(in_terminal(line))
    return ExitCode.EXPECTED


def fit_run_id(run_id: str | None) -> str | None:
    """Return the name of a new run; refuse a name that could lead to another folder."""
    if run_id is not None:
        try:
            refuse_unfit_id(run_id)
        except PlanError as error:
            raise typer.BadParameter(str(error)) from error
    return run_id


RUN_ID = typer.Option(
    help="The name of the run's folder; by default made from the time.",
    show_default=False,
    callback=fit_run_id,
)


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


SUITES = typer.Option(
    help="The Python package with the scenarios, or its folder, e.g. `reports/RUN-found`; "
    "several as `mine,suites`.",
    callback=_found,
)
