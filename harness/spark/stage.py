"""Read runs into one DataFrame for each kind of record: explicit schemas, no joins, no silent loss.

Headers and footers are few and are read by `harness.trace.files`, with its strictness. JSON Lines may be
many and are read by Spark. A line that is not a record fails the job with the file and the count, except for
an incomplete last line, which a stopped writer leaves.
"""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from harness.diff.model import Alignment, Attempt, Attribution, Difference, Judgement
from harness.spark.archive_rows import BrokerHeader, RunClause
from harness.spark.arrow_schemas import column_names
from harness.spark.attempts import ruling_attempts
from harness.spark.schemas import frame_of, struct_type, with_defaults
from harness.trace.clause import Clause
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, ends_within_a_line, read_records
from harness.trace.schema import TraceError, columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_GLOB: Final = re.compile(r"[\\{}\[\]*?]")
"""Characters that Spark would interpret as a pattern in a path."""
_ROW: Final = ("step", "occurrence", "answer", "target_sequence", "oracle_sequence", "is_different")
"""The fields of `Alignment.rows`, in order."""
ALIGNED_COLUMNS: Final = ("run_id", "target", "oracle", "scenario_id", *_ROW)
"""Grain: run, target, scenario, step, occurrence."""
_CORRUPT: Final = "_corrupt_record"
_FILE: Final = "_file"
_IS_RECORD: Final = "_is_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The records of runs, each kind with the types of its record class."""

    runs: DataFrame
    """`RunHeader`."""
    footers: DataFrame
    """`RunFooter`."""
    headers: DataFrame
    """`BrokerHeader`."""
    events: DataFrame
    """`Event`, of the attempts that results come from."""
    first_events: DataFrame
    """`Event`, of first attempts; the oracles' are what targets are compared with."""
    alignments: DataFrame
    """`ALIGNED_COLUMNS`."""
    judgements: DataFrame
    """`Judgement`."""
    attempts: DataFrame
    """`Attempt`."""
    differences: DataFrame
    """`Difference`."""
    attributions: DataFrame
    """`Attribution`."""
    clauses: DataFrame
    """`RunClause`."""


def stage(spark: SparkSession, folders: Sequence[RunFolder]) -> Sources:
    """Read all records of some runs, all kinds concurrently, as a small run mostly waits for the driver.

    Raises:
        TraceError: a run has no header, two have the same id, or a line is not a record.
    """
    with ThreadPoolExecutor(thread_name_prefix="stage") as pool:
        (
            runs,
            footers,
            headers,
            first_events,
            alignments,
            judgements,
            attempts,
            differences,
            attributions,
            clauses,
        ) = [
            pool.submit(read, spark, folders)
            for read in (
                stage_runs,
                stage_footers,
                stage_headers,
                stage_first_events,
                stage_alignments,
                stage_judgements,
                stage_attempts,
                stage_differences,
                stage_attributions,
                stage_clauses,
            )
        ]
    return Sources(
        runs=runs.result(),
        footers=footers.result(),
        headers=headers.result(),
        events=of_ruling_attempts(spark, folders, first_events.result()),
        first_events=first_events.result(),
        alignments=alignments.result(),
        judgements=judgements.result(),
        attempts=attempts.result(),
        differences=differences.result(),
        attributions=attributions.result(),
        clauses=clauses.result(),
    )


def run_headers(folders: Sequence[RunFolder]) -> list[RunHeader]:
    """Read each run's header, without Spark.

    Raises:
        TraceError: a folder is not a run's, two are of the same run, or an older harness judged one.
    """
    seen: dict[str, RunFolder] = {}
    headers = []
    for folder in folders:
        if folder.judgements.exists() and not folder.alignments.exists():
            raise TraceError(
                f"{folder.alignments}: there is no such file, for an older harness judged the run; "
                f"`kafka-conformance report {folder.path}` judges it again"
            )
        header = folder.read_run()
        other = seen.setdefault(header.run_id, folder)
        if other is not folder:
            raise TraceError(f"{folder.path} and {other.path} are both run {header.run_id}")
        headers.append(header)
    return headers


def stage_runs(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the headers of runs. Grain: run."""
    return frame_of(spark, RunHeader, run_headers(folders))


def stage_footers(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the footers of runs that were not cut short. Grain: run."""
    footers = [footer for folder in folders if (footer := folder.read_footer()) is not None]
    return frame_of(spark, RunFooter, footers)


def stage_headers(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the brokers' headers, in the order of starting. Grain: run, target, broker configuration."""
    headers = [
        BrokerHeader(
            **{name: getattr(header, name) for name in column_names(TraceHeader)}, broker_ordinal=ordinal
        )
        for folder in folders
        for target in folder.targets()
        for ordinal, header in enumerate(folder.read_headers(target))
    ]
    return frame_of(spark, BrokerHeader, headers)


def stage_first_events(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read all events of first attempts. Grain: run, target, scenario, sequence."""
    paths = [folder.events(target) for folder in folders for target in folder.targets()]
    return read_lines(spark, Event, paths)


def of_ruling_attempts(spark: SparkSession, folders: Sequence[RunFolder], events: DataFrame) -> DataFrame:
    """Return the events of first attempts, or of the later attempt that a result comes from.

    Grain: run, target, scenario, sequence.
    """
    for folder in folders:
        for trace, scenario_ids in ruling_attempts(folder).items():
            is_replaced = (
                (sf.col("run_id") == folder.read_run().run_id)
                & (sf.col("target") == trace.partition("/")[0])
                & sf.col("scenario_id").isin(*scenario_ids)
            )
            later = read_lines(spark, Event, [folder.events(trace)]).where(is_replaced)
            events = events.where(~is_replaced).unionByName(later)
    return events


def stage_alignments(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read which events correspond. Grain: run, target, scenario, step, occurrence.

    Raises:
        TraceError: an alignment is damaged.
    """
    lines = read_lines(spark, Alignment, [folder.alignments for folder in folders])
    is_whole = sf.forall(_rows(), lambda row: sf.size(row) == len(_ROW))
    damaged = lines.where(~sf.coalesce(is_whole, sf.expr("false"))).limit(1).collect()
    if damaged:
        where = f"run {damaged[0]['run_id']}, {damaged[0]['target']}, {damaged[0]['scenario_id']}"
        raise TraceError(f"alignments.jsonl of {where}: `rows` are no such rows")
    return aligned_events(lines)


def aligned_events(alignments: DataFrame) -> DataFrame:
    """Explode the `rows` of alignments. Grain: run, target, scenario, step, occurrence."""
    return (
        alignments.withColumn("row", sf.explode(_rows()))
        .withColumns({name: sf.col("row")[place] for place, name in enumerate(_ROW)})
        .withColumn("is_different", sf.col("is_different") == 1)
        .select(*ALIGNED_COLUMNS)
    )


def _rows() -> Column:
    return sf.from_json("rows", "array<array<bigint>>")


def stage_judgements(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the judgements of scenarios. Grain: run, target, scenario."""
    return read_lines(spark, Judgement, [folder.judgements for folder in folders])


def stage_attempts(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the attempts of scenarios that were run again. Grain: run, target, scenario, attempt."""
    return read_lines(spark, Attempt, [folder.attempts for folder in folders])


def stage_differences(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the differences. Grain: run, target, scenario, ordinal."""
    return read_lines(spark, Difference, [folder.differences for folder in folders])


def stage_attributions(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the attributions of changes. Grain: run, scenario, pair of references."""
    return read_lines(spark, Attribution, [folder.attributions for folder in folders])


def stage_clauses(spark: SparkSession, folders: Sequence[RunFolder]) -> DataFrame:
    """Read the catalogues stored in runs. Grain: run, clause."""
    kept = [folder for folder in folders if folder.clauses.exists()]
    clauses = [
        RunClause(
            run_id=folder.read_run().run_id,
            **{name: getattr(clause, name) for name in column_names(Clause)},
        )
        for folder in kept
        for clause in read_records(Clause, folder.clauses)
    ]
    return frame_of(spark, RunClause, clauses)


def read_lines(spark: SparkSession, cls: "type[DataclassInstance]", paths: Sequence[Path]) -> DataFrame:
    """Read JSON Lines of one kind of record; files that do not exist count as empty.

    Raises:
        TraceError: lines are not such records, except for an incomplete one at the end of a file.
    """
    there = [path for path in paths if path.exists()]
    if not there:
        return frame_of(spark, cls, [])
    lines = spark.read.text([_GLOB.sub(r"\\\g<0>", hadoop_path(path)) for path in there], lineSep="\n")
    parsed = parse_lines(lines.select("value", sf.col("_metadata.file_path").alias(_FILE)), cls).persist()
    _refuse_corrupt(parsed)
    return with_defaults(parsed.where(_IS_RECORD).select(*column_names(cls)), cls)


def parse_lines(lines: DataFrame, cls: "type[DataclassInstance]") -> DataFrame:
    """Parse lines of JSON: `value` and `_file` in; the record's columns, `_file` and `_is_record` out."""
    schema = StructType([*struct_type(cls).fields, StructField(_CORRUPT, StringType())])
    required = [
        sf.col(column.name).isNotNull()
        for column in columns(cls)
        if not column.nullable and column.default is None
    ]
    is_record = sf.col(_CORRUPT).isNull()
    for is_there in required:
        is_record &= is_there
    return (
        lines.select(
            sf.from_json("value", schema, {"columnNameOfCorruptRecord": _CORRUPT}).alias("record"), _FILE
        )
        .select("record.*", _FILE)
        .select(*column_names(cls), _FILE, is_record.alias(_IS_RECORD))
    )


def _refuse_corrupt(parsed: DataFrame) -> None:
    counts = parsed.where(~sf.col(_IS_RECORD)).groupBy(_FILE).count().collect()
    corrupt = {_path_of(row[_FILE]): int(row["count"]) for row in counts}
    complaints = [
        f"{path}: {count} corrupt"
        for path, count in sorted(corrupt.items())
        if count > int(ends_within_a_line(path))
    ]
    if complaints:
        raise TraceError(f"lines that are no records; {'; '.join(complaints)}")


def hadoop_path(path: Path) -> str:
    """Return the URI of a local file as Hadoop needs it: with a scheme, but not percent-encoded."""
    return f"file://{path.resolve()}"


def _path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))
