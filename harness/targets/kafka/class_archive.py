"""An archive of loaded classes, which halves the time that a broker takes to start.

It is created once per version and Java, by a broker that is started, prepared and stopped.
"""

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from harness.targets.base.interface import Progress
from harness.targets.jars import cache
from harness.targets.jars.resolved import KafkaJars

Training: TypeAlias = Callable[[KafkaJars, Path], Awaitable[None]]
"""Starts a broker from jars in a directory, prepares it and shuts it down cleanly."""


async def with_class_archive(
    jars: KafkaJars, java: Path, *, directory: Path, train: Training, progress: Progress
) -> KafkaJars:
    """Return the jars with an archive of their classes, which is created if needed and if it can be kept."""
    home = jars.home
    if home is None:
        return jars
    archive = _class_archive(home, java)
    if not archive.is_file():
        async with cache.locked(home, "classes", progress):
            if not archive.is_file():
                progress("preparing faster starts (once per version)")
                await _make(jars, archive, _subdirectory(directory), train)
    return jars.with_jvm_option(f"-XX:SharedArchiveFile={archive}") if archive.is_file() else jars


async def _make(jars: KafkaJars, archive: Path, directory: Path, train: Training) -> None:
    unfinished = archive.with_suffix(".unfinished")
    await train(jars.with_jvm_option(f"-XX:ArchiveClassesAtExit={unfinished}"), directory)
    with suppress(FileNotFoundError):  # a Java without class data sharing writes none
        unfinished.replace(archive)


def _subdirectory(directory: Path) -> Path:
    path = directory / "class-archive"
    path.mkdir(exist_ok=True)
    return path


def _class_archive(home: Path, java: Path) -> Path:
    program = java.resolve()
    identity = hashlib.sha256(f"{program} {program.stat().st_mtime_ns}".encode())
    return home / f"classes-{identity.hexdigest()[:12]}.jsa"
