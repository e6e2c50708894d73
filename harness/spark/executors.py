"""Function calls on the executors of a Spark cluster, and generic rows that they process group by group.

Each call is a job of one task. A task whose executor is lost runs again on another executor. A task that
fails on every try fails only its own job.

Rows are read from files, grouped, and processed by functions of the caller. These run in the executors'
Python, which needs this package. A row's content is bytes that only these functions read.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias, TypeVar
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # it has no annotations
from pyspark import SparkContext, StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession

from harness.spark.master import LOCAL_CLUSTER, STANDALONE, SparkError, TaskError
from harness.spark.session import environment_kept, spark_session
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

    def groups_with_more_than(self, rows: DataFrame, count: int) -> list[str]:
        """Return the groups that have more than this number of rows."""
        counts = rows.groupBy("part").count()
        return [str(each[0]) for each in counts.where(counts["count"] > count).collect()]

    def collected(self, rows: DataFrame) -> list[GroupedRow]:
        """Return all rows."""
        return [_row(each) for each in rows.collect()]


@contextmanager
def grouped_job(master: str, *, partitions: int) -> Iterator[GroupedJob]:
    """Start Spark for steps over rows.

    Raises:
        OSError: the system refused an operation of Spark's.
        SparkError: there is no usable Java, or the master cannot be reached.
    """
    with environment_kept(_PYTHON):
        os.environ[_PYTHON] = os.environ.get(_PYTHON) or sys.executable
        with spark_session(master=master, partitions=max(partitions, 2)) as spark:
            yield GroupedJob(spark)


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


T = TypeVar("T")

_GONE: Final = (Py4JError, OSError)
"""The errors raised when a job failed, or when the JVM is gone."""
_PYTHON: Final = "PYSPARK_PYTHON"
_JOBS_AT_ONCE: Final = 256
"""The limit of concurrent jobs. Each job waits in a thread; further jobs wait for a free thread."""
_CONNECT_S: Final = 5.0
_COMING_S: Final = 180.0
"""The longest that the first executor may take to start, and that all executors may be gone."""
_LOOK_S: Final = 5.0
_ADDRESS: Final = re.compile(r"(?P<host>[^,:/]+|\[[^\]]+\]):(?P<port>\d{1,5})")
_FAILURE: Final = re.compile(r"^(?:[\w.]+\.)?(?P<kind>\w+(?:Error|Exception)): (?P<text>.+)$", re.MULTILINE)


class Executors:
    """The executors of a cluster, for the lifetime of a session."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._waiting = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-job")

    @property
    def core_count(self) -> int:
        """How many tasks the registered executors run at once."""
        return self._context.defaultParallelism

    async def run(self, function: Callable[[T, int], None], argument: T) -> None:
        """Call a function on one of the executors.

        It gets the argument and the number of earlier tries. Executors import it, and the argument is
        pickled.

        Raises:
            SparkError: there is no executor, or none is left.
            TaskError: the call failed on every try.
        """
        group = uuid4().hex
        future = self._waiting.submit(self._job, group, partial(function, argument))
        try:
            await self._awaited(future)
        finally:
            if not future.done() and not future.cancel():
                with suppress(*_GONE):
                    self._context.cancelJobGroup(group)

    async def _awaited(self, future: "Future[None]") -> None:
        job = asyncio.wrap_future(future)
        # Nobody awaits a cancelled job: retrieve its exception, or asyncio logs it as never retrieved.
        job.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        gone_since_s: float | None = None
        now_s = asyncio.get_running_loop().time
        while not (await asyncio.wait([job], timeout=_LOOK_S))[0]:
            if self._executor_count():
                gone_since_s = None
                continue
            gone_since_s = gone_since_s or now_s()
            if now_s() - gone_since_s >= _COMING_S:
                raise SparkError(
                    f"no executor came within {_COMING_S:.0f} s: "
                    "has the cluster workers with a free core and 1 GiB of memory? Its master's page tells"
                )
        job.result()

    def _executor_count(self) -> int:
        """Return the number of executors; 1 if the driver's JVM is gone, as its jobs then fail anyway."""
        with suppress(*_GONE):
            tracker = self._context._jsc.sc().statusTracker()  # noqa: SLF001 - PySpark has no public way to it
            return len(tracker.getExecutorInfos()) - 1
        return 1

    def _job(self, group: str, call: Callable[[int], None]) -> None:
        self._context.setJobGroup(group, "a share", interruptOnCancel=True)
        try:
            self._context.parallelize([call], 1).foreach(_carry_out)
        except _GONE as error:
            raise TaskError(_reason(error)) from error

    def close(self) -> None:
        """Cancel all jobs that are still running."""
        with suppress(*_GONE):
            self._context.cancelAllJobs()
        self._waiting.shutdown(wait=False, cancel_futures=True)


def _carry_out(call: Callable[[int], None]) -> None:
    task = TaskContext.get()
    call(0 if task is None else task.attemptNumber())


def _reason(error: Exception) -> str:
    """Return the last error of an executor's Python; without one, Spark's message."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    python = [found for found in _FAILURE.finditer(text) if found["kind"] != "PythonException"]
    if not python:
        return text.partition("\n")[0]
    last = python[-1]
    rest = text[last.end() :].partition("\n\n")[0].rstrip()
    return f"{last['text']}{rest}" if last["kind"] == "ShareError" else f"{last['kind']}: {last['text']}"


@contextmanager
def executors(master: str) -> Iterator[Executors]:
    """Provide the executors of a cluster for the duration of the context.

    Raises:
        SparkError: there is no Java, or no master.
    """
    _refuse_unreachable(master)
    handler = signal.getsignal(signal.SIGINT)
    with spark_session(master=master) as spark:
        if threading.current_thread() is threading.main_thread():
            # PySpark's own handler would interrupt an event loop at any point.
            signal.signal(signal.SIGINT, handler)
        context = spark.sparkContext
        context.pythonExec = os.environ.get(_PYTHON, sys.executable)
        found = Executors(context)
        home = Path(str(context._jvm.System.getenv("SPARK_HOME")))  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no public way to it
        application = str(context.applicationId)
        try:
            yield found
        finally:
            found.close()
    if master.startswith(LOCAL_CLUSTER):
        # A local cluster's workers write to PySpark's installation folder, and leave the files there.
        shutil.rmtree(home / "work" / application, ignore_errors=True)


def _refuse_unreachable(master: str) -> None:
    """Refuse a master that cannot be reached: Spark would try for a minute, and its message says less."""
    if not master.startswith(STANDALONE):
        return
    why = ""
    for found in _ADDRESS.finditer(master.removeprefix(STANDALONE)):
        try:
            with socket.create_connection((found["host"].strip("[]"), int(found["port"])), _CONNECT_S):
                return
        except (OSError, OverflowError) as error:
            why = why or str(error)
    raise SparkError(
        f"no Spark master answers at {master}: {why}\n"
        "Start one (sbin/start-master.sh), or write the address that its log names, e.g. spark://HOST:7077"
    )
