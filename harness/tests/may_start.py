"""A pytest plug-in: a test starts JVMs, browsers and containers only if its marks say so.

Marks choose what `make check` runs. A test without the mark, and whatever it starts itself, finds other
programs of these names on the PATH: they start nothing, and the test fails with what was to be started.
Its cache of jars is empty, so that it fails on a machine that has the jars as on one that has not.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from harness.targets.jars.cache import CACHE_VARIABLE
from harness.targets.jars.java import find_java

_JAVA: Final = frozenset({"broker", "spark", "docker", "history"})
_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "java": _JAVA,
    "chromium": frozenset({"browser"}),
    "dockerd": frozenset({"docker"}),
}
"""What each program may be started for."""
_NOT_TO_BE_STARTED: Final = 97
_NO_ENGINE: Final = "unix:///nonexistent/a-test-without-the-mark-docker"
_GUARD: Final = """#!/bin/sh
# Which Java this is may be asked: that costs next to nothing.
[ "$*" = -version ] && exec {real} -version
echo "{name} $*" >> "{record}"
echo "{name} is started by a test without the mark for it ({marks})" >&2
exit {status}
"""


class _Guards:
    """Programs that take the place of others, a folder for each set of marks."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.record = directory / "record"
        self.empty_cache = directory / "empty-cache"

    def folder(self, marks: frozenset[str]) -> Path:
        """Return the folder of the programs that a test with these marks must not start."""
        refused = {name for name, allowing in _MARKS.items() if not allowing & marks}
        folder = self._directory / "-".join(["without", *sorted(refused)])
        if not folder.exists():
            folder.mkdir()
            for name in refused:
                self._write(folder / name)
        return folder

    def _write(self, path: Path) -> None:
        real = find_java() if path.name == "java" else shutil.which(path.name)
        if real is None:
            return
        path.write_text(
            _GUARD.format(
                name=path.name,
                real=real,
                record=self.record,
                marks=" or ".join(sorted(_MARKS[path.name])),
                status=_NOT_TO_BE_STARTED,
            )
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


_GUARDS: Final = pytest.StashKey[_Guards]()
_BEFORE: Final = pytest.StashKey[Mapping[str, str | None]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Make room for the guards."""
    with TemporaryDirectory(prefix="kafka-conformance-guards-") as directory:
        session.config.stash[_GUARDS] = _Guards(Path(directory))
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Put the guards before the programs that the test must not start; fixtures come under it as well."""
    if isinstance(item, pytest.Function):
        marks = frozenset(mark.name for mark in item.iter_markers())
        wanted = _environment(marks, item.config.stash[_GUARDS])
        item.stash[_BEFORE] = {name: os.environ.get(name) for name in wanted}
        _set(wanted)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Take the guards away, and fail the test if one of them was started."""
    try:
        return (yield)
    finally:
        _set(item.stash.get(_BEFORE, {}))
        record = item.config.stash[_GUARDS].record
        if record.exists():
            started = record.read_text().rstrip()
            record.unlink()
            pytest.fail(f"mark the test by what it starts:\n{started}", pytrace=False)


def _environment(marks: frozenset[str], guards: _Guards) -> Mapping[str, str | None]:
    """Return the variables that have the test, and what it starts, find the guards."""
    wanted: dict[str, str | None] = {"PATH": f"{guards.folder(marks)}{os.pathsep}{os.environ['PATH']}"}
    if not marks & _JAVA:
        wanted["JAVA_HOME"] = None
        wanted[CACHE_VARIABLE] = str(guards.empty_cache)
    if "docker" not in marks:
        wanted["DOCKER_HOST"] = _NO_ENGINE
    return wanted


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
