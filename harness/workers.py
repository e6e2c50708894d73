"""Processes that share the work after a drive, when nothing is measured any more and the cores are idle."""

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
"""What a process takes that judges a target with its reference."""


@contextmanager
def workers(task_count: int) -> Iterator[ProcessPoolExecutor]:
    """Lend processes for some tasks, at most one a core, and end them.

    They are started afresh: a fork of this process would take over locks that its threads have taken.
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
    """Have Python's collector look for cycles after far more new objects than by default.

    A process reads records by the hundred thousand, of which nothing is garbage; a seventh to two fifths of
    the time for reading and judging them would go to looking.
    """
    gc.set_threshold(_NEW_OBJECTS)


def leave_signals_to_parent() -> None:
    """Leave it to the parent to end on Ctrl-C, and when a terminal is closed, which is sent to all."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
