"""The end up to which each file of a directory was certainly on disk, to distinguish damage from a torn tail.

A torn tail was never acknowledged; everything before a recorded end was. An end is recorded once its data is
on disk, and the record itself is not synced: after a power failure, the file may contain an earlier end, but
never a later one. Each end has a line of fixed length and place: a checksum, the end and a name. Kafka has a
similar checkpoint, and does not touch this file.

Source: LogManager#checkpointLogRecoveryOffsets (4.3.1).
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from crc32c import crc32c

from reference_coordinator.log.files import Files

_LINE_BYTES: Final = 320
_NEW_SUFFIX: Final = ".new"


class SyncedEnds:
    """Ends by name, in the unit of the caller: offsets or bytes."""

    def __init__(self, files: Files, path: Path) -> None:
        """Read the file, if it exists; ignore invalid lines.

        Raises:
            OSError: it cannot be read.
        """
        self._files = files
        self.path = path
        self._ends = read_ends(files, path)
        self._places: dict[str, int] = {}
        self._free: list[int] = []

    @property
    def ends(self) -> Mapping[str, int]:
        """The recorded ends."""
        return self._ends

    def begin(self, ends: Mapping[str, int]) -> None:
        """Rewrite the file with these ends and those of other names; it is on disk when this returns.

        Raises:
            OSError: it is unknown what is on disk.
        """
        self._ends = {**self._ends, **ends}
        self._places = {name: place for place, name in enumerate(self._ends)}
        self._free = []
        new = self.path.with_name(f"{self.path.name}{_NEW_SUFFIX}")
        self._files.create(new)
        self._files.append(new, b"".join(_line(name, end) for name, end in self._ends.items()))
        self._files.sync(new)
        self._files.rename(new, self.path)
        self._files.sync_directory(self.path.parent)

    def note(self, name: str, end: int) -> None:
        """Record an end that may be smaller than before; call `sync` before the data is reduced."""
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._free.pop() if self._free else len(self._places)
        self._ends[name] = end
        self._files.write_at(self.path, place * _LINE_BYTES, _line(name, end))

    def grew(self, name: str, end: int) -> None:
        """Record an end that is larger than before; if this fails, the previous one remains valid."""
        with suppress(OSError):
            self.note(name, end)

    def forget(self, name: str) -> None:
        """Remove the end of a name; call `sync` before its data is removed."""
        place = self._places.pop(name, None)
        if place is not None:
            del self._ends[name]
            self._free.append(place)
            self._files.write_at(self.path, place * _LINE_BYTES, _line("", 0))

    def sync(self) -> None:
        """Sync all recorded ends to the disk."""
        self._files.sync(self.path)


def read_ends(files: Files, path: Path) -> dict[str, int]:
    """Return the ends recorded in a file; none if it does not exist."""
    if path.name not in files.names(path.parent):
        return {}
    content = files.read(path)
    lines = (content[at : at + _LINE_BYTES] for at in range(0, len(content), _LINE_BYTES))
    return {name: end for name, end in filter(None, map(_entry, lines)) if name}


def _line(name: str, end: int) -> bytes:
    content = f"{end} {name}".encode()
    return (f"{crc32c(content):08x} ".encode() + content).ljust(_LINE_BYTES - 1) + b"\n"


def _entry(line: bytes) -> tuple[str, int] | None:
    checksum, _, content = line.rstrip().partition(b" ")
    end, _, name = content.partition(b" ")
    # Without a name, `rstrip` has removed the space before it, too.
    if checksum != f"{crc32c(content if name else content + b' '):08x}".encode():
        return None
    return name.decode(), int(end)
