"""A progress display for slow work: one line for each target while a run is driven."""

from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from harness.targets.base.interface import Lasting, Passing


class Bars:
    """A progress bar for each of several subjects; no bars on a pipe."""

    def __init__(self, console: Console, *further: ProgressColumn) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            *further,
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class ProgressDisplay(Bars):
    """Shows how far each target is; on a pipe it prints a line when a target begins and ends."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, TextColumn("[dim]{task.fields[says]}"))
        self._left: dict[str, int] = {}
        self._reported: set[str] = set()

    def target_says(self, target: str, text: str) -> None:
        """Show what a target's slow start is doing."""
        self._progress.update(self._task(target), says=escape(text))
        if not isinstance(text, Passing):
            self._line(f"{target}: {text}", lasting=isinstance(text, Lasting))

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Set the number of a target's scenarios, on the target's line if it already has one."""
        self._progress.update(self._task(target), total=scenario_count)
        self._left[target] = scenario_count
        self._line(f"{target}: {scenario_count} scenarios")

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Advance a target's progress by one scenario."""
        self._progress.update(self._tasks[target], advance=1, says=scenario_id)
        self._left[target] -= 1
        if not self._left[target]:
            self._progress.update(self._tasks[target], says="done")
            self._line(f"{target}: done")

    def teller(self, subject: str) -> Callable[[str], None]:
        """Return a function that shows the progress of a subject without a count."""
        self._task(subject)
        return lambda text: self.target_says(subject, text)

    def _task(self, subject: str) -> TaskID:
        if subject not in self._tasks:
            self._tasks[subject] = self._progress.add_task(subject, total=None, says="")
        return self._tasks[subject]

    def finish(self, subject: str) -> None:
        """Mark the line of a subject without a count as done."""
        self._progress.update(self._tasks[subject], total=1, completed=1, says="done")

    def _line(self, text: str, *, lasting: bool = False) -> None:
        """Print a line, the first time it is reported, if it is lasting or the console is not a terminal."""
        if (lasting or not self._console.is_terminal) and text not in self._reported:
            self._reported.add(text)
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def plainly(console: Console) -> Callable[[str], None]:
    """Return a function that prints a line unchanged: it interprets no markup and does not wrap."""

    def say(text: str) -> None:
        if not isinstance(text, Passing):
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return say
