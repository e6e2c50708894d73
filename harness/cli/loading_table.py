"""`loading-table`: show what each API answered while coordinators were paused during loading."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.errors import ends_with_exit_code
from harness.orchestration.loading_table import LoadingTable
from harness.orchestration.plan import PlanError
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import open_folder
from harness.trace.events import RunKind
from harness.trace.files import LATEST, write_whole

_RUNS = typer.Argument(
    help="Folders of runs of `loading/version`; the newest below reports/ if none is given.",
    metavar="[RUN]…",
    show_default=False,
)
_LATEST = Path("reports", LATEST)


@ends_with_exit_code
def loading_table(
    runs: Annotated[list[Path] | None, _RUNS] = None,
    *,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of printing.")] = None,
) -> ExitCode:
    """Print a Markdown table of what each version of each API answered while a coordinator loaded.

    The exit code is 1 if a target did not answer as the reference does.
    """
    table = LoadingTable()
    for path in runs or [_LATEST]:
        table.add(open_folder(path, RunKind.SUITES, made_by="run loading/version"))
    if not any(table.answers.values()):
        raise PlanError(
            "no request was sent during a load: run `loading/version` on a broker that can be paused"
        )
    page = table.markdown()
    if out is None:
        typer.echo(page, nl=False)
    else:
        write_whole(out, page)
    for cell in table.differing:
        typer.echo(f"kafka-conformance: {cell} is not what the reference answers", err=True)
    return ExitCode.EXPECTED if not table.differing else ExitCode.UNEXPECTED
