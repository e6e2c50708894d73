"""Run folders that a command line names or creates."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from harness.orchestration.plan import PlanError, refuse_unfit_id


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


def make_place(folder: Path) -> None:
    """Create the output folder before the work, which would be lost if the folder cannot be created."""
    folder.mkdir(parents=True, exist_ok=True)


RUN_ID = typer.Option(
    help="The name of the run's folder; by default made from the time.",
    show_default=False,
    callback=fit_run_id,
)
ON = typer.Option(
    "--on",
    help="A Spark cluster whose executors drive: `spark://HOST:PORT` or `local-cluster[2,1,1024]`.",
    show_default=False,
)
