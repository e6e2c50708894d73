"""The file operations of the store, as an interface so that a test can make each of them fail."""

import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

_OPEN_MAX: Final = 128
"""The maximum number of files left open, well below the limit of a process."""


class UnsyncedError(OSError):
    """It is unknown whether written data is on the disk, and another sync would not reveal it."""


class Files(Protocol):
    """Files and directories. Written data is durable only once it was synced.

    Every method may raise OSError.
    """

    def names(self, directory: Path) -> tuple[str, ...]:
        """Return the names in a directory; none if it does not exist."""

    def read(self, path: Path) -> bytes:
        """Return the content of a file."""

    def make_directory(self, path: Path) -> None:
        """Create a directory, if it does not exist."""

    def create(self, path: Path) -> None:
        """Create an empty file, replacing any other."""

    def append(self, path: Path, content: bytes) -> None:
        """Append to a file."""

    def write_at(self, path: Path, position: int, content: bytes) -> None:
        """Overwrite a file from a position on."""

    def truncate(self, path: Path, size: int) -> None:
        """Truncate a file to a size."""

    def rename(self, path: Path, to: Path) -> None:
        """Rename a file or a directory, replacing any other with the new name."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""

    def sync(self, path: Path) -> None:
        """Sync the content of a file to the disk; raise UnsyncedError if the result is unknown."""

    def sync_directory(self, path: Path) -> None:
        """Sync the names in a directory to the disk; raise UnsyncedError if the result is unknown."""

    def close(self) -> None:
        """Close all open files."""


class DiskFiles(Files):
    """The real file system; the files that were appended to last stay open."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, int] = OrderedDict()
        """Descriptors by path, the most recently used one last."""

    @override
    def names(self, directory: Path) -> tuple[str, ...]:
        try:
            return tuple(sorted(path.name for path in directory.iterdir()))
        except FileNotFoundError:
            return ()

    @override
    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    @override
    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    @override
    def create(self, path: Path) -> None:
        self._close(path)
        self._keep_open(path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644))

    @override
    def append(self, path: Path, content: bytes) -> None:
        descriptor = self._descriptor(path)
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]

    @override
    def write_at(self, path: Path, position: int, content: bytes) -> None:
        # A separate descriptor: with O_APPEND, a write ignores its position.
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, content, position)
        finally:
            os.close(descriptor)

    @override
    def truncate(self, path: Path, size: int) -> None:
        os.ftruncate(self._descriptor(path), size)

    @override
    def rename(self, path: Path, to: Path) -> None:
        self._close(path)
        self._close(to)
        path.rename(to)

    @override
    def remove(self, path: Path) -> None:
        self._close(path)
        with suppress(FileNotFoundError):
            path.unlink()

    @override
    def sync(self, path: Path) -> None:
        _sync(self._descriptor(path))

    @override
    def sync_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)

    @override
    def close(self) -> None:
        for path in tuple(self._open):
            self._close(path)

    def _descriptor(self, path: Path) -> int:
        found = self._open.get(path)
        if found is None:
            found = os.open(path, os.O_WRONLY | os.O_APPEND)
            self._keep_open(path, found)
        else:
            self._open.move_to_end(path)
        return found

    def _keep_open(self, path: Path, descriptor: int) -> None:
        self._open[path] = descriptor
        if len(self._open) > _OPEN_MAX:
            # Unsynced data of this file is synced when the file is opened and synced again.
            _, oldest = self._open.popitem(last=False)
            os.close(oldest)

    def _close(self, path: Path) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise UnsyncedError(error.errno, error.strerror) from error
