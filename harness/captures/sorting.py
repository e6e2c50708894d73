"""Sort rows by group and time; any number of them may be on disk, and only a few are in memory."""

import heapq
import marshal
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.captures.exchanges import Row

_RUN: Final = 20_000
"""How many rows are sorted at once in memory."""
_RUNS_MAX: Final = 64
"""How many files are merged at once."""


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


def _place(row: Row) -> tuple[object, ...]:
    return row[:5]


def _written(rows: Iterable[Row], path: Path) -> Path:
    with path.open("wb") as file:
        for row in rows:
            marshal.dump((row.group, int(row.kind), *row[2:]), file)
    return path


def _read(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        while True:
            try:
                yield Row(*marshal.load(file))  # noqa: S302 - this process has just written it
            except EOFError:
                break
    path.unlink()
