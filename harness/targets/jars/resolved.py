"""Kafka's jars by version, from the cache or from the Maven repository."""

import asyncio
import dataclasses
import json
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets.base.interface import Progress, TargetError
from harness.targets.jars import cache, locks
from harness.targets.jars.repository import MissingError, UnreachableError, repository_name
from harness.trace.schema import TraceError, json_object

LATEST: Final = "latest"
_LATEST_VALID_S: Final = 24 * 3600
_LATEST_TRIES: Final = 3
_DESCRIPTION: Final = "resolved.json"
_RELEASED: Final = re.compile(r"\d+\.\d+\.\d+")
_METADATA: Final = "org/apache/kafka/kafka_2.13/maven-metadata.xml"


class IncompleteError(TargetError):
    """A version lacks jars that a broker needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaJars:
    """The files and options that a local broker is run with."""

    version: str
    class_path: str
    """Java's class path: directories with wildcards, and files."""
    home: Path | None
    """The directory for this version's formatted storage; None if jars may change under the same name."""
    jvm_options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def with_jvm_option(self, option: str) -> "KafkaJars":
        """Return the same jars with one more JVM option."""
        return dataclasses.replace(self, jvm_options=(*self.jvm_options, option))


def release_of(version: str) -> tuple[int, int]:
    """Return the major and minor number of a Kafka version; `(0, 0)` if it does not start with them."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))


def cached_versions(directory: Path) -> tuple[str, ...]:
    """Return the versions whose jars are complete in a cache, oldest first."""
    found = (path.parent.name for path in directory.glob(f"[0-9]*/{_DESCRIPTION}"))
    return tuple(sorted(found, key=_numbers))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


async def kafka_jars(version: str, progress: Progress) -> KafkaJars:
    """Return the jars of a Kafka version, downloaded if they are not in the cache.

    Args:
        version: a release, or `latest` for the newest release that has what a broker needs.
        progress: called with the current step.

    Raises:
        JarMismatchError: a jar is not the one that was recorded for the version.
        TargetError: they are not available; it names what is missing and the remedy.
    """
    directory = cache.prepared(cache.cache_directory())
    if version == LATEST:
        return await _latest(directory, progress)
    home = directory / version
    paths: tuple[str, ...] = ()
    if not (home / _DESCRIPTION).is_file():
        # There is a lock for each version, so that several versions are downloaded at the same time.
        async with cache.locked(directory, f"jars-{version}", progress):
            if not (home / _DESCRIPTION).is_file():
                paths = await _fetch(version, home, progress)
    jars = _read(home)
    remedy = f"remove {home}, and its jars are downloaded anew"
    await locks.check_jars(version, home / "libs", progress, remedy=remedy, paths=paths)
    return jars


def _read(home: Path) -> KafkaJars:
    path = home / _DESCRIPTION
    try:
        version = str(json_object(path.read_bytes(), where=str(path))["version"])
    except (OSError, TraceError, KeyError) as error:
        raise TargetError(
            f"{path} is damaged ({error!r}): remove {home}, and its jars are downloaded anew"
        ) from error
    return KafkaJars(version=version, class_path=f"{home / 'libs'}/*", home=home)


async def _fetch(version: str, home: Path, progress: Progress) -> tuple[str, ...]:
    """Download the jars of a version, and return where they are in a Maven repository.

    The description comes last: a home without one is gone on with.
    """
    from harness.targets.jars.download import Repository  # noqa: PLC0415 - slow to import, and seldom needed
    from harness.targets.jars.resolution import broker_paths  # noqa: PLC0415 - likewise

    lock = locks.lock_of(version)
    try:
        if lock is not None and lock.paths:
            paths = lock.paths
        else:
            progress(f"asking which jars Kafka {version} needs")
            paths = await asyncio.to_thread(broker_paths, version, poms=home.parent / "poms")
        progress(f"downloading {len(paths)} jars of Kafka {version}")
        with Repository() as repository:
            await repository.fetch(paths, lock, into=home / "libs", progress=progress)
    except MissingError as error:
        if "kafka_2.13" in str(error):
            choice = "choose a release such as 3.9.2, or `latest`"
            raise IncompleteError(f"there is no Kafka {version} on {repository_name()}: {choice}") from error
        raise IncompleteError(
            f"Kafka {version} is incomplete: {error}; choose another release, "
            "or use path:DIR with jars built from source"
        ) from error
    except UnreachableError as error:
        raise UnreachableError(
            f"the jars of Kafka {version} are not in the cache, and {error}; {_what_is_here(home.parent)}"
        ) from error
    (home / _DESCRIPTION).write_text(json.dumps({"version": version}), encoding="utf-8")
    return paths


def _what_is_here(directory: Path) -> str:
    here = ", ".join(f"kafka:{each}" for each in cached_versions(directory)) or "no version"
    return (
        f"in the cache: {here}. Go online once, set https_proxy, name a mirror with --maven-mirror, "
        "or use path:DIR with jars that are here"
    )


async def _latest(directory: Path, progress: Progress) -> KafkaJars:
    """Return the newest release that is complete; the repository is asked once a day."""
    known = _known_latest(directory)
    if known is not None and (directory / known / _DESCRIPTION).is_file():
        return await kafka_jars(known, progress)
    skipped: list[str] = []
    try:
        progress("asking for the newest release of Kafka")
        for version in (await asyncio.to_thread(_published))[:_LATEST_TRIES]:
            try:
                jars = await kafka_jars(version, progress)
            except IncompleteError as error:
                skipped.append(f"{version} is newer, but cannot be had: {error}")
                continue
            text = json.dumps({"version": version, "resolved_s": time.time()})
            (directory / "latest.json").write_text(text, encoding="utf-8")
            return dataclasses.replace(jars, notes=tuple(skipped))
    except locks.JarMismatchError:
        raise
    except TargetError as error:
        versions = cached_versions(directory)
        if not versions:
            raise
        newest = versions[-1]
        note = f"{newest} is the newest in the cache; what the newest release is could not be asked: {error}"
        return dataclasses.replace(await kafka_jars(newest, progress), notes=(note,))
    raise TargetError("; ".join(skipped) or f"{repository_name()} names no release of Kafka")


def _published() -> list[str]:
    """Return Kafka's releases, newest first, as the repository's metadata name them."""
    from harness.targets.jars.download import Repository  # noqa: PLC0415 - likewise

    with Repository() as repository:
        metadata = repository.read(_METADATA)
    try:
        named = [each.text or "" for each in ET.fromstring(metadata).iter("version")]  # noqa: S314 - no entities
    except ET.ParseError as error:
        raise TargetError(f"{_METADATA} from {repository_name()} is damaged: {error}") from error
    return sorted(filter(_RELEASED.fullmatch, named), key=_numbers, reverse=True)


def _known_latest(directory: Path) -> str | None:
    """Return the version that `latest` was resolved to within the last day."""
    try:
        known = json_object((directory / "latest.json").read_bytes(), where="latest.json")
        is_fresh = time.time() - float(known["resolved_s"]) < _LATEST_VALID_S
        return str(known["version"]) if is_fresh else None
    except (OSError, TraceError, ValueError, KeyError, TypeError):
        return None
