"""The Maven repository that Kafka's jars come from, what it publishes, and single jars from it.

It is Maven Central, or the mirror that the user names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from harness.targets.base.interface import Progress, TargetError
from harness.targets.jars import cache, locks
from harness.targets.secured.variables import MIRROR_VARIABLE, environment_with_secrets

_REMOTE: Final = frozenset({"http", "https"})


class MissingError(TargetError):
    """The repository does not have a file."""


class UnreachableError(TargetError):
    """The repository does not answer, or not to its end."""


def mirror_url(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the user's mirror of Maven Central, or None if there is none.

    Raises:
        TargetError: the configured value is not the address of a repository.
    """
    environment = environment_with_secrets() if environment is None else environment
    named = environment.get(MIRROR_VARIABLE, "").strip()
    if not named:
        return None
    try:
        url = urlsplit(named)
        is_usable = url.scheme == "file" or (url.scheme in _REMOTE and bool(url.hostname))
    except ValueError:
        is_usable = False
    if not is_usable:
        shown = named.rpartition("@")[2]  # what stands before it may be a password
        raise TargetError(
            f"{shown!r} is not a mirror of Maven Central: --maven-mirror (or {MIRROR_VARIABLE}) takes the "
            "address of a Maven repository, which begins with https://, http:// or file://"
        )
    return named


def repository_url() -> str:
    """Return the address of the repository, without a slash at its end.

    Raises:
        TargetError: the configured mirror is not the address of a repository.
    """
    from jgo.constants import MAVEN_CENTRAL_URL  # noqa: PLC0415 - slow to import, and seldom needed

    return (mirror_url() or MAVEN_CENTRAL_URL).rstrip("/")


def repository_name() -> str:
    """Return the name of the repository for messages."""
    mirror = mirror_url()
    if mirror is None:
        return "Maven Central"
    # The mirror's address may contain a password.
    return f"the mirror at {urlsplit(mirror).hostname or urlsplit(mirror).path}"


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


TABLE_DATE: Final = "2026-11-21"
"""The day on which `PUBLISHED` matched Maven Central."""
NEWEST_PATCHES: Final[dict[tuple[int, int], int]] = {
    (2, 4): 1,
    (2, 5): 1,
    (2, 6): 3,
    (2, 7): 2,
    (2, 8): 2,
    (3, 0): 2,
    (3, 1): 2,
    (3, 2): 3,
    (3, 3): 2,
    (3, 4): 1,
    (3, 5): 2,
    (3, 6): 2,
    (3, 7): 2,
    (3, 8): 1,
    (3, 9): 2,
    (4, 0): 2,
    (4, 1): 2,
    (4, 2): 1,
    (4, 3): 1,
    (4, 4): 0,
}
"""The newest patch of each release; every patch from 0 on was published."""
PUBLISHED: Final = tuple(
    f"{major}.{minor}.{patch}"
    for (major, minor), newest in NEWEST_PATCHES.items()
    for patch in range(newest + 1)
)
"""Every version since 2.4, oldest first."""


def newest_patch(release: tuple[int, int]) -> str | None:
    """Return the newest published version of a release, or None for an unknown release."""
    patch = NEWEST_PATCHES.get(release)
    return None if patch is None else f"{release[0]}.{release[1]}.{patch}"
