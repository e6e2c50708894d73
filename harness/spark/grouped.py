"""Generic rows processed by Spark: read from files, grouped, and processed group by group.

The caller supplies the functions. They run in the executors' Python, which needs this package. A row's
content is bytes that only these functions read.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from harness.spark.session import spark_session
from harness.workers import collect_rarely

GroupedRow: TypeAlias = tuple[str, int, float, str, int, bytes]
"""Group, kind, time, name, number, content; rows of a group are sorted by all but the last."""
Step: TypeAlias = Callable[[Iterator[GroupedRow]], Iterator[GroupedRow]]
_SCHEMA: Final = pa.schema(
    [
        ("part", pa.string()),
        ("kind", pa.int32()),
        ("at", pa.float64()),
        ("name", pa.string()),
        ("number", pa.int64()),
        ("content", pa.binary()),
    ]
)
_SQL_SCHEMA: Final = "part string, kind int, at double, name string, number bigint, content binary"
_ORDER: Final = ("part", "kind", "at", "name", "number")
_BATCH: Final = 1_000
_PYTHON: Final = "PYSPARK_PYTHON"


@dataclass(frozen=True, slots=True)
class GroupedJob:
    """Steps over rows, in one Spark session."""

    spark: SparkSession

    def of_files(self, count: int, read: Callable[[int], Iterator[GroupedRow]]) -> DataFrame:
        """Return the rows read from each file; each file is a task, and is read again if the task is lost."""

        def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from _in_batches(read(number))

        return self.spark.range(0, count, 1, max(count, 1)).mapInArrow(step, _SQL_SCHEMA)

    def by_group(self, rows: DataFrame, step: Step) -> DataFrame:
        """Return the rows that a step makes of rows; it gets all rows of a group consecutively, in order."""
        ordered = rows.repartition("part").sortWithinPartitions(*_ORDER)

        def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            collect_rarely()
            return _in_batches(step(_rows(batches)))

        return ordered.mapInArrow(over, _SQL_SCHEMA)

    def kept(self, rows: DataFrame) -> DataFrame:
        """Persist rows on the executors' disks, so that nothing is read twice."""
        return rows.persist(StorageLevel.DISK_ONLY)

    def without_group(self, rows: DataFrame) -> list[GroupedRow]:
        """Return the rows that belong to no group."""
        return [_row(each) for each in rows.where("part = ''").collect()]

    def with_group(self, rows: DataFrame) -> DataFrame:
        """Return the rows that belong to a group."""
        return rows.where("part != ''")

    def groups_with_more_than(self, rows: DataFrame, count: int) -> list[str]:
        """Return the groups that have more than this number of rows."""
        counts = rows.groupBy("part").count()
        return [str(each[0]) for each in counts.where(counts["count"] > count).collect()]

    def of_groups(self, rows: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Return the rows of these groups."""
        return rows.where(rows["part"].isin(list(groups)))

    def of_other_groups(self, rows: DataFrame, groups: Sequence[str]) -> DataFrame:
        """Return the rows of all other groups."""
        return rows.where(~rows["part"].isin(list(groups)))

    def collected(self, rows: DataFrame) -> list[GroupedRow]:
        """Return all rows."""
        return [_row(each) for each in rows.collect()]


@contextmanager
def grouped_job(master: str, *, partitions: int) -> Iterator[GroupedJob]:
    """Start Spark for steps over rows.

    Args:
        master: a Spark master URL.
        partitions: the number of partitions that groups are spread over.

    Raises:
        OSError: the system refused an operation of Spark's.
        SparkError: there is no usable Java, or the master cannot be reached.
    """
    before = os.environ.get(_PYTHON)
    os.environ[_PYTHON] = before or sys.executable
    try:
        with spark_session(master=master, partitions=max(partitions, 2)) as spark:
            yield GroupedJob(spark)
    finally:
        if before is None:
            del os.environ[_PYTHON]


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[GroupedRow]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _in_batches(rows: Iterator[GroupedRow]) -> Iterator[pa.RecordBatch]:
    rows = iter(rows)
    while some := list(islice(rows, _BATCH)):
        columns = list(zip(*some, strict=True))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _row(found: Sequence[object]) -> GroupedRow:
    part, kind, at, name, number, content = found
    assert isinstance(content, bytes | bytearray), "the schema says so"
    return (str(part), int(str(kind)), float(str(at)), str(name), int(str(number)), bytes(content))
