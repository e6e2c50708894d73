"""Downloads from a Maven repository: several at once, continued where they were cut off, and checked.

An unfinished file is named `JAR.part`. It gets its own name once it is whole and is what was expected.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Final, Self

import requests
from requests.adapters import HTTPAdapter
from requests_file import FileAdapter
from urllib3.util import Retry

from harness.targets.base.interface import Passing, Progress
from harness.targets.jars.locks import JarLock, JarMismatchError, own_remedy, sha512_of
from harness.targets.jars.repository import MissingError, UnreachableError, repository_name, repository_url
from harness.targets.runtimes.certificates import trust_system_certificates

_AT_ONCE: Final = 8
_TIMEOUT_S: Final = (10.0, 30.0)
"""How long to wait for a connection, and for the next bytes."""
_TRIES: Final = 4
_RETRIED: Final = Retry(
    connect=2, read=0, status=3, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504)
)
_CHUNK_BYTES: Final = 1 << 16
_MIB: Final = 1 << 20
_PARTIAL, _NOT_FOUND, _NOTHING_LEFT = 206, 404, 416


class Repository:
    """A connection to the Maven repository; files are named by their paths in it."""

    def __init__(self) -> None:
        self._root = repository_url()
        self._stopped = Event()
        self._session = requests.Session()
        self._session.headers["Accept-Encoding"] = "identity"
        trust_system_certificates()
        adapter = HTTPAdapter(pool_maxsize=_AT_ONCE, max_retries=_RETRIED)
        for prefix in ("http://", "https://"):
            self._session.mount(prefix, adapter)
        self._session.mount("file://", FileAdapter())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._session.close()

    def read(self, path: str) -> bytes:
        """Return a small file.

        Raises:
            MissingError: the repository does not have it.
            UnreachableError: the repository does not answer.
        """
        with self._asked(path) as answer:
            return answer.content

    async def fetch(
        self, paths: Sequence[str], lock: JarLock | None, *, into: Path, progress: Progress
    ) -> None:
        """Download files into a directory.

        Args:
            paths: where the files are in the repository.
            lock: what each file must be; without one it is checked by the SHA-1 that the repository states.
            into: the directory. A file that is there already is not downloaded again.
            progress: called with the number of files that are there.

        Raises:
            JarMismatchError: a file is not the expected one; nothing of it is kept.
            MissingError: the repository does not have a file.
            UnreachableError: the repository does not answer.
        """
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="download")
        downloads = [loop.run_in_executor(pool, self._fetch, path, into, lock) for path in paths]
        try:
            for count, download in enumerate(downloads, start=1):
                await download
                progress(Passing(f"{count} of {len(paths)} jars downloaded, {_kept_bytes(into) // _MIB} MiB"))
        finally:
            self._stopped.set()
            for download in downloads:
                download.cancel()
            await asyncio.gather(*downloads, return_exceptions=True)
            pool.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, path: str, into: Path, lock: JarLock | None) -> None:
        into.mkdir(parents=True, exist_ok=True)
        final = into / Path(path).name
        part = final.with_name(f"{final.name}.part")
        expected = None if lock is None else lock.hashes.get(final.name)
        if final.exists() and expected in (None, sha512_of(final)):
            return
        was_begun = part.exists()
        if not (was_begun and expected == sha512_of(part)):
            self._append(path, part)
        found, wanted = (
            (f"SHA-512 {sha512_of(part)}", f"SHA-512 {expected}")
            if expected
            else (f"SHA-1 {_sha1_of(part)}", f"SHA-1 {self._stated_sha1(path)}")
        )
        if found == wanted:
            part.replace(final)
            return
        part.unlink()
        if was_begun:  # The part that was there may be the damaged one.
            self._fetch(path, into, lock)
            return
        raise JarMismatchError(
            f"{repository_name()} serves another {path} than {lock.file if lock else 'it states'}: "
            "it is not kept. "
            f"Expected: {wanted}. Found: {found}. "
            f"Remedy: try again, or name another mirror with --maven-mirror{own_remedy(lock) if lock else ''}"
        )

    def _append(self, path: str, part: Path) -> None:
        """Download what is missing of a file; go on where an answer ended too early."""
        cut_off: Exception | None = None
        for _ in range(_TRIES):
            begun_bytes = part.stat().st_size if part.exists() else 0
            with self._asked(path, begun_bytes) as answer:
                if answer.status_code == _NOTHING_LEFT:
                    part.unlink()
                    continue
                try:
                    self._receive(answer, part)
                except requests.RequestException as error:
                    cut_off = error
                else:
                    return
        raise unreachable(cut_off) from cut_off

    def _receive(self, answer: requests.Response, part: Path) -> None:
        with part.open("ab" if answer.status_code == _PARTIAL else "wb") as file:
            for chunk in answer.iter_content(_CHUNK_BYTES):
                if self._stopped.is_set():
                    raise UnreachableError("the download was stopped; it goes on the next time")
                file.write(chunk)

    def _asked(self, path: str, begun_bytes: int = 0) -> requests.Response:
        url = f"{self._root}/{path}"
        range_ = {"Range": f"bytes={begun_bytes}-"} if begun_bytes else {}
        try:
            answer = self._session.get(url, headers=range_, stream=True, timeout=_TIMEOUT_S)
            if answer.status_code not in (_NOT_FOUND, _NOTHING_LEFT):
                answer.raise_for_status()
        except requests.RequestException as error:
            raise unreachable(error) from error
        if answer.status_code == _NOT_FOUND:
            answer.close()
            raise MissingError(f"{repository_name()} has no {path}")
        return answer

    def _stated_sha1(self, path: str) -> str:
        return self.read(f"{path}.sha1").decode("ascii", "replace").partition(" ")[0].strip()


def _kept_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("*.jar"))


def _sha1_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha1").hexdigest()


def unreachable(error: Exception | None) -> UnreachableError:
    """Return the error that says that the repository does not answer."""
    # The error names the address, which may contain a password, so only its kind is told.
    response = error.response if isinstance(error, requests.HTTPError) else None
    kind = type(error).__name__ if response is None else f"HTTP status {response.status_code}"
    return UnreachableError(f"{repository_name()} could not be reached ({kind})")
