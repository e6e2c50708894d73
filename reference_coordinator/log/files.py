"""The few things that the store does to a file system, so that a test can fail at each of them."""

import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from typing_extensions import override

_OPEN_MAX: Final = 128
"""How many files stay open: fewer than a process may have, whatever else it has open."""


class UnsyncedError(OSError):
    """Nobody knows whether what was written is on the disk, and asking again does not tell."""


class Files(Protocol):
    """Files and directories. What was written is there for good once it was synced, and not before.

    Every method may raise OSError.
    """

    def names(self, directory: Path) -> tuple[str, ...]:
        """What is in a directory; nothing if there is none."""

    def read(self, path: Path) -> bytes:
        """All of a file."""

    def make_directory(self, path: Path) -> None:
        """Make a directory, if it is not there."""

    def create(self, path: Path) -> None:
        """Make an empty file, in place of any other."""

    def append(self, path: Path, content: bytes) -> None:
        """Write behind the end of a file."""

    def write_at(self, path: Path, position: int, content: bytes) -> None:
        """Write in place of what is there."""

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file off."""

    def rename(self, path: Path, to: Path) -> None:
        """Give a file or a directory another name, in place of what has it."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""

    def sync(self, path: Path) -> None:
        """Return when the content of a file is on the disk; raises UnsyncedError if nobody knows."""

    def sync_directory(self, path: Path) -> None:
        """Return when the names in a directory are on the disk; raises UnsyncedError if nobody knows."""

    def close(self) -> None:
        """Let go of what is open."""


class DiskFiles(Files):
    """The real ones; the files that were appended to latest stay open."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, int] = OrderedDict()
        """The one that was used last is the last."""

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
        # A descriptor of its own: one that is open for appending minds no position.
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
            # What was written and not synced is synced by whoever opens it again.
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
