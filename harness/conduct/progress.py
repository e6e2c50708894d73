"""A progress display for slow things: a line a target while a run is driven."""

from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class ProgressDisplay:
    """Shows how far each target is; on a pipe it prints a line when a target begins and ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[says]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._left: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def target_says(self, target: str, text: str) -> None:
        """Tell what a target's slow start is busy with."""
        if target in self._tasks:
            self._progress.update(self._tasks[target], says=text)
        self._line(f"{target}: {text}")

    def of_targets(self) -> Callable[[str, str], None]:
        """Return what tells of targets where nothing is counted; one is known when it is named."""
        known: set[str] = set()

        def tell(target: str, text: str) -> None:
            if target not in known:
                known.add(target)
                self.teller(target)
            self.target_says(target, text)

        return tell

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Open a line for a target."""
        self._tasks[target] = self._progress.add_task(target, total=scenario_count, says="")
        self._left[target] = scenario_count
        self._line(f"{target}: {scenario_count} scenarios")

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Move a target's line on."""
        self._progress.update(self._tasks[target], advance=1, says=scenario_id)
        self._left[target] -= 1
        if not self._left[target]:
            self._progress.update(self._tasks[target], says="done")
            self._line(f"{target}: done")

    def teller(self, subject: str) -> Callable[[str], None]:
        """Return what tells the progress of something that has no count."""
        task = self._progress.add_task(subject, total=None, says="")
        self._tasks[subject] = task
        return lambda text: self.target_says(subject, text)

    def finish(self, subject: str) -> None:
        """Close the line of something that has no count."""
        self._progress.update(self._tasks[subject], total=1, completed=1, says="done")

    def _line(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text, highlight=False)


def plainly(console: Console) -> Callable[[str], None]:
    """Return what prints a line as it is: no markup in what was sent, and no break within it."""

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    return say
