"""Run folders that a command line names, or is to make."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from harness.orchestration.plan import PlanError, refuse_unfit_id


def fit_run_id(run_id: str | None) -> str | None:
    """Take the name of a run to be made; one that could name another folder is refused."""
    if run_id is not None:
        try:
            refuse_unfit_id(run_id)
        except PlanError as error:
            raise typer.BadParameter(str(error)) from error
    return run_id


@contextmanager
def telling_of_interruption(folder: Path, reader: str) -> Iterator[None]:
    """Say, if somebody interrupts what is done within, where that is which was recorded, and who reads it."""
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
    """Refuse to make a run where something is already; raises PlanError."""
    if folder.exists():
        raise PlanError(f"{folder} is there already: give the run another name")


def make_place(folder: Path) -> None:
    """Make the folder of what is written at the end, so that nobody works for nothing where none can be."""
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
