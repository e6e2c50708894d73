"""Kafka's jars, by version, from the cache or by way of Ivy."""

import dataclasses
import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets import cache, ivy
from harness.targets.base import Progress, TargetError
from harness.targets.ivy import Coordinates, IvyReport
from harness.targets.java import require_java

LATEST: Final = "latest"
_KAFKA: Final = ("org.apache.kafka", "kafka_2.13")
_LOGGING: Final = Coordinates(organisation="org.slf4j", module="slf4j-simple", revision="1.7.36")
"""Kafka's jars bring no binding for their logging; this one fits every version from 2.4 to 4.4."""
_DISPENSABLE: Final = frozenset({("org.apache.kafka", "kafka-tools-api")})
"""Modules that a broker's description asks for and that the broker runs without."""
_LATEST_VALID_S: Final = 24 * 3600
_LATEST_TRIES: Final = 3
_DESCRIPTION: Final = "resolved.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaJars:
    """What a local broker is run from."""

    version: str
    class_path: str
    """Java's: directories' wildcards and files."""
    home: Path | None
    """Where formatted storage of this version may be kept; None where jars may change under the same name."""
    jvm_options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def with_jvm_option(self, option: str) -> "KafkaJars":
        """Return the same jars, to be run with one more option."""
        return dataclasses.replace(self, jvm_options=(*self.jvm_options, option))


class IncompleteError(TargetError):
    """A version lacks artifacts that a broker needs."""

    def __init__(self, message: str, *, version: str | None) -> None:
        super().__init__(message)
        self.version = version


def release_of(version: str) -> tuple[int, int]:
    """Return the major and minor number of a Kafka version; `(0, 0)` when it starts with none."""
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
        progress: told what is going on.

    Raises:
        TargetError: they cannot be had; it names what is missing and the remedy.
    """
    directory = cache.prepared(cache.cache_directory())
    known = _known_latest(directory) if version == LATEST else version
    if known is not None and (directory / known / _DESCRIPTION).is_file():
        return _read(directory / known)
    require_java()
    async with cache.locked(directory, "jars", progress):
        if (directory / version / _DESCRIPTION).is_file():
            return _read(directory / version)
        if version == LATEST:
            return await _resolve_latest(directory, progress)
        return await _resolve(version, directory, progress)


def _read(version_directory: Path) -> KafkaJars:
    description = json.loads((version_directory / _DESCRIPTION).read_text(encoding="utf-8"))
    return KafkaJars(
        version=description["version"],
        class_path=f"{version_directory / 'libs'}/*",
        home=version_directory,
        notes=tuple(description["notes"]),
    )


def _known_latest(directory: Path) -> str | None:
    """Return what `latest` was resolved to within the last day."""
    try:
        known = json.loads((directory / "latest.json").read_text(encoding="utf-8"))
        is_fresh = time.time() - float(known["resolved_s"]) < _LATEST_VALID_S
        return str(known["version"]) if is_fresh else None
    except (OSError, ValueError, KeyError):
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
    """Have Ivy resolve a revision, without what a broker can do without if that is all that is missing."""
    progress(f"resolving the jars of Kafka {'(newest)' if revision == 'latest.release' else revision}")
    work = directory / ".resolving"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    report = await _retrieve(revision, work, directory, (), progress)
    if not report.succeeded and _all_dispensable(report):
        missing = report.missing
        notes = (*notes, *(f"{m} is missing on Maven Central; the broker runs without it" for m in missing))
        report = await _retrieve(revision, work, directory, missing, progress)
    version = report.revisions.get(_KAFKA[1], revision)
    if not report.succeeded:
        raise _refusal(version, report, directory / "ivy.log")
    return _keep(version, work, directory, notes)


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
        log=directory / "ivy.log",
        progress=progress,
    )


def _refusal(version: str, report: IvyReport, log: Path) -> TargetError:
    if report.is_unreachable:
        return TargetError(
            f"Maven Central could not be reached for Kafka {version} (see {log}): go online once, set "
            "https_proxy, or use path:DIR with jars that are here"
        )
    if any((m.organisation, m.module) == _KAFKA for m in report.missing):
        return TargetError(
            f"there is no Kafka {version} on Maven Central: choose a release such as 3.9.2, or `latest`"
        )
    missing = ", ".join(str(m) for m in report.missing) or f"nothing that Ivy would name, see {log}"
    return IncompleteError(
        f"Kafka {version} is incomplete on Maven Central, missing: {missing}; choose another release, "
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
    shutil.rmtree(work, ignore_errors=True)
    return _read(final)
