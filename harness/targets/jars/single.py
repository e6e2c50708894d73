"""Single jars that a broker lacks, from the cache or from the Maven repository."""

from pathlib import Path
from typing import Final

from harness.targets.base.interface import Progress
from harness.targets.jars import cache, locks

STREAMS_MIN: Final = (4, 2)
"""The first release in which streams groups are no longer only a preview (KIP-1071)."""
STREAMS: Final = "streams"
TOOLS: Final = "tools"
"""Kafka's command line tools, which are not in the broker's jar since 3.7."""
COMPILER: Final = "ecj"
"""Eclipse's compiler of Java, which runs on a Java that has none."""
COMPILER_VERSION: Final = "3.46.0"
_MODULES: Final = {
    STREAMS: "org/apache/kafka/kafka-streams",
    TOOLS: "org/apache/kafka/kafka-tools",
    COMPILER: "org/eclipse/jdt/ecj",
}


async def single_jar(part: str, version: str, progress: Progress) -> Path:
    """Return a single jar, downloaded if it is not in the cache.

    It comes without its dependencies: a broker's jars contain those that are needed here.

    Raises:
        JarMismatchError: it is not the recorded jar.
        TargetError: it is not available.
    """
    directory = cache.prepared(cache.cache_directory())
    name = f"{part}-{version}"
    libs = directory / name / "libs"
    module = _MODULES[part]
    jar = libs / f"{Path(module).name}-{version}.jar"
    path = f"{module}/{version}/{jar.name}"
    if not jar.is_file():
        from harness.targets.jars.download import Repository  # noqa: PLC0415 - slow to import, and seldom needed

        async with cache.locked(directory, f"jars-{name}", progress):
            progress(f"downloading {jar.name}")
            lock = locks.lock_of(name)
            with Repository() as repository:
                await repository.fetch((path,), lock, into=libs, progress=progress)
    remedy = f"remove {libs.parent}, and the jar is downloaded anew"
    await locks.check_jars(name, libs, progress, remedy=remedy, paths=(path,))
    return jar
