"""Single jars of Kafka that a broker lacks, from the cache or from Ivy."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

from harness.targets.base.interface import Progress, TargetError
from harness.targets.jars import cache, ivy, locks
from harness.targets.jars.ivy import Coordinates
from harness.targets.jars.java import require_java
from harness.targets.jars.resolved import repository_name

STREAMS_MIN: Final = (4, 2)
"""The first release in which streams groups are no longer only a preview (KIP-1071)."""
STREAMS: Final = "streams"
TOOLS: Final = "tools"
"""Kafka's command line tools, which are not in the broker's jar since 3.7."""


async def single_jar(part: str, version: str, progress: Progress) -> Path:
    """Return the jar of a part of Kafka, downloaded if it is not in the cache.

    It comes without its dependencies: a broker's jars contain those that are needed here.

    Raises:
        JarMismatchError: it is not the recorded jar.
        TargetError: it is not available.
    """
    directory = cache.prepared(cache.cache_directory())
    home = directory / f"{part}-{version}"
    jar = home / "libs" / f"kafka-{part}-{version}.jar"
    if not home.is_dir():
        async with cache.locked(directory, f"jars-{home.name}", progress):
            if not home.is_dir():
                await _resolve(part, version, jar, directory, progress)
    await locks.check_jars(
        home.name, jar.parent, progress, remedy=f"remove {home}, and the jar is downloaded anew"
    )
    return jar


async def _resolve(part: str, version: str, jar: Path, directory: Path, progress: Progress) -> None:
    progress(f"resolving kafka-{part} {version}")
    work = Path(tempfile.mkdtemp(prefix=".resolving-", dir=directory))
    log = directory / f"ivy-{part}-{version}.log"
    try:
        wanted = Coordinates(organisation="org.apache.kafka", module=f"kafka-{part}", revision=version)
        report = await ivy.retrieve(
            require_java(),
            ivy.ivy_module([wanted], alone=True),
            ivy_cache=directory / "ivy",
            destination=work,
            log=log,
            progress=progress,
        )
        if not report.succeeded or not _keep(work, jar):
            raise TargetError(f"kafka-{part} {version} cannot be had from {repository_name()}: see {log}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep(work: Path, jar: Path) -> bool:
    """Move the jar to its place in the cache; return whether it was found."""
    if not (work / jar.name).is_file():
        return False
    with cache.made_at(jar.parents[1]) as temporary:
        work.rename(temporary / jar.parent.name)
    return True
