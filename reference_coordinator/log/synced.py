"""How far each file of a directory was on the disk for certain, so that damage cannot pass for a torn tail.

A tail that was cut off was never answered for; what is before the end that is noted here was. A note is
written when what it tells of is on the disk, and is not awaited itself: after a power cut it may tell of an
earlier end, never of a later one. Notes are lines of one length, each in its place: a checksum, an end, and
a name. Kafka keeps a checkpoint likewise, and leaves this file alone.

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
    """Ends by name: offsets, or bytes, as who notes them counts."""

    def __init__(self, files: Files, path: Path) -> None:
        """Read what is there, if anything is; lines that are none are left out.

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
        """What is noted."""
        return self._ends

    def begin(self, ends: Mapping[str, int]) -> None:
        """Note these ends, and those of other names as they are; on the disk when this returns.

        Raises:
            OSError: nobody knows what is.
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
        """Note an end that may be smaller than before; `sync` has to come before what makes it so."""
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._free.pop() if self._free else len(self._places)
        self._ends[name] = end
        self._files.write_at(self.path, place * _LINE_BYTES, _line(name, end))

    def grew(self, name: str, end: int) -> None:
        """Note an end that is larger than before; if it cannot be noted, the one before is no less true."""
        with suppress(OSError):
            self.note(name, end)

    def forget(self, name: str) -> None:
        """Let a name have no end; `sync` has to come before what makes it so."""
        place = self._places.pop(name, None)
        if place is not None:
            del self._ends[name]
            self._free.append(place)
            self._files.write_at(self.path, place * _LINE_BYTES, _line("", 0))

    def sync(self) -> None:
        """Return when all notes are on the disk."""
        self._files.sync(self.path)


def read_ends(files: Files, path: Path) -> dict[str, int]:
    """Return what is noted in a file, if there is one."""
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
    # Where there is no name, its blank went with the rest of the line's.
    if checksum != f"{crc32c(content if name else content + b' '):08x}".encode():
        return None
    return name.decode(), int(end)
