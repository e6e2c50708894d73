"""How commands end: exceptions that users can act on become a message and an exit code, signals are handled.

The first signal lets a command save its data, further ones end it at once. None of them prints a traceback.
"""

import asyncio
import errno
import functools
import inspect
import itertools
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, ParamSpec

import typer

from harness.extras import remedy_for
from harness.results.status import ExitCode
from harness.tables import Table, read_table

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

P = ParamSpec("P")


class _Errors(Table):
    codes: Mapping[str, tuple[str, ...]]
    remedies: Mapping[str, str]


_ERRORS: Final = read_table("harness.cli", "errors.toml", _Errors)
CODES: Final = {name: ExitCode[code] for code, names in _ERRORS.codes.items() for name in names}
"""Exit codes by exception name."""
_REMEDIES: Final = {getattr(errno, name): text for name, text in _ERRORS.remedies.items()}
"""Remedies by error number."""
_ELSEWHERE: Final = "choose another place"
"""The remedy if nothing can be created in a place for any other reason, such as below `/proc`."""


def ends_with_exit_code(command: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Let a command return an `ExitCode`, and turn errors that it raises into theirs."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except Exception as error:
            reported = _reported(error, [each for each in kwargs.values() if isinstance(each, Path)])
            if reported is None:
                raise
            message, code = reported
            typer.echo(f"kafka-conformance: {message}", err=True)
        raise typer.Exit(int(code or ExitCode.EXPECTED))

    return run


def _reported(error: Exception, named: Collection[Path]) -> tuple[str, ExitCode] | None:
    """Return the message to users about an error, and its code; None if the harness is at fault."""
    remedy = remedy_for(error) if isinstance(error, ImportError) else None
    if remedy is not None:
        return remedy, ExitCode.CONFIGURATION
    names = (f"{kind.__module__}:{kind.__qualname__}" for kind in type(error).__mro__)
    code = next((CODES[name] for name in names if name in CODES), None)
    if code is not None:
        return str(error), code
    refused = _refused(error, named)
    if refused is None:
        return None
    if refused.errno in _REMEDIES:
        what, remedy = refused.filename, _REMEDIES[refused.errno]
    else:
        what, remedy = _place_of(refused, named), _ELSEWHERE
    where = "" if what is None else f"{what}: "
    return f"{where}{refused.strerror}: {remedy}", ExitCode.TEMPORARY_FAILURE


def _refused(error: Exception, named: Collection[Path]) -> OSError | None:
    """Return the system error behind an error; None if anything else went wrong."""
    cause = error.__context__
    if isinstance(error, RuntimeError) and isinstance(cause, OSError) and cause.errno == errno.ELOOP:
        error = cause  # a loop of links, as `Path.resolve` reports it up to Python 3.12
    if isinstance(error, OSError):
        is_refused = error.errno in _REMEDIES or _place_of(error, named) is not None
        return error if is_refused else None
    if isinstance(error, ExceptionGroup):
        found = [_refused(each, named) for each in error.exceptions]
        return found[0] if all(found) else None
    return None


def _place_of(error: OSError, named: Collection[Path]) -> Path | None:
    """Return the path on the command line that leads to a place where nothing can be created.

    Creation is tried, because the system reports the same error for a file that is merely missing.
    """
    if not isinstance(error.filename, str | os.PathLike):
        return None
    path = Path(error.filename).absolute()
    beside = [each for each in named if _lies_beside(path, each.absolute())]
    if not beside or os.path.lexists(path):
        return None
    try:
        path.mkdir()
    except OSError:
        return max(beside, key=lambda each: len(os.path.commonpath((path, each.absolute()))))
    path.rmdir()
    return None


def _lies_beside(path: Path, named: Path) -> bool:
    """Return whether one path is the other, below it, above it, or a file that is created beside it."""
    return path.is_relative_to(named.parent) or named.is_relative_to(path)


def take_signals() -> None:
    """Treat SIGTERM, with which CI cancels a job, and SIGHUP, of a closed terminal, like Ctrl-C.

    Records are kept then, and brokers are stopped. A signal that is ignored (nohup, a job in the background)
    stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # asyncio ends its tasks in order only if SIGINT has a handler. One that is blocked never comes.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _end_as_if_interrupted)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _end_as_if_interrupted)
    _say_nothing_of_interruptions()


def end_well_by_signal(stop: asyncio.Event) -> None:
    """Let the next signal set an event of the running loop, and any later one raise KeyboardInterrupt.

    The handlers stay after the loop has ended, whereas asyncio would remove its own.
    """
    loop = asyncio.get_running_loop()
    came = itertools.count()

    def end(_: int, __: FrameType | None) -> None:
        if next(came):
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(stop.set)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def end_at_once_from_now_on() -> None:
    """Let any further signal end the process immediately, because only the exit is left to do."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end_at_once)


def is_interruption(error: BaseException) -> bool:
    """Return whether an error, or one within its group, is an interrupt such as Ctrl-C."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_interruption(each) for each in error.exceptions)
    return isinstance(error, KeyboardInterrupt)


def _end_as_if_interrupted(_: int, frame: FrameType | None) -> None:
    interrupt = signal.getsignal(signal.SIGINT)
    if callable(interrupt):
        interrupt(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def _end_at_once(_: int, __: FrameType | None) -> None:
    os._exit(ExitCode.INTERRUPTED)


@cache
def _say_nothing_of_interruptions() -> None:
    """Suppress tracebacks of a Ctrl-C where it cannot be caught; existing hooks get everything else."""
    unraisable, in_thread = sys.unraisablehook, threading.excepthook

    def tell_unraisable(reported: "UnraisableHookArgs") -> None:
        if not (_is_abandoned(reported) or (reported.exc_value and is_interruption(reported.exc_value))):
            unraisable(reported)

    def tell_in_thread(reported: threading.ExceptHookArgs) -> None:
        if reported.exc_value is None or not is_interruption(reported.exc_value):
            in_thread(reported)

    sys.unraisablehook, threading.excepthook = tell_unraisable, tell_in_thread
    logging.getLogger("asyncio").addFilter(_tells_of_no_interruption)


def _is_abandoned(reported: "UnraisableHookArgs") -> bool:
    """Return whether an error is due to a coroutine that lost its loop while waiting, as after two Ctrl-C."""
    has_loop = asyncio._get_running_loop() is not None  # noqa: SLF001 - asyncio documents it for such uses
    return (
        inspect.iscoroutine(reported.object) and isinstance(reported.exc_value, RuntimeError) and not has_loop
    )


def _tells_of_no_interruption(record: logging.LogRecord) -> bool:
    """Return False for asyncio's log records about a task that a second Ctrl-C has ended."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not is_interruption(error)
