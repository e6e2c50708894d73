"""Processes that share the work after a drive, when nothing is measured any more and the cores are idle."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from harness.capacity import machine

_WORKER_BYTES = 512 * 1024 * 1024
"""What a process takes that judges a target with its reference."""


@contextmanager
def workers(task_count: int) -> Iterator[ProcessPoolExecutor]:
    """Lend processes for some tasks, at most one a core, and end them.

    They are started afresh: a fork of this process would take over locks that its threads have taken.
    """
    count = machine().jobs(wanted=task_count, each_bytes=_WORKER_BYTES)
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=leave_signals_to_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def leave_signals_to_parent() -> None:
    """Leave it to the parent to end on Ctrl-C, and when a terminal is closed, which is sent to all."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
