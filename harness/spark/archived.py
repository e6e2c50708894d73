"""From an archive of runs to a DataFrame for each kind of record: explicit schemas, no joins."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from harness.spark.archive import CONVERSATIONS, KINDS, Archive
from harness.spark.archive_rows import Answer
from harness.spark.schemas import column_names, frame_of, struct_type
from harness.spark.stage import hadoop_path

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONVERSATION_TYPE = StructType(
    [
        StructField("conversation", StringType()),
        StructField("answers", ArrayType(struct_type(Answer))),
    ]
)
"""Grain: conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What an archive holds of some runs, each kind of record typed as its class says."""

    runs: DataFrame
    """`RunHeader`."""
    footers: DataFrame
    """`RunFooter`."""
    headers: DataFrame
    """`BrokerHeader`."""
    events: DataFrame
    """`Event`."""
    traces: DataFrame
    """`Trace`."""
    timed_steps: DataFrame
    """`TimedStep`."""
    judgements: DataFrame
    """`Judgement`."""
    differences: DataFrame
    """`Difference`."""
    clauses: DataFrame
    """`RunClause`."""
    conversations: DataFrame
    """`CONVERSATION_TYPE`."""


def stage_archive(spark: SparkSession, archive: Archive, run_ids: Sequence[str] | None = None) -> Archived:
    """Read the records of some runs, or of all; nothing is read before a table asks for it."""
    frames = {kind: _frame(spark, cls, archive.root / kind) for kind, cls in KINDS.items()}
    if run_ids is not None:
        frames = {kind: frame.where(sf.col("run_id").isin(*run_ids)) for kind, frame in frames.items()}
    return Archived(**frames, conversations=_conversations(spark, archive.root / CONVERSATIONS))


def _frame(spark: SparkSession, cls: "type[DataclassInstance]", folder: Path) -> DataFrame:
    if not folder.is_dir():
        return frame_of(spark, cls, [])
    return spark.read.schema(struct_type(cls)).parquet(hadoop_path(folder)).select(*column_names(cls))


def _conversations(spark: SparkSession, folder: Path) -> DataFrame:
    """Read all conversations, each once: writers that did not know of each other may have kept one twice."""
    if not folder.is_dir():
        return spark.createDataFrame([], CONVERSATION_TYPE)
    kept = spark.read.schema(CONVERSATION_TYPE).parquet(hadoop_path(folder))
    return kept.groupBy("conversation").agg(sf.any_value("answers").alias("answers"))
