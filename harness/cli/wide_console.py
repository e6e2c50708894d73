"""The console that tables are printed to."""

from typing import Final

from rich.console import Console

_PIPE_WIDTH: Final = 140


def wide_console(width: int = _PIPE_WIDTH) -> Console:
    """Return the terminal's console, or on a pipe one of a fixed width, so that tables are not cut."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
