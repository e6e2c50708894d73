"""Kafka's jars by version, from the cache or from Ivy."""

import dataclasses
import json
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from harness.targets.base.interface import Progress, TargetError
from harness.targets.jars import cache, ivy, locks
from harness.targets.jars.ivy import Coordinates, IvyReport
from harness.targets.jars.java import require_java
from harness.trace.schema import TraceError, json_object

LATEST: Final = "latest"
_KAFKA: Final = ("org.apache.kafka", "kafka_2.13")
_LOGGING: Final = Coordinates(organisation="org.slf4j", module="slf4j-simple", revision="1.7.36")
"""Kafka's jars contain no binding for their logging; this one works for all versions from 2.4 to 4.4."""
_DISPENSABLE: Final = frozenset({("org.apache.kafka", "kafka-tools-api")})
"""Modules that a broker's POM requires, but that the broker runs without."""
_MAY_LACK: Final = tuple(f"{module}-" for _, module in sorted(_DISPENSABLE))
_LATEST_VALID_S: Final = 24 * 3600
_LATEST_TRIES: Final = 3
_DESCRIPTION: Final = "resolved.json"


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


class IncompleteError(TargetError):
    """A version lacks artifacts that a broker needs."""

    def __init__(self, message: str, *, version: str | None) -> None:
        super().__init__(message)
        self.version = version


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
    jars = await _cached_or_resolved(version, directory, progress)
    home = directory / jars.version
    await locks.check_jars(
        jars.version,
        home / "libs",
        progress,
        remedy=f"remove {home}, and its jars are downloaded anew",
        may_lack=_MAY_LACK,
    )
    return jars


async def _cached_or_resolved(version: str, directory: Path, progress: Progress) -> KafkaJars:
    known = _known_latest(directory) if version == LATEST else version
    if known is not None and (directory / known / _DESCRIPTION).is_file():
        return _read(directory / known)
    require_java()
    # There is a lock for each version, so that several versions are resolved concurrently.
    async with cache.locked(directory, f"jars-{version}", progress):
        known = _known_latest(directory) if version == LATEST else version
        if known is not None and (directory / known / _DESCRIPTION).is_file():
            return _read(directory / known)
        if version == LATEST:
            return await _resolve_latest(directory, progress)
        return await _resolve(version, directory, progress)


def _read(version_directory: Path) -> KafkaJars:
    path = version_directory / _DESCRIPTION
    try:
        description = json_object(path.read_bytes(), where=str(path))
        version, notes = str(description["version"]), tuple(str(note) for note in description["notes"])
    except (OSError, TraceError, ValueError, KeyError, TypeError) as error:
        raise TargetError(
            f"{path} is damaged ({error!r}): remove {version_directory}, and its jars are downloaded anew"
        ) from error
    return KafkaJars(
        version=version, class_path=f"{version_directory / 'libs'}/*", home=version_directory, notes=notes
    )


def _known_latest(directory: Path) -> str | None:
    """Return the version that `latest` was resolved to within the last day."""
    try:
        known = json_object((directory / "latest.json").read_bytes(), where="latest.json")
        is_fresh = time.time() - float(known["resolved_s"]) < _LATEST_VALID_S
        return str(known["version"]) if is_fresh else None
    except (OSError, TraceError, ValueError, KeyError, TypeError):
        return None


async def _resolve_latest(directory: Path, progress: Progress) -> KafkaJars:
    wanted = "latest.release"
    skipped: list[str] = []
    for _ in range(_LATEST_TRIES):
        try:
            jars = await _resolve(wanted, directory, progress, notes=tuple(skipped))
        except IncompleteError as error:
            if error.version is None:
                raise
            skipped.append(f"{error.version} is newer, but cannot be had: {error}")
            wanted = f"(,{error.version}["
        except TargetError as error:
            return _newest_cached(directory, error)
        else:
            text = json.dumps({"version": jars.version, "resolved_s": time.time()})
            (directory / "latest.json").write_text(text, encoding="utf-8")
            return jars
    raise TargetError("; ".join(skipped))


def _newest_cached(directory: Path, error: TargetError) -> KafkaJars:
    versions = cached_versions(directory)
    if not versions:
        raise error
    jars = _read(directory / versions[-1])
    note = f"{jars.version} is the newest in the cache; what the newest release is could not be asked"
    return dataclasses.replace(jars, notes=(*jars.notes, note))


async def _resolve(
    revision: str, directory: Path, progress: Progress, *, notes: tuple[str, ...] = ()
) -> KafkaJars:
    """Resolve a revision with Ivy; try again without dispensable modules if only those are missing."""
    progress(f"resolving the jars of Kafka {'(newest)' if revision == 'latest.release' else revision}")
    work = Path(tempfile.mkdtemp(prefix=".resolving-", dir=directory))
    try:
        report = await _retrieve(revision, work, directory, (), progress)
        if not report.succeeded and _all_dispensable(report):
            missing = report.missing
            where = repository_name()
            notes = (*notes, *(f"{m} is missing on {where}; the broker runs without it" for m in missing))
            report = await _retrieve(revision, work, directory, missing, progress)
        version = report.revisions.get(_KAFKA[1], revision)
        if not report.succeeded:
            raise _refusal(version, report, _log(directory, revision), cached_versions(directory))
        await _check_download(version, work, directory, progress)
        return _keep(version, work, directory, notes)
    finally:
        shutil.rmtree(work, ignore_errors=True)


async def _check_download(version: str, work: Path, directory: Path, progress: Progress) -> None:
    """Check the jars from Ivy before they are added to the cache; Ivy keeps its own copies for inspection."""
    broker = f"{_KAFKA[1]}-{version}.jar"
    if not (work / broker).is_file():
        raise TargetError(f"Ivy brought no {broker} for Kafka {version}: see {_log(directory, version)}")
    remedy = (
        f"remove {directory / 'ivy'}, so that Ivy downloads it anew; if it does not match then either, "
        f"{repository_name()} serves another jar than was recorded"
    )
    await locks.check_jars(version, work, progress, remedy=remedy, may_lack=_MAY_LACK)


def _log(directory: Path, revision: str) -> Path:
    """Return the file for Ivy's output about a revision, which may be a range such as `(,4.4.0[`."""
    return directory / f"ivy-{re.sub('[^0-9A-Za-z.]+', '-', revision).strip('-')}.log"


def repository_name() -> str:
    """Return the name of the repository for messages."""
    mirror = ivy.mirror_url()
    if mirror is None:
        return "Maven Central"
    # The mirror's address may contain a password.
    return f"the mirror at {urlsplit(mirror).hostname or urlsplit(mirror).path}"


def _all_dispensable(report: IvyReport) -> bool:
    modules = {(m.organisation, m.module) for m in report.missing}
    return bool(modules) and modules <= _DISPENSABLE and not report.is_unreachable


async def _retrieve(
    revision: str,
    work: Path,
    directory: Path,
    excluded: tuple[Coordinates, ...],
    progress: Progress,
) -> IvyReport:
    kafka = Coordinates(organisation=_KAFKA[0], module=_KAFKA[1], revision=revision)
    return await ivy.retrieve(
        require_java(),
        ivy.ivy_module([kafka, _LOGGING], excluded=excluded),
        ivy_cache=directory / "ivy",
        destination=work,
        log=_log(directory, revision),
        progress=progress,
    )


def _refusal(version: str, report: IvyReport, log: Path, cached: Sequence[str]) -> TargetError:
    where = repository_name()
    if report.is_unreachable:
        here = ", ".join(f"kafka:{each}" for each in cached) or "no version"
        wanted = "the newest Kafka" if version == "latest.release" else f"Kafka {version}"
        return TargetError(
            f"the jars of {wanted} are not in the cache, and {where} could not be reached (see {log}); "
            f"in the cache: {here}. Go online once, set https_proxy, name a mirror with --maven-mirror, "
            "or use path:DIR with jars that are here"
        )
    if any((m.organisation, m.module) == _KAFKA for m in report.missing):
        return TargetError(
            f"there is no Kafka {version} on {where}: choose a release such as 3.9.2, or `latest`"
        )
    missing = ", ".join(str(m) for m in report.missing) or f"nothing that Ivy would name, see {log}"
    return IncompleteError(
        f"Kafka {version} is incomplete on {where}, missing: {missing}; choose another release, "
        "or use path:DIR with jars built from source",
        version=version if release_of(version) > (0, 0) else None,
    )


def _keep(version: str, work: Path, directory: Path, notes: tuple[str, ...]) -> KafkaJars:
    final = directory / version
    if not (final / _DESCRIPTION).is_file():
        shutil.rmtree(final, ignore_errors=True)
        with cache.made_at(final) as temporary:
            work.rename(temporary / "libs")
            text = json.dumps({"version": version, "notes": notes}, indent=1)
            (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")
    return _read(final)
