"""Read an archive of runs into one DataFrame for each kind of record: explicit schemas, no joins."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from harness.spark.archive import CONVERSATIONS, KINDS, Archive
from harness.spark.archive_rows import Answer
from harness.spark.schemas import struct_type, with_defaults
from harness.spark.stage import hadoop_path
from harness.trace.events import RunHeader

CONVERSATION_TYPE: Final = StructType(
    [
        StructField("conversation", StringType()),
        StructField("answers", ArrayType(struct_type(Answer))),
    ]
)
"""Grain: conversation."""
_OF_RUNS: Final = {
    "runs": struct_type(RunHeader),
    "beginnings": StructType([struct_type(RunHeader)[name] for name in ("run_id", "started_at")]),
}
"""The columns that are read of run headers, by the name of the frame."""


class Archived:
    """The records of some runs in an archive, each kind with the types of its record class.

    A kind of record is read when it is first used.
    """

    def __init__(self, spark: SparkSession, archive: Archive, run_ids: Sequence[str] | None = None) -> None:
        self._spark = spark
        self._archive = archive
        self._run_ids = run_ids
        self._frames: dict[str, DataFrame] = {}
        self._wanted: Column | None = None
        self._lock = Lock()

    @property
    def runs(self) -> DataFrame:
        """`RunHeader`; read without Spark, since a job for so few rows would take longer."""
        return self._frame("runs")

    @property
    def beginnings(self) -> DataFrame:
        """The ids and start times of `runs`, which are the columns most often needed."""
        return self._frame("beginnings")

    @property
    def footers(self) -> DataFrame:
        """`RunFooter`."""
        return self._frame("footers")

    @property
    def headers(self) -> DataFrame:
        """`BrokerHeader`."""
        return self._frame("headers")

    @property
    def events(self) -> DataFrame:
        """`Event`."""
        return self._frame("events")

    @property
    def traces(self) -> DataFrame:
        """`Trace`."""
        return self._frame("traces")

    @property
    def timed_steps(self) -> DataFrame:
        """`TimedStep`."""
        return self._frame("timed_steps")

    @property
    def judgements(self) -> DataFrame:
        """`Judgement`."""
        return self._frame("judgements")

    @property
    def differences(self) -> DataFrame:
        """`Difference`."""
        return self._frame("differences")

    @property
    def clauses(self) -> DataFrame:
        """`RunClause`."""
        return self._frame("clauses")

    @property
    def client_verdicts(self) -> DataFrame | None:
        """`ClientVerdict`; None if no run has any, so that no work is done for them."""
        files = self._archive.files("client_verdicts", self._run_ids)
        return self._frame("client_verdicts") if files else None

    @property
    def conversations(self) -> DataFrame:
        """`CONVERSATION_TYPE`, for all runs."""
        return self._frame(CONVERSATIONS)

    def _frame(self, kind: str) -> DataFrame:
        with self._lock:
            if kind not in self._frames:
                self._frames[kind] = self._read(kind)
            return self._frames[kind]

    def _read(self, kind: str) -> DataFrame:
        if kind == CONVERSATIONS:
            return self._parquet(self._archive.conversation_files(), CONVERSATION_TYPE)
        if kind in _OF_RUNS:
            return self._reported(self._run_headers(_OF_RUNS[kind]), _OF_RUNS[kind])
        files = self._archive.files(kind, self._run_ids)
        frame = with_defaults(self._parquet(files, struct_type(KINDS[kind])), KINDS[kind])
        return frame if self._run_ids is None else frame.where(self._is_wanted())

    def _is_wanted(self) -> Column:
        if self._wanted is None:
            self._wanted = sf.col("run_id").isin(*self._run_ids or ())
        return self._wanted

    def _reported(self, table: pa.Table, schema: StructType) -> DataFrame:
        """Return few rows as literals of a query: this needs no job, and fewer calls to the JVM."""
        shape = ArrayType(schema).simpleString()
        rows = json.dumps(table.to_pylist()).replace("$", r"\u0024")  # `${…}` would be a variable of Spark's
        return self._spark.sql("SELECT inline(from_json({rows}, {shape}))", rows=rows, shape=shape)

    def _run_headers(self, schema: StructType) -> pa.Table:
        files = self._archive.files("runs", self._run_ids)
        tables = [pq.ParquetFile(file).read(columns=schema.names) for file in files]
        table = pa.concat_tables(tables, promote_options="default")  # An older file lacks columns.
        if self._run_ids is None:
            return table
        return table.filter(pc.is_in(table["run_id"], value_set=pa.array(self._run_ids, pa.string())))

    def _parquet(self, files: Sequence[Path], schema: StructType) -> DataFrame:
        return self._spark.read.schema(schema).parquet(*[hadoop_path(file) for file in files])
