"""`--dry-run`: list what a command would do to external brokers, without sending them a request."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import typer
from rich.console import Console

from harness.orchestration.progress import plainly
from harness.results.exit_code import ExitCode
from harness.targets.base.interface import Target

DRY_RUN: Final = typer.Option("--dry-run", help="List what would be done to external brokers; send nothing.")


def list_only(
    targets: Sequence[Target], console: Console, of_external: Callable[[Target], Iterable[str]]
) -> ExitCode:
    """List what would be done to each external target; for the others, that the harness starts them."""
    say = plainly(console)
    for target in targets:
        for line in of_external(target) if target.is_external else [f"{target.spec} is started for this"]:
            say(line)
    return ExitCode.EXPECTED
