"""The directory for jars and formatted storage, with one subdirectory per Kafka version.

Anything under its final name is complete: it is created under a temporary name beside it, and then renamed. A
lock file prevents two processes from creating the same thing.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from harness.targets.base.interface import Progress, TargetError

CACHE_VARIABLE: Final = "KAFKA_CONFORMANCE_CACHE"
"""Environment variable with the path of the cache."""
_LOCK_POLL_S: Final = 0.2


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the cache directory for Kafka's jars, which may not exist yet.

    It is the value of KAFKA_CONFORMANCE_CACHE, else `.cache/kafka` in the checkout, else, for an
    installed harness, the user's own cache directory.
    """
    reported = environment.get(CACHE_VARIABLE)
    if reported:
        return Path(reported).expanduser().resolve()
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".cache" / "kafka"
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kafka-conformance" / "kafka"


def prepared(directory: Path) -> Path:
    """Create the cache directory, accessible only to its owner, and return it.

    Raises:
        TargetError: it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise TargetError(
            f"the cache {directory} cannot be written ({error.strerror}): "
            f"let {CACHE_VARIABLE} name a directory that can"
        ) from error
    return directory


@asynccontextmanager
async def locked(directory: Path, what: str, progress: Progress) -> AsyncIterator[None]:
    """Take the lock of one item in the cache; wait if another process has it.

    Creating one item may need another one, which has its own lock: a class archive needs storage.
    """
    with (directory / f"{what}.lock").open("w") as lock:
        waited = False
        while not _try_lock(lock.fileno()):
            if not waited:
                progress("waiting for another process to fill the cache")
                waited = True
            await asyncio.sleep(_LOCK_POLL_S)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def made_at(final: Path) -> Iterator[Path]:
    """Provide a temporary directory to fill; after a block without an error it becomes `final`."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        yield temporary
        temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
