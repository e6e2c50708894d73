"""Processes that share the work after a drive, when nothing is measured any more and the cores are idle."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context


@contextmanager
def workers(task_count: int) -> Iterator[ProcessPoolExecutor]:
    """Lend processes for some tasks, at most one a core, and end them.

    They are started afresh: a fork of this process would take over locks that its threads hold.
    """
    pool = ProcessPoolExecutor(
        max(1, min(task_count, os.cpu_count() or 1)), mp_context=get_context("spawn"), initializer=_be_calm
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _be_calm() -> None:
    """Leave it to the parent to end on Ctrl-C, which a terminal sends to all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
