"""Sort rows by group and time; any number of them may be on disk, and only a few are in memory."""

import marshal
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.captures.rows import Row

_CACHE_KIB: Final = 65_536


def in_order(rows: Iterable[Row], counts: dict[str, int]) -> Iterator[Row]:
    """Sort rows by group, kind, time, connection and number; temporary files are deleted afterwards.

    Args:
        rows: the rows, all of which are read before the first one is yielded.
        counts: the number of rows of each group is added here before that.
    """
    with TemporaryDirectory(prefix="kafka-conformance-judge-") as folder:
        base = sqlite3.connect(Path(folder) / "rows", isolation_level=None)
        try:
            base.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            base.execute("PRAGMA synchronous = OFF")
            base.execute("CREATE TABLE rows (part, kind, at, connection, number, content)")
            base.execute("BEGIN")
            base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", map(_written, rows))
            counts.update(base.execute("SELECT part, count(*) FROM rows GROUP BY part"))
            for found in base.execute("SELECT * FROM rows ORDER BY part, kind, at, connection, number"):
                yield Row._make((*found[:5], marshal.loads(found[5])))  # noqa: S302 - our own process wrote it
        finally:
            base.close()


def _written(row: Row) -> tuple[object, ...]:
    return (row.group, int(row.kind), *row[2:5], marshal.dumps(row.content))
