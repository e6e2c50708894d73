"""What a command says on a terminal or a pipe: lines that stay, few enough to read, and passing progress."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.targets.base.interface import Lasting, Passing

_KEPT: Final = 25
"""Rows that progress which lasts leaves to what comes at the end."""
COLUMNS: Final = 80
ROWS_MAX: Final = 60
"""The most rows of 80 columns that a command prints, besides its progress and data that were asked for."""
TAIL: Final = 3
"""The last lines of a text that is cut: they say what to make of it."""
PIPE_WAITS_S: Final = (10, 30, *(60 * 2**doubling for doubling in range(8)))
"""The seconds before each line of progress on a pipe: ten lines last for four hours."""


def in_terminal(value: str) -> str:
    """Return a value with escapes for control characters, which a terminal would obey, and bidi marks."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in value
    )


def plain(value: str, style: str = "") -> Text:
    """Return text, perhaps from a target, as one line with its control characters written as escapes."""
    return Text(in_terminal(value), style)


def rows(lines: Sequence[Text]) -> int:
    """Return how many rows lines take on a terminal of 80 columns."""
    return sum(max(1, -(-cell_len(line.plain) // COLUMNS)) for line in lines)


class Writer:
    """Prints the lines of a command that stay, and knows how many rows are left for more."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self.rows_left = ROWS_MAX

    def say(self, text: str | Text = "", style: str = "") -> None:
        """Print a line, which is neither wrapped nor cut; progress that passes is left out."""
        if not isinstance(text, Passing):
            line = text if isinstance(text, Text) else plain(text, style)
            self.rows_left -= rows([line])
            self.console.print(line, soft_wrap=True, highlight=False)

    def say_some(
        self, blocks: Sequence[Sequence[Text]], *, rest: str, noun: str = "line", keep: int = 0, tail: int = 0
    ) -> None:
        """Print blocks of lines as far as there is room, at least one; then how many were left out.

        Args:
            blocks: each is printed whole or not at all.
            rest: where those are that are left out, e.g. `the report has them all`.
            noun: what a block is.
            keep: the rows that are to be left for what follows.
            tail: how many of the last blocks are printed in any case.
        """
        room = self.rows_left - keep
        head, last = blocks[: len(blocks) - tail], blocks[len(blocks) - tail :]
        if sum(map(rows, blocks)) > room:
            room -= 1 + sum(map(rows, last))
            count = 1
            while count < len(head) and sum(map(rows, head[: count + 1])) <= room:
                count += 1
            left_out = len(head) - count
            head = head[:count]
            if left_out > 0:
                more = f"… and {left_out} more {noun}{'' if left_out == 1 else 's'}; {rest}"
                head = [*head, [plain(more, "bright_black")]]
        for line in (line for block in (*head, *last) for line in block):
            self.say(line)

    def lines_of(self, printing: Callable[[Console], object]) -> list[Text]:
        """Return the lines that a function prints to a console like this one."""
        with self.console.capture() as captured:
            printing(self.console)
        return list(Text.from_ansi(captured.get()).split("\n", allow_blank=False))

    def say_beginning(self, printing: Callable[[Console], object], *, rest: str, keep: int = 0) -> None:
        """Print what a function prints: as much of its beginning as there is room for, and its last lines.

        Args:
            printing: prints to a console.
            rest: where all of it is.
            keep: the rows that are to be left for what follows.
        """
        lines = [[line] for line in self.lines_of(printing)]
        self.say_some(lines, rest=rest, keep=keep, tail=TAIL)


class ProgressDisplay:
    """Shows what goes on: one live line on a terminal; on a pipe a line now and then, ever less often."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._began_s = time.monotonic()
        self._ended_count = self._count = 0
        self._says = ""
        self._said: set[str] = set()
        self._has_ended = threading.Event()
        self._live = Live(
            console=writer.console, get_renderable=self._line, transient=True, refresh_per_second=4
        )
        self._speaker = threading.Thread(target=self._speak, daemon=True)

    def __enter__(self) -> Self:
        if self._writer.console.is_terminal:
            self._live.start()
        else:
            self._speaker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        if self._writer.console.is_terminal:
            self._live.stop()
        else:
            self._speaker.join()

    def target_says(self, target: str, text: str) -> None:
        """Show what is done about a target; the text stays if it is lasting."""
        self._says = f"{target}: {text}"
        is_new = isinstance(text, Lasting) and self._says not in self._said
        if is_new and self._writer.rows_left > _KEPT:
            self._said.add(self._says)
            self._writer.say(self._says)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Count the scenarios that are about to run on a target."""
        self._count += scenario_count
        self._says = target

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Count a scenario that has ended."""
        self._ended_count += 1
        self._says = f"{target}: {scenario_id}"

    def teller(self, subject: str) -> Callable[[str], None]:
        """Return a function that shows the progress of a subject."""
        return lambda text: self.target_says(subject, text)

    def _line(self) -> Text:
        count = f"{self._ended_count} of {self._count} scenarios; " if self._count else ""
        line = plain(f"{time.monotonic() - self._began_s:.0f} s: {count}{self._says}", "bright_black")
        line.truncate(COLUMNS - 1, overflow="ellipsis")
        return line

    def _speak(self) -> None:
        for wait_s in PIPE_WAITS_S:
            if self._has_ended.wait(wait_s):
                return
            self._writer.console.print(self._line(), highlight=False)
