"""Finds a Java that can run a broker."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError

JAVA_VERSION_MIN: Final = 17
"""The oldest Java that runs every broker from 2.4 to 4.4, and Spark."""
_ANSWER_TIMEOUT_S: Final = 20
_REMEDY: Final = f"install Java {JAVA_VERSION_MIN} or newer (a full JRE), or let JAVA_HOME point to it"


def find_java(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the `java` of JAVA_HOME, else the one on the PATH, else None."""
    home = environment.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("java", path=environment.get("PATH"))
    return None if found is None else Path(found)


def java_version(java: Path) -> int | None:
    """Return the feature release of a `java` (8, 17, 25 …), or None if it does not report one."""
    try:
        changed_ns = java.stat().st_mtime_ns
    except OSError:
        return None
    return _java_version(java, changed_ns)


@functools.cache
def _java_version(java: Path, _changed_ns: int) -> int | None:
    """Run `java -version`, once for each state of the program, since that takes a tenth of a second."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own java, no shell
            [java, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(answer.stderr + answer.stdout)


def parse_java_version(text: str) -> int | None:
    """Parse the feature release from the output of `java -version`; `1.8.0_402` is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return None if found is None else int(found.group(1))


def require_java() -> Path:
    """Return a `java` that can run a broker.

    Raises:
        TargetError: there is no Java, or it is too old; with the remedy.
    """
    java = find_java()
    if java is None:
        raise TargetError(f"no java was found in JAVA_HOME or on the PATH: {_REMEDY}")
    version = java_version(java)
    if version is None:
        raise TargetError(f"{java} does not say which Java it is: {_REMEDY}")
    if version < JAVA_VERSION_MIN:
        raise TargetError(f"{java} is Java {version}, too old for a broker: {_REMEDY}")
    return java
