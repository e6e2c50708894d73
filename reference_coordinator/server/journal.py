"""A broker's state beside its logs, in a file of lines, of which the last one for a key counts.

Each line is a checksum, and key and value as JSON. A line that the end of the process cut off was never
acknowledged: it is removed when the file is opened, and reported.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from crc32c import crc32c

from reference_coordinator.log.files import Files
from reference_coordinator.log.full_disk import append_whole
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.log.synced import SyncedEnds

Json: TypeAlias = "str | int | bool | None | list[Json] | dict[str, Json]"
"""The value of a key; None if it has none."""
_NEW_SUFFIX = ".new"


class Journal:
    """Keys and their values, which are durable once `sync` has returned."""

    def __init__(self, files: Files, path: Path, ends: SyncedEnds) -> None:
        """Open a file, which may be missing only if `ends` has no record of it.

        Args:
            files: the file system.
            path: the file.
            ends: the record of how many of its bytes were on the disk.

        Raises:
            DamagedLogError: a line that is not the last cannot be read, or one that was on the disk.
            OSError: the file cannot be read or written.
        """
        self._files = files
        self._path = path
        self._ends = ends
        self._size = 0
        self.notice: str | None = None
        """A message about an end that was cut off."""
        self._values = self._read()
        self._unwritten: list[str] = []
        self._write_anew()

    def items(self, prefix: str) -> Iterator[tuple[str, Json]]:
        """Yield keys with a prefix, without it, and their values."""
        for key, value in self._values.items():
            if key.startswith(prefix):
                yield key.removeprefix(prefix), value

    def get(self, key: str) -> Json:
        """Return the value of a key."""
        return self._values.get(key)

    def put(self, key: str, value: Json) -> None:
        """Set the value of a key, or remove it; written with the next `sync`."""
        if self._values.get(key) == value:
            return
        if value is None:
            del self._values[key]
        else:
            self._values[key] = value
        self._unwritten.append(_line(key, value))

    def sync(self) -> None:
        """Write all changes, and sync them to the disk.

        Raises:
            OSError: it is unknown which changes are on the disk.
        """
        if self._unwritten:
            content = "".join(self._unwritten).encode()
            append_whole(self._files, self._path, content, size=self._size)
            self._unwritten.clear()
            self._files.sync(self._path)
            self._size += len(content)
            self._ends.grew(self._path.name, self._size)

    def _read(self) -> dict[str, Json]:
        values: dict[str, Json] = {}
        synced_end = self._ends.ends.get(self._path.name, 0)
        is_there = self._path.name in self._files.names(self._path.parent)
        lines = self._files.read(self._path).splitlines(keepends=True) if is_there else []
        position = 0
        for number, line in enumerate(lines, start=1):
            entry = _entry(line)
            if entry is None and (number < len(lines) or position < synced_end):
                raise DamagedLogError(f"{self._path} is damaged in line {number}, which is no entry")
            if entry is None:
                self.notice = (
                    f"the last {len(line)} bytes of {self._path} were cut off: a line without its end"
                )
            else:
                values.update(entry)
            position += len(line)
        if position < synced_end:
            what = f"ends after {position} of {synced_end} bytes" if is_there else "is missing"
            raise DamagedLogError(f"{self._path} {what}")
        return {key: value for key, value in values.items() if value is not None}

    def _write_anew(self) -> None:
        """Rewrite the file without obsolete lines; at any time one of both files is complete."""
        new = self._path.with_name(f"{self._path.name}{_NEW_SUFFIX}")
        self._files.create(new)
        content = "".join(_line(key, value) for key, value in self._values.items()).encode()
        self._files.append(new, content)
        self._files.sync(new)
        self._ends.note(self._path.name, 0)
        self._ends.sync()
        self._files.rename(new, self._path)
        self._files.sync_directory(self._path.parent)
        self._size = len(content)
        self._ends.grew(self._path.name, self._size)


def _line(key: str, value: Json) -> str:
    content = json.dumps([key, value], separators=(",", ":"))
    return f"{_checksum(content.encode())} {content}\n"


def _checksum(content: bytes) -> str:
    return f"{crc32c(content):08x}"


def _entry(line: bytes) -> Mapping[str, Json] | None:
    """Return a line's key and value, or None if it is not a complete line."""
    checksum, _, content = line.partition(b" ")
    if not content.endswith(b"\n") or checksum != _checksum(content[:-1]).encode():
        return None
    key, value = json.loads(content)
    return {key: value}
