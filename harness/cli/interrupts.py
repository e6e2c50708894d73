"""Handle the signals that end a command: the first lets it save its data, further ones end it at once.

None of them prints a traceback.
"""

import asyncio
import inspect
import itertools
import logging
import os
import signal
import sys
import threading
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

from harness.results.status import ExitCode

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


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
