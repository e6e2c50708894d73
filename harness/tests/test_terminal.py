"""What commands print: lines that stay are few, at 80 columns, piped or not, and progress passes."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console
from rich.text import Text

from harness.targets.base.interface import Lasting, Passing
from harness.terminal import COLUMNS, PIPE_WAITS_S, ROWS_MAX, ProgressDisplay, Writer, rows
from harness.tests.completed_runs import CHECKOUT

_GREEN_MAX: Final = 25
_FOUR_HOURS_S: Final = 4 * 3600
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RED: Final = ("--target", "librdkafka-mock", "--profile", "4.1", "offsets/**", "classic/join/odd-group-id")
_GREEN: Final = ("--target", "reference:4.4.0", "--target", "reference:3.9.2", "--quick", "classic/**")


def writer(output: io.StringIO, *, is_terminal: bool = False) -> Writer:
    return Writer(Console(file=output, width=COLUMNS, force_terminal=is_terminal, color_system=None))


def rows_of(text: str) -> int:
    return rows([Text(line) for line in text.splitlines()])


def test_lines_of_progress_on_a_pipe_are_ten_in_hours() -> None:
    assert PIPE_WAITS_S[:3] == (10, 30, 60)
    assert len(PIPE_WAITS_S) == 10
    assert sum(PIPE_WAITS_S) > _FOUR_HOURS_S


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
def test_progress_passes_and_what_lasts_is_said_once(*, is_terminal: bool) -> None:
    output = io.StringIO()
    with ProgressDisplay(writer(output, is_terminal=is_terminal)) as display:
        display.drive_begins("kafka-4.4.0", 2)
        display.target_says("kafka-4.4.0", "starting on 127.0.0.1:9")
        for _ in range(2):
            display.target_says("kafka-4.4.0", Lasting("it is like 4.4"))
        display.scenario_ended("kafka-4.4.0", "a/b")
    said = [line for line in _ESCAPE.sub("", output.getvalue()).split("\n") if "it is like" in line]
    assert said == ["kafka-4.4.0: it is like 4.4"]
    if not is_terminal:
        assert output.getvalue() == "kafka-4.4.0: it is like 4.4\n"


def test_a_writer_leaves_out_what_passes_and_escapes_what_a_terminal_would_obey() -> None:
    output = io.StringIO()
    writing = writer(output)
    writing.say(Passing("1 of 9"))
    writing.say("[red]x[/red] \x1b[2J")
    assert output.getvalue() == "[red]x[/red] \\x1b[2J\n"


def test_of_many_blocks_those_are_printed_that_fit_and_the_others_are_counted() -> None:
    output = io.StringIO()
    writing = writer(output)
    blocks = [[Text(f"cause {number}"), Text("x" * (COLUMNS + 1))] for number in range(100)]
    writing.say_some(blocks, rest="the report has them all", noun="cause", keep=10)
    shown = output.getvalue().count("cause ")
    assert rows_of(output.getvalue()) <= ROWS_MAX - 10
    assert f"… and {100 - shown} more causes; the report has them all" in output.getvalue()


def test_the_last_lines_of_a_long_text_are_printed() -> None:
    output = io.StringIO()
    text = "\n".join(f"line {number}" for number in range(500))
    writer(output).say_beginning(lambda console: console.print(text), rest="a file has all")
    lines = output.getvalue().splitlines()
    assert len(lines) <= ROWS_MAX
    assert lines[0] == "line 0"
    assert lines[-1] == "line 499"
    assert any("a file has all" in line for line in lines)


def piped(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", *arguments],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def on_a_terminal(*arguments: str | Path) -> str:
    """Return what stays of a command's output on a terminal of 80 columns: live lines are wiped again."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *arguments],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65_536):
            parts.append(part)
    except OSError:
        pass  # Linux ends a terminal that nobody has open any more with EIO
    process.wait()
    os.close(ours)
    stays: list[str] = []
    for line in b"".join(parts).decode(errors="replace").split("\n"):
        # A live line is written again and again after a carriage return, and wiped at last.
        shown = [_ESCAPE.sub("", each) for each in line.split("\r") if _ESCAPE.sub("", each).strip()]
        stays.append(shown[-1] if shown else "")
    return "\n".join(stays).rstrip("\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("show", "run", "most", "says"),
    [(piped, _GREEN, _GREEN_MAX, "Every result was expected."), (on_a_terminal, _RED, ROWS_MAX, " causes; ")],
    ids=["green on a pipe", "red on a terminal"],
)
def test_a_run_prints_few_rows_whatever_its_colour(
    tmp_path: Path, show: Callable[..., str], run: tuple[str, ...], most: int, says: str
) -> None:
    text = show("run", *run, "--no-report", "--no-confirm", "--out", tmp_path)
    assert says in text
    progress = [line for line in text.splitlines() if re.match(r"\d+ s: ", line)]
    assert len(progress) <= len(PIPE_WAITS_S)
    assert rows_of(text) - len(progress) <= most
    is_red = run is _RED
    assert ("first unexpected difference, not confirmed yet: " in text) is is_red
    assert re.search(r"s in all: driven \d+", text)
