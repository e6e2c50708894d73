"""The jar of Kafka Streams, which a broker lacks, from the cache or by way of Ivy."""

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
"""The first release whose streams groups are more than a preview (KIP-1071)."""


async def streams_jar(version: str, progress: Progress) -> Path:
    """Return the jar of Kafka Streams of a release, downloaded if it is not in the cache.

    It is without what it depends on: a broker's jars have all that stores in memory need.

    Raises:
        JarMismatchError: it is not the one that was recorded.
        TargetError: it cannot be had.
    """
    directory = cache.prepared(cache.cache_directory())
    home = directory / f"streams-{version}"
    jar = home / "libs" / f"kafka-streams-{version}.jar"
    if not home.is_dir():
        async with cache.locked(directory, f"jars-{home.name}", progress):
            if not home.is_dir():
                await _resolve(version, jar, directory, progress)
    await locks.check_jars(
        home.name, jar.parent, progress, remedy=f"remove {home}, and the jar is downloaded anew"
    )
    return jar


async def _resolve(version: str, jar: Path, directory: Path, progress: Progress) -> None:
    progress(f"resolving the jar of Kafka Streams {version}")
    work = Path(tempfile.mkdtemp(prefix=".resolving-", dir=directory))
    log = directory / f"ivy-streams-{version}.log"
    try:
        wanted = Coordinates(organisation="org.apache.kafka", module="kafka-streams", revision=version)
        report = await ivy.retrieve(
            require_java(),
            ivy.ivy_module([wanted], alone=True),
            ivy_cache=directory / "ivy",
            destination=work,
            log=log,
            progress=progress,
        )
        if not report.succeeded or not _keep(work, jar):
            raise TargetError(f"Kafka Streams {version} cannot be had from {repository_name()}: see {log}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep(work: Path, jar: Path) -> bool:
    """Give the jar its place in the cache; return whether it is there."""
    if not (work / jar.name).is_file():
        return False
    with cache.made_at(jar.parents[1]) as temporary:
        work.rename(temporary / jar.parent.name)
    return True
