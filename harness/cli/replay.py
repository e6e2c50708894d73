"""`replay`: send what a tap has recorded to the reference, and compare the answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.cli.wide_console import wide_console
from harness.replay import Replayed, total
from harness.replay.stored import ReplayedTarget, replay_run
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import open_folder
from harness.trace.events import RunKind

_RUNS = typer.Argument(help="Folders of runs of `tap` or `clients`.")
_WHOLE = typer.Option(
    "--whole",
    help="The recording has everything ever sent about these groups: compare from the start.",
)
_SHOWN = 40


@ends_with_exit_code
def replay(runs: Annotated[list[Path], _RUNS], *, whole: Annotated[bool, _WHOLE] = False) -> ExitCode:
    """Send the requests of a tapped target to the reference, and compare the answers."""
    console = wide_console()
    targets = [
        target
        for run in runs
        for target in replay_run(
            open_folder(run, RunKind.TAP, RunKind.CLIENTS, RunKind.SOAK).path, is_whole=whole
        )
    ]
    table = Table("target", "profile", "conversations", "compared", "not compared", "answered otherwise")
    for target in targets:
        summed = total(target.conversations)
        table.add_row(
            target.target,
            target.profile,
            str(len(target.conversations)),
            str(summed.compared),
            str(sum(summed.not_compared.values())),
            str(len(summed.findings)),
        )
    console.print(table)
    for target in targets:
        _tell(console, target)
    return exit_code([each for target in targets for each in target.conversations])


def exit_code(replayed: Sequence[Replayed]) -> ExitCode:
    """Return the exit code of a replay; comparing nothing does not count as agreement."""
    if any(each.findings for each in replayed):
        return ExitCode.UNEXPECTED
    return ExitCode.EXPECTED if any(each.compared for each in replayed) else ExitCode.NOTHING_RAN


def _tell(console: Console, target: ReplayedTarget) -> None:
    def say(line: str) -> None:
        console.print(line, soft_wrap=True, highlight=False, markup=False)

    for why, count in sorted(total(target.conversations).not_compared.items()):
        say(f"{target.target}: not compared: {count} {why}")
    for each in target.findings[:_SHOWN]:
        say(f"{target.target}: {each.conversation}, event {each.position}, group {each.group}: {each.says}")
    if len(target.findings) > _SHOWN:
        say(f"and {len(target.findings) - _SHOWN} more")
