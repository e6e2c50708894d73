"""Read an archive of runs into one DataFrame for each kind of record: explicit schemas, no joins."""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from harness.spark.archive import CONVERSATION_SCHEMA, CONVERSATIONS, KINDS, RARE, Archive
from harness.spark.arrow_schemas import arrow_schema, completed_table
from harness.trace.schema import columns

_GLOB: Final = re.compile(r"[\\{}\[\]*?]")
"""Characters that Spark would interpret as a pattern in a path to read."""


class Archived:
    """The records of some runs in an archive, each kind with the types of its record class.

    A kind of record is read when it is first used. Every column is nullable, as in the files.
    """

    def __init__(self, spark: SparkSession, archive: Archive, run_ids: Sequence[str] | None = None) -> None:
        self._spark = spark
        self._archive = archive
        self._run_ids = run_ids
        self._frames: dict[str, DataFrame | None] = {}
        self._lock = Lock()

    def __getitem__(self, kind: str) -> DataFrame:
        """Return the records of a kind, by the name of its folder; conversations are those of all runs."""
        found = self.get(kind)
        assert found is not None, "only rare kinds may be missing"
        return found

    def get(self, kind: str) -> DataFrame | None:
        """Return the records of a kind; None if it is rare and no run has any, so that no work is done."""
        with self._lock:
            if kind not in self._frames:
                self._frames[kind] = self._read(kind)
            return self._frames[kind]

    def _read(self, kind: str) -> DataFrame | None:
        if kind == CONVERSATIONS:
            return self._parquet(self._archive.conversation_files(), CONVERSATION_SCHEMA)
        files = self._archive.files(kind, self._run_ids)
        if kind in RARE and not files:
            return None
        if kind == "runs":
            return self._runs(files)
        frame = self._parquet(files, arrow_schema(KINDS[kind]))
        defaults = {each.name: each.default for each in columns(KINDS[kind]) if each.default is not None}
        frame = frame.na.fill(defaults) if defaults else frame  # An older file lacks columns.
        return frame if self._run_ids is None else frame.where(sf.col("run_id").isin(*self._run_ids))

    def _runs(self, files: Sequence[Path]) -> DataFrame:
        """Read run headers without Spark, since a job for so few rows would take longer."""
        tables = [completed_table(KINDS["runs"], pq.ParquetFile(file).read()) for file in files]
        table = pa.concat_tables(tables)
        if self._run_ids is not None:
            table = table.filter(pc.is_in(table["run_id"], value_set=pa.array(self._run_ids, pa.string())))
        return self._spark.createDataFrame(table.combine_chunks())

    def _parquet(self, files: Sequence[Path], schema: pa.Schema) -> DataFrame:
        paths = [_GLOB.sub(r"\\\g<0>", hadoop_path(file)) for file in files]
        return self._spark.read.schema(from_arrow_schema(schema)).parquet(*paths)


def hadoop_path(path: Path) -> str:
    """Return the URI of a local file as Hadoop needs it: with a scheme, but not percent-encoded."""
    return f"file://{path.resolve()}"
