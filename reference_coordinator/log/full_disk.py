"""Handling of a full disk: an incomplete write is undone, and later writes are tried again."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reference_coordinator.log.batches import StoreError, StoreFullError
from reference_coordinator.log.files import Files, UnsyncedError

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Disk:
    """The state of a store's disk: whether it was full at the last write, and whether it failed for good."""

    def __init__(self, directory: Path, tell: Callable[[str], None]) -> None:
        self._directory = directory
        self._tell = tell
        self._failure: str | None = None
        self._is_full = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Convert disk errors into store errors, and report when the disk is full and has room again.

        Raises:
            StoreFullError: the disk is full.
            StoreError: the content of the disk is unknown; every write is refused from now on.
        """
        if self._failure is not None:
            raise StoreError(self._failure)
        try:
            yield
        except OSError as error:
            if error.errno in _NO_ROOM and not isinstance(error, UnsyncedError):
                self._say(is_full=True)
                raise StoreFullError(f"{self._directory} has no room: {error}") from error
            self._failure = f"{self._directory} cannot be written: {error}"
            raise StoreError(self._failure) from error
        self._say(is_full=False)

    def _say(self, *, is_full: bool) -> None:
        if is_full == self._is_full:
            return
        self._is_full = is_full
        what = (
            "has no room: writes are refused until it has" if is_full else "has room again: writes are taken"
        )
        self._tell(f"{self._directory} {what}")


def append_whole(files: Files, path: Path, content: bytes, *, size: int) -> None:
    """Append to a file of a given size, all or nothing.

    Raises:
        OSError: the disk is full, or its content is unknown.
    """
    try:
        files.append(path, content)
    except OSError:
        files.truncate(path, size)
        raise
