"""The command line in a process of its own, forked off one that has everything imported.

A command is up at once, however busy the machine is with others that start.
"""

import multiprocessing
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

from harness.cli import main as main_of_cli
from harness.tests.completed_runs import catalogue

catalogue()  # Scenarios are collected before anything is forked off, since that takes longer than short runs.


@contextmanager
def forked(command: Sequence[str], directory: Path) -> Iterator[BaseProcess]:
    """Run a command line.

    What it prints is in the directory's `log`, the most MiB of memory that it had, or one of its workers, in
    `peak`.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_be_command_line, args=(command, directory))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _be_command_line(arguments: Sequence[str], directory: Path) -> None:
    log = os.open(directory / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    sys.argv = ["kafka-conformance", *arguments]
    try:
        main_of_cli()
    finally:
        of_whom = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        peak_mib = max(resource.getrusage(each).ru_maxrss for each in of_whom) / 1024
        (directory / "peak").write_text(str(peak_mib))
