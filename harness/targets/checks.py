"""Small checks of what local brokers need, for `doctor`; each reports the state and the remedy."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.capacity import machine
from harness.targets.base.interface import TargetError
from harness.targets.base.ports import free_port
from harness.targets.jars.cache import CACHE_VARIABLE, cache_directory
from harness.targets.jars.resolved import cached_versions
from harness.targets.runtimes.java import FoundJava, JavaUse, find_java

_MEMORY_MIN_BYTES: Final = 2 << 30
_DISK_MIN_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check of this machine."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    """What to do; empty if the check passed."""


def check_java() -> Iterator[Check]:
    """Check for the Java of each use; uses that get the same one share a check."""
    titles: dict[FoundJava, list[str]] = {}
    for use in JavaUse:
        try:
            titles.setdefault(find_java(use), []).append(use.title)
        except TargetError as error:
            problem, _, remedy = str(error).rpartition(": ")
            yield Check(name="java", ok=False, detail=problem, remedy=remedy)
    for found, uses in titles.items():
        java = found.java
        detail = f"{', '.join(uses)}: {java.program}, Java {java.version} ({found.reason})"
        yield Check(name="java", ok=True, detail=detail)


def check_cache() -> Check:
    """Check that the cache of jars is writable, and list its versions."""
    directory = cache_directory()
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        remedy = f"let {CACHE_VARIABLE} name a directory that can be written"
        return Check(name="cache", ok=False, detail=f"{directory}: {error.strerror}", remedy=remedy)
    free_bytes = shutil.disk_usage(existing).free
    versions = ", ".join(cached_versions(directory)) or "no version yet"
    detail = f"{directory}: {versions}; {free_bytes >> 20} MiB free"
    ok = free_bytes >= _DISK_MIN_BYTES
    return Check(
        name="cache", ok=ok, detail=detail, remedy="" if ok else "make room: a version takes 100 MiB"
    )


def check_port() -> Check:
    """Check that a broker could listen on the loopback interface."""
    try:
        return Check(name="loopback port", ok=True, detail=f"127.0.0.1:{free_port()} is free")
    except TargetError as error:
        return Check(name="loopback port", ok=False, detail=str(error), remedy="stop what listens there")


def check_machine() -> Check:
    """Report the resources that this process may use, and what a run does with them."""
    granted = machine()
    ok = granted.memory_bytes >= _MEMORY_MIN_BYTES
    detail = (
        f"{granted}; a run has up to {granted.brokers_at_once} broker processes up, starts "
        f"{granted.starts_at_once} at once, and drives {granted.cores} targets together"
    )
    remedy = "" if ok else f"free memory: two brokers and Spark want {_MEMORY_MIN_BYTES >> 20} MiB"
    return Check(name="machine", ok=ok, detail=detail, remedy=remedy)


def all_checks() -> tuple[Check, ...]:
    """Run every check of this module."""
    return (*check_java(), check_cache(), check_port(), check_machine())
