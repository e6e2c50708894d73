"""A file system in memory that stops in the middle, and what may be on the disk then."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from reference_coordinator.log.files import Files


class Crashed(BaseException):
    """The machine has stopped."""


@dataclass(slots=True)
class _File:
    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


_Names = dict[Path, _File]


@dataclass
class CrashingDisk(Files):
    """Stops at one step; a write that is under way has got as far as it is told to."""

    crash_at: int | None = None
    torn_after: int = 0
    """Bytes of the last write that were taken."""
    steps: int = 0
    unsynced_bytes_of: list[int] = field(default_factory=list)
    """By step, how many bytes it was about to write."""
    written: Path | None = None
    """What the last write was to."""
    _names: _Names = field(default_factory=dict)
    _durable_names: _Names = field(default_factory=dict)
    _directories: set[Path] = field(default_factory=set)

    def disks_after(self) -> Iterator[tuple[str, "CrashingDisk"]]:
        """Every disk that may be found after the crash, with a name for it."""
        yield "nothing unsynced is there", self._disk(self._durable_names, lambda file: bytes(file.synced))
        yield "everything is there", self._disk(self._names, lambda file: bytes(file.content))
        yield "names are there, contents are not", self._disk(self._names, lambda file: bytes(file.synced))
        yield "lengths are there, contents are not", self._disk(self._names, _zeroed)

    def _disk(self, names: _Names, content: Callable[[_File], bytes]) -> "CrashingDisk":
        files = {path: _File(bytearray(content(file)), content(file)) for path, file in names.items()}
        return CrashingDisk(_names=files, _durable_names=dict(files), _directories=set(self._directories))

    @override
    def names(self, directory: Path) -> tuple[str, ...]:
        inside = [*self._names, *self._directories]
        return tuple(sorted({path.name for path in inside if path.parent == directory}))

    @override
    def read(self, path: Path) -> bytes:
        if path not in self._names:
            raise FileNotFoundError(path)
        return bytes(self._names[path].content)

    @override
    def make_directory(self, path: Path) -> None:
        self._step()
        self._directories.add(path)

    @override
    def create(self, path: Path) -> None:
        self._step()
        self._names[path] = _File()

    @override
    def append(self, path: Path, content: bytes) -> None:
        self.written = path
        taken = self._step(len(content))
        self._names[path].content += content[:taken]
        if taken is not None:
            raise Crashed

    @override
    def write_at(self, path: Path, position: int, content: bytes) -> None:
        self.written = path
        taken = self._step(len(content))
        written = content[:taken]
        found = self._names[path].content
        found[:] = found.ljust(position, b"\0")
        found[position : position + len(written)] = written
        if taken is not None:
            raise Crashed

    @override
    def truncate(self, path: Path, size: int) -> None:
        self._step()
        del self._names[path].content[size:]

    @override
    def rename(self, path: Path, to: Path) -> None:
        self._step()
        if path in self._names:
            self._names[to] = self._names.pop(path)
            return
        self._directories.remove(path)
        self._directories.add(to)
        for each in [each for each in self._names if each.parent == path]:
            self._names[to / each.name] = self._names.pop(each)

    @override
    def remove(self, path: Path) -> None:
        self._step()
        self._names.pop(path, None)

    @override
    def sync(self, path: Path) -> None:
        self._step()
        self._names[path].synced = bytes(self._names[path].content)

    @override
    def sync_directory(self, path: Path) -> None:
        self._step()
        for known in [each for each in self._durable_names if each.parent == path]:
            del self._durable_names[known]
        self._durable_names.update((each, file) for each, file in self._names.items() if each.parent == path)

    @override
    def close(self) -> None:
        """Nothing is open."""

    def _step(self, length: int = 0) -> int | None:
        """Go on, or stop: at once, or, where bytes are written, after some of them."""
        self.steps += 1
        self.unsynced_bytes_of.append(length)
        if self.steps != self.crash_at:
            return None
        if not length:
            raise Crashed
        return min(self.torn_after, length)


def _zeroed(file: _File) -> bytes:
    length = len(file.content)
    return file.synced[:length].ljust(length, b"\0")
