"""Sort rows by group and time; any number of them may be on disk, and only a few are in memory."""

import heapq
import marshal
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.captures.exchanges import Row

_RUN: Final = 20_000
"""How many rows are sorted at once in memory."""
_RUNS_MAX: Final = 64
"""How many files become one."""
_AT_ONCE: Final = 100
"""How many rows are written and read at once."""
_SIZE_BYTES: Final = 4
_place: Final = itemgetter(*range(5))


def in_order(rows: Iterable[Row], *, run: int = _RUN) -> Iterator[Row]:
    """Sort rows by group, kind, time, connection and number; temporary files are deleted afterwards."""
    rows = iter(rows)
    with TemporaryDirectory(prefix="kafka-conformance-judge-") as folder:
        runs = _Runs(Path(folder))
        while len(last := sorted(islice(rows, run), key=_place)) == run:
            runs.add(last)
        yield from heapq.merge(*map(_read, runs.paths), last, key=_place)


class _Runs:
    """Files of sorted rows. As many of a level become one of the next, so each row is written few times."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._levels: list[list[Path]] = []
        self._names = count()

    @property
    def paths(self) -> Iterator[Path]:
        """All files."""
        return chain.from_iterable(self._levels)

    def add(self, rows: Iterable[Row], level: int = 0) -> None:
        """Write sorted rows into a file of a level."""
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(_written(rows, self._folder / str(next(self._names))))
        if len(self._levels[level]) == _RUNS_MAX:
            merged, self._levels[level] = self._levels[level], []
            self.add(heapq.merge(*map(_read, merged), key=_place), level + 1)


def _written(rows: Iterable[Row], path: Path) -> Path:
    plain = ((row.group, int(row.kind), *row[2:]) for row in rows)
    with path.open("wb") as file:
        while block := list(islice(plain, _AT_ONCE)):
            data = marshal.dumps(block)
            file.write(len(data).to_bytes(_SIZE_BYTES, "big") + data)
    return path


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        while size := file.read(_SIZE_BYTES):
            block = marshal.loads(file.read(int.from_bytes(size, "big")))  # noqa: S302 - our own process wrote it
            yield from map(Row._make, block)
    path.unlink()
