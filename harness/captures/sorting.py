"""Sort rows by group and time; any number of them may be on disk, and only a few are in memory."""

import heapq
import marshal
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.captures.exchanges import Row

_RUN: Final = 20_000
"""How many rows are sorted at once in memory."""
_RUNS_MAX: Final = 64
"""How many files are merged at once."""
_AT_ONCE: Final = 100
"""How many rows are written and read at once."""
_SIZE_BYTES: Final = 4
_place: Final = itemgetter(*range(5))


def in_order(rows: Iterable[Row], *, run: int = _RUN) -> Iterator[Row]:
    """Sort rows by group, kind, time, connection and number; temporary files are deleted afterwards."""
    with TemporaryDirectory(prefix="kafka-conformance-judge-") as folder:
        runs: list[Path] = []
        last: list[Row] = []
        for row in rows:
            last.append(row)
            if len(last) >= run:
                last.sort(key=_place)
                runs.append(_written(last, Path(folder, f"{len(runs)}")))
                last = []
                if len(runs) % _RUNS_MAX == 0:
                    merged = heapq.merge(*map(_read, runs[-_RUNS_MAX:]), key=_place)
                    runs[-_RUNS_MAX:] = [_written(merged, Path(folder, f"merged-{len(runs)}"))]
        last.sort(key=_place)
        yield from heapq.merge(*map(_read, runs), last, key=_place) if runs else last


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
