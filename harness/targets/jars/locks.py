"""The SHA-512 that each jar of a Kafka version must have, and the check before a jar is run.

A lock file has the format of `sha512sum`, with paths relative to the cache: `HASH  VERSION/libs/JAR`. So
`sha512sum --check FILE`, run in the cache, does the same check. Comments say where each jar is in a Maven
repository: `# GROUP/MODULE/REVISION/JAR`. It names no repository: a jar must have these bytes, whichever
repository serves it.
"""

import asyncio
import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets.base.interface import Lasting, Progress, TargetError
from harness.targets.jars import cache

LOCK_VARIABLE: Final = "KAFKA_CONFORMANCE_JAR_LOCK"
"""Environment variable with the lock file for versions that the shipped one lacks."""
SHIPPED_LOCK: Final = Path(__file__).with_name("kafka-jars.sha512")
"""The lock of every version in `harness.targets.jars.repository`."""
_OWN_LOCK: Final = "kafka-jars.sha512"
_DISPENSABLE: Final = "kafka-tools-api-"
"""A jar that a broker runs without, which locks of users may name; not every repository has it."""
_LINE: Final = re.compile(r"([0-9a-f]{128})  ([^/\s]+)/libs/([^/\s]+)")
_PATH_LINE: Final = re.compile(r"# ((?:[\w.-]+/)+([\w.-]+\.jar))")

Hashes = Mapping[str, str]
"""SHA-512 by name of jar, in hexadecimal digits."""


class JarMismatchError(TargetError):
    """The jars of a version differ from the recorded ones; none of them is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarLock:
    """The entries of a lock file for one version."""

    file: Path
    version: str
    hashes: Hashes
    paths: tuple[str, ...]
    """Where the jars are in a Maven repository; empty if the file does not say it of each."""


def own_lock() -> Path:
    """Return the lock file for versions that the shipped one lacks: the user's, else the cache's."""
    named = os.environ.get(LOCK_VARIABLE, "").strip()
    return Path(named).expanduser().resolve() if named else cache.cache_directory() / _OWN_LOCK


def lock_of(version: str) -> JarLock | None:
    """Return the recorded hashes of a version's jars; None if no lock file contains any.

    Raises:
        TargetError: a lock file cannot be read, or is invalid.
    """
    for file in (SHIPPED_LOCK, own_lock()):
        if version in read_lock(file):
            return _of_version(file, version)
    return None


def _of_version(file: Path, version: str) -> JarLock:
    hashes, known = read_lock(file)[version], read_paths(file)
    is_complete = known.keys() >= hashes.keys()
    paths = tuple(known[name] for name in hashes) if is_complete else ()
    return JarLock(file=file, version=version, hashes=hashes, paths=paths)


def read_lock(file: Path) -> dict[str, dict[str, str]]:
    """Return a lock file's hashes by version; a missing file has none.

    Raises:
        TargetError: it cannot be read, or a line is not valid in a lock file.
    """
    try:
        return _parsed(file.read_text(encoding="utf-8"), file)[0]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TargetError(f"the lock of jars {file} cannot be read: {error}") from error


def read_paths(file: Path) -> dict[str, str]:
    """Return where the jars of a lock file that can be read are in a Maven repository, by their names."""
    return _parsed(file.read_text(encoding="utf-8"), file)[1] if file.exists() else {}


@functools.lru_cache(maxsize=4)
def _parsed(text: str, file: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    hashes: dict[str, dict[str, str]] = {}
    paths: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if entry := _LINE.fullmatch(line):
            hashes.setdefault(entry[2], {})[entry[3]] = entry[1]
        elif place := _PATH_LINE.fullmatch(line):
            paths[place[2]] = place[1]
        elif not line.startswith("#"):
            raise TargetError(
                f"{file}:{number} is not a line of a jar lock, `HASH  VERSION/libs/JAR`: correct or remove it"
            )
    return hashes, paths


def hashes_of(libs: Path) -> dict[str, str]:
    """Return the SHA-512 of each file in a directory; unchanged files are not read again."""
    return {file.name: sha512_of(file) for file in sorted(libs.iterdir())}


def sha512_of(file: Path) -> str:
    """Return the SHA-512 of a file in hexadecimal digits."""
    facts = file.stat()
    return _sha512(file, (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))


@functools.lru_cache(maxsize=4096)
def _sha512(file: Path, facts: tuple[int, ...]) -> str:
    del facts  # The facts are part of the cache's key, so that a changed file is read again.
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha512").hexdigest()


def is_recorded(jar: Path) -> bool:
    """Return whether a jar in the cache is the one that was recorded for its version.

    Raises:
        TargetError: a lock file cannot be read, or is invalid.
    """
    lock = lock_of(jar.parents[1].name)
    return lock is not None and lock.hashes.get(jar.name) == sha512_of(jar)


async def check_jars(
    version: str,
    libs: Path,
    progress: Progress,
    *,
    remedy: str,
    paths: Sequence[str] = (),
) -> None:
    """Check that a version's jars are the recorded ones; record them if no lock contains the version.

    Args:
        version: Kafka's version.
        libs: the directory of the jars.
        progress: called with the file to which hashes were recorded.
        paths: where the jars are in a Maven repository, to be recorded with their hashes.
        remedy: what to do about a jar that differs.

    Raises:
        JarMismatchError: a jar differs, is not recorded, or is missing.
        TargetError: a lock file cannot be read or written.
    """
    found = await asyncio.to_thread(hashes_of, libs)
    lock = lock_of(version)
    if lock is None:
        lock = await _recorded(version, found, paths, progress)
    _compare(lock, found, libs, remedy=remedy)


def _compare(lock: JarLock, found: Hashes, libs: Path, *, remedy: str) -> None:
    for name, actual in found.items():
        expected = lock.hashes.get(name)
        if expected != actual:
            wanted = f"SHA-512 {expected}" if expected else f"no such jar of Kafka {lock.version}"
            raise JarMismatchError(
                f"{libs / name} does not match {lock.file}, and Kafka {lock.version} is not run. "
                f"Expected: {wanted}. Found: SHA-512 {actual}. Remedy: {remedy}{own_remedy(lock)}"
            )
    missing = [name for name in lock.hashes if name not in found and not name.startswith(_DISPENSABLE)]
    if missing:
        raise JarMismatchError(
            f"{libs} does not match {lock.file}, and Kafka {lock.version} is not run. "
            f"Expected: {', '.join(missing)}. Found: no such jar. Remedy: {remedy}{own_remedy(lock)}"
        )


def own_remedy(lock: JarLock) -> str:
    """Return what else may be done about a jar that differs from a lock of the user's."""
    if lock.file == SHIPPED_LOCK:
        return ""
    return f"; if you know why the jars changed, remove the lines of {lock.version} from {lock.file}"


async def _recorded(version: str, found: Hashes, paths: Sequence[str], progress: Progress) -> JarLock:
    """Record the hashes of a version that no lock file contains, and report the file."""
    file = own_lock()
    directory = cache.prepared(cache.cache_directory())
    async with cache.locked(directory, "own-lock", progress):
        versions = read_lock(file)
        if version not in versions:
            known = {**read_paths(file), **{Path(path).name: path for path in paths}}
            write_lock(file, {**versions, version: dict(found)}, known)
            progress(
                Lasting(
                    f"Kafka {version} is new here: recorded the SHA-512 of its {len(found)} jars in {file}; "
                    "later downloads have to match"
                )
            )
        return _of_version(file, version)


def write_lock(file: Path, versions: Mapping[str, Hashes], paths: Mapping[str, str]) -> None:
    """Write a lock file, in the order of versions and names, completely or not at all.

    Args:
        file: the lock file.
        versions: the hashes of its versions.
        paths: where jars are in a Maven repository, by their names.

    Raises:
        TargetError: it cannot be written.
    """
    lines = [f"# {path}\n" for path in sorted(paths.values())]
    lines += [
        f"{versions[version][name]}  {version}/libs/{name}\n"
        for version in sorted(versions, key=_numbers)
        for name in sorted(versions[version])
    ]
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as temporary:
            temporary.writelines(lines)
        Path(temporary.name).chmod(0o644)
        Path(temporary.name).replace(file)
    except OSError as error:
        raise TargetError(
            f"the lock of jars {file} cannot be written ({error.strerror}): let --jar-lock or "
            f"{LOCK_VARIABLE} name a file that can"
        ) from error


def _numbers(version: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(number) for number in re.findall(r"\d+", version)), version
