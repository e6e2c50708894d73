"""Work side by side: processes after a drive, when the cores are idle, and the errors of tasks."""

import gc
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Final

from harness.capacity import machine

_NEW_OBJECTS: Final = 200_000
_WORKER_BYTES = 512 * 1024 * 1024
"""The memory of a process that judges a target with its reference."""


@contextmanager
def workers(task_count: int) -> Iterator[ProcessPoolExecutor]:
    """Provide processes for some tasks, at most one per core, and end them.

    They are spawned, since a fork of this process would inherit locks that its threads have taken.
    """
    count = machine().jobs(wanted=task_count, each_bytes=_WORKER_BYTES)
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    leave_signals_to_parent()
    collect_rarely()


def collect_rarely() -> None:
    """Make Python's garbage collector run after far more new objects than by default.

    A process reads hundreds of thousands of records, none of which is garbage. By default, collection would
    take a seventh to two fifths of the time for reading and judging them.
    """
    gc.set_threshold(_NEW_OBJECTS)


def leave_signals_to_parent() -> None:
    """Ignore the signals of Ctrl-C and of a closed terminal, which the parent handles for all processes."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def first_error(*kinds: type[Exception]) -> Iterator[None]:
    """Raise the first error of a group of tasks instead of the group, if all errors are of these kinds.

    `except*` is no way to do it: Python 3.11.2, Debian 12's, puts what is raised there into a group again.
    """
    try:
        yield
    except ExceptionGroup as group:
        _, others = group.split(kinds)
        if others is not None:
            raise
        error: Exception = group
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        raise error from None
