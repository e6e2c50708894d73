"""A pytest plug-in: tests leave no process behind, and no secrets in this one.

At the end of a session whatever its tests started, however far down, has to be gone. It is found by a
variable that it inherited, and by its parents; Linux alone tells of both.
"""

import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from harness.targets.secured.variables import forget_secrets

_VARIABLE: Final = "KAFKA_CONFORMANCE_TEST_SESSION"
_PROC: Final = Path("/proc")
_GOES_WITH_US: Final = ("multiprocessing.resource_tracker", "harness.targets.containers.reaper")
"""Ends when this process does: Python's own helper, and who takes away containers after us."""
GOODBYE_S = 20.0
"""So long may something that was told to end take for it."""
_POLL_S: Final = 0.05


def pytest_configure(config: pytest.Config) -> None:
    """Give whatever is started from now on a sign of this session, and let it take signals.

    What ignores a signal (nohup, a job in the background) would have all that it starts ignore it.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _does_nothing)
    if not hasattr(config, "workerinput"):
        os.environ[_VARIABLE] = uuid.uuid4().hex


def _does_nothing(_: int, __: FrameType | None) -> None:
    """Ignore a signal; other than SIG_IGN, this is not inherited."""


@pytest.fixture(autouse=True)
def secrets_of_a_test_are_forgotten() -> Iterator[None]:
    yield
    forget_secrets()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session that leaves processes behind, name them, and end them."""
    if hasattr(session.config, "workerinput"):
        return
    left = left_over(os.environ[_VARIABLE])
    if not left:
        return
    session.exitstatus = pytest.ExitCode.TESTS_FAILED
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for process, command in left.items():
        if reporter is not None:
            reporter.write_line(f"left behind by a test: process {process}: {command}", red=True)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def left_over(session: str) -> dict[int, str]:
    """Return the processes of a session that do not end, with their command lines."""
    until_s = time.monotonic() + GOODBYE_S
    while (found := dict(_processes(session))) and time.monotonic() < until_s:
        time.sleep(_POLL_S)
    return found


def _processes(session: str) -> Iterator[tuple[int, str]]:
    if not _PROC.is_dir():
        return
    sign = f"{_VARIABLE}={session}".encode()
    parents = {int(entry.name): _parent(entry) for entry in _PROC.iterdir() if entry.name.isdecimal()}
    for process in parents:
        if process == os.getpid() or not (command := _read(process, "cmdline")):
            continue
        text = command.replace(b"\0", b" ").decode(errors="replace").strip()
        is_ours = sign in _read(process, "environ").split(b"\0") or _descends(process, parents)
        if is_ours and not any(each in text for each in _GOES_WITH_US):
            yield process, text


def _parent(entry: Path) -> int:
    fields = _read(int(entry.name), "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()


def _read(process: int, name: str) -> bytes:
    """Return a file of a process; nothing for one that has ended."""
    try:
        return (_PROC / str(process) / name).read_bytes()
    except OSError:
        return b""
