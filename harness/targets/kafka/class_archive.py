"""Archives of loaded classes, which halve the time that a broker takes to start.

There is one of a version's classes, made by a broker that is started, prepared and stopped. It stands on the
archive of Java's own classes, which is made too where a Java comes without one. Each is made once per Java.
A folder without one remembers a Java that can make none. What was changed since it was made is not used.
"""

import asyncio
import hashlib
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from harness.targets.base.interface import Progress
from harness.targets.jars import cache
from harness.targets.jars.resolved import KafkaJars
from harness.targets.jars.seals import check_seal, seal

Training: TypeAlias = Callable[[KafkaJars, Path], Awaitable[None]]
"""Starts a broker from jars in a directory, prepares it and shuts it down cleanly."""
_ARCHIVE: Final = "classes.jsa"
_FORM: Final = "2"
"""The form of the folders, which are made anew if it is another one. Since 2 they have a record of hashes."""
_DUMP_TIMEOUT_S: Final = 120


async def with_class_archive(
    jars: KafkaJars, java: Path, *, directory: Path, train: Training, progress: Progress
) -> KafkaJars:
    """Return the jars with the archives of their classes, made if needed and if they can be kept.

    Raises:
        ChangedCacheError: an archive was changed after it was made.
    """
    home = jars.home
    if home is None:
        return jars
    base = await _base_archive(java, progress)
    below = [base] if base is not None else []
    made = home / f"classes-{_identity(java)}"
    if not made.is_dir():
        async with cache.locked(home, "classes", progress):
            if not made.is_dir():
                progress("preparing faster starts (once per version)")
                with cache.made_at(made) as unfinished:
                    archiving = f"-XX:ArchiveClassesAtExit={unfinished / _ARCHIVE}"
                    await train(_with(jars, below).with_jvm_option(archiving), _subdirectory(directory))
                    seal(unfinished)
    archive = await _checked(made)
    return _with(jars, below if archive is None else [*below, archive])


def _with(jars: KafkaJars, archives: list[Path]) -> KafkaJars:
    joined = ":".join(map(str, archives))
    return jars.with_jvm_option(f"-XX:SharedArchiveFile={joined}") if joined else jars


async def _base_archive(java: Path, progress: Progress) -> Path | None:
    """Return the archive of Java's own classes that was made for a Java without one; None if it has one."""
    directory = cache.prepared(cache.cache_directory())
    made = directory / f"java-{_identity(java)}"
    if not made.is_dir():
        async with cache.locked(directory, made.name, progress):
            if not made.is_dir():
                with cache.made_at(made) as unfinished:
                    await asyncio.to_thread(_dump, java, unfinished / _ARCHIVE)
                    seal(unfinished)
    return await _checked(made)


async def _checked(made: Path) -> Path | None:
    await asyncio.to_thread(check_seal, made)
    archive = made / _ARCHIVE
    return archive if archive.is_file() else None


def _dump(java: Path, archive: Path) -> None:
    """Make the archive of a Java's own classes, unless it has one or can make none."""
    if not _succeeds(java, "-Xshare:on", "-version"):
        _succeeds(java, "-Xshare:dump", f"-XX:SharedArchiveFile={archive}")


def _succeeds(*command: str | Path) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_DUMP_TIMEOUT_S, check=False)  # noqa: S603 - no shell
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _subdirectory(directory: Path) -> Path:
    path = directory / "class-archive"
    path.mkdir(exist_ok=True)
    return path


def _identity(java: Path) -> str:
    program = java.resolve()
    return hashlib.sha256(f"{_FORM} {program} {program.stat().st_mtime_ns}".encode()).hexdigest()[:12]
