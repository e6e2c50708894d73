"""The few things that the store does to a file system, so that a test can fail at each of them."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from typing_extensions import override


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

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file off."""

    def rename(self, path: Path, to: Path) -> None:
        """Give a file or a directory another name, in place of what has it."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""

    def sync(self, path: Path) -> None:
        """Return when the content of a file is on the disk."""

    def sync_directory(self, path: Path) -> None:
        """Return when the names in a directory are on the disk."""

    def close(self) -> None:
        """Let go of what is open."""


class DiskFiles(Files):
    """The real ones; a file that is appended to stays open."""

    def __init__(self) -> None:
        self._open: dict[Path, int] = {}

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
        self._open[path] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)

    @override
    def append(self, path: Path, content: bytes) -> None:
        descriptor = self._descriptor(path)
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]

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
        os.fsync(self._descriptor(path))

    @override
    def sync_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @override
    def close(self) -> None:
        for path in tuple(self._open):
            self._close(path)

    def _descriptor(self, path: Path) -> int:
        found = self._open.get(path)
        if found is None:
            found = self._open[path] = os.open(path, os.O_WRONLY | os.O_APPEND)
        return found

    def _close(self, path: Path) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)
