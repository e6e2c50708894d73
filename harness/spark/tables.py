"""Tables by name, built several at a time and moved to their place once all are complete."""

import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
from pyspark.sql import DataFrame

from harness.spark.archived import Archived, hadoop_path

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AT_ONCE: Final = 4
"""The number of tables that are built concurrently; more would only wait for the same driver."""
PARTITION_BYTES: Final = 64 * 1024 * 1024
"""The size of a partition of a large input."""
_SMALL_BYTES: Final = 256 * 1024 * 1024
"""Below this size, more partitions and an optimising JVM cost more time than they save, on two cores."""


def partition_count(input_bytes: int, *, each_bytes: int = PARTITION_BYTES) -> int:
    """Return the number of shuffle partitions for an input of this size: one if it is small."""
    return 1 if input_bytes < _SMALL_BYTES else 1 + input_bytes // each_bytes


@dataclass(frozen=True, slots=True)
class Mart:
    """One table: its row class, its sort columns (empty: unsorted), and the function that builds it."""

    row: "type[DataclassInstance]"
    order: tuple[str, ...]
    build: Callable[[Archived], DataFrame]


def write_tables(
    marts: Mapping[str, Mart],
    sources: Archived,
    out: Path,
    *,
    partitions: int,
    progress: Callable[[str], None],
) -> dict[str, int]:
    """Write all tables, several at a time; the old content of `out` is replaced when all are written.

    Returns:
        Rows by table, in the order of `marts`.
    """
    unfinished = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    counts = {}
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mart") as pool:
        pending = {
            pool.submit(write_table, table, sources, unfinished / name, partitions): name
            for name, table in marts.items()
        }
        try:
            for future in as_completed(pending):
                name = pending[future]
                counts[name] = future.result()
                progress(f"table {name}: {counts[name]} rows ({len(counts)} of {len(marts)})")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    shutil.rmtree(out, ignore_errors=True)
    unfinished.replace(out)
    return {name: counts[name] for name in marts}


def write_table(table: Mart, sources: Archived, folder: Path, partitions: int) -> int:
    """Write one table, and return its row count from the files' metadata, as counting in Spark costs time."""
    frame = table.build(sources).coalesce(partitions)
    if table.order:
        frame = frame.sortWithinPartitions(*table.order)
    frame.write.parquet(hadoop_path(folder))
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
