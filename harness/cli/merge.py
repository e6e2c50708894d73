"""`merge`: join shards into one run."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import refuse_taken
from harness.cli.suites_here import SUITES
from harness.clients.known_ids import known_ids
from harness.gate.merge import merge as join
from harness.gate.merge import refuse_strangers
from harness.gate.stored import open_run
from harness.orchestration.expectation_files import expectation_files
from harness.orchestration.judging import ending, read_expectations
from harness.results.exit_code import ExitCode
from harness.trace.files import RunFolder


@ends_with_exit_code
def merge(
    runs: Annotated[list[Path], typer.Argument(help="The folders of the shards.")],
    *,
    out: Annotated[Path, typer.Option(help="The folder of the new run; its name becomes the run's id.")],
    expect: Annotated[
        list[Path] | None,
        typer.Option(help="Another expectation file; may be repeated.", exists=True, dir_okay=False),
    ] = None,
    suites: Annotated[str, SUITES] = "suites",
) -> ExitCode:
    """Join the shards of one plan into one run, and judge it; refuse runs of different plans."""
    refuse_taken(out)
    shards = [open_run(path) for path in runs]
    refuse_strangers(shards)
    files, catalogue = expectation_files(suites, expect or []), known_ids(suites)
    read_expectations(files, catalogue)
    folder = RunFolder.create(out.parent, out.name)
    checked = join(
        shards,
        folder,
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        expectation_files=files,
        catalogue=catalogue,
        today=datetime.now(UTC).date(),
    )
    results = len(checked.judgements)
    typer.echo(f"{len(shards)} runs joined, {results} results: {folder.path}")
    typer.echo(f"`kafka-conformance report {folder.path}` makes its report, `gate` decides on it")
    return ending(checked, catalogue=catalogue, footer=folder.read_footer())
