"""The tables of a report, from the records of runs; pure functions of DataFrames, native expressions only.

A mart's last `select` is its contract: the columns of its row class, in their order. Marts compute no
verdicts; they count the checker's results and put them side by side.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.diff.model import Attempt, Judgement
from harness.diff.target_pattern import REFERENCE
from harness.spark.arrow_schemas import column_names
from harness.spark.rows import (
    AlignedStep,
    ClusteredDifference,
    DifferenceCount,
    ErrorCodeCount,
    LatencyQuantile,
    SignatureCluster,
    TargetSummary,
)
from harness.trace.events import EventKind
from harness.verdict import Confirmation, Expectation, Outcome

_TARGET: Final = ["run_id", "target"]
_ALIKE: Final = ["api", "api_version", "difference_class", "field", "expected", "actual"]
_REPORTED_ONCE: Final = ["actor", "api", "api_version"]
_REPORTED_TWICE: Final = [
    "sequence",
    "kind",
    "at_ms",
    "elapsed_ms",
    "raw",
    "fields",
    "canonical",
    "digest",
    "note",
]
_CLUSTER_DIGITS: Final = 16
QUANTILES: Final = [0.5, 0.95, 0.99]
_CODE_WITHIN: Final = r'"error_code":"(\w+)"'
"""Matches error codes in canonical JSON; inside a JSON string the quotation marks would be escaped."""


def verdict_matrix(judgements: DataFrame) -> DataFrame:
    """Return the judgements. Grain: run, target, scenario. Columns: `Judgement`."""
    return judgements.select(*column_names(Judgement))


def target_summary(
    headers: DataFrame, footers: DataFrame, judgements: DataFrame, events: DataFrame
) -> DataFrame:
    """Summarise each target and its results. Grain: run, target. Columns: `TargetSummary`.

    Of several brokers, the first, which has the plain configuration, represents the target.
    """
    judged = judgements.groupBy(*_TARGET).agg(
        sf.count("*").alias("scenario_count"),
        *[_count_of("outcome", outcome) for outcome in Outcome],
        *[_count_of("expectation", expectation) for expectation in Expectation],
        flaky_count().alias("flaky"),
    )
    exchanged = events.groupBy(*_TARGET).agg(
        sf.count_if(sf.col("kind") == EventKind.REQUEST.value).alias("request_count"),
        sf.count_if(sf.col("kind") == EventKind.RESPONSE.value).alias("response_count"),
    )
    drive_ms = footers.select("run_id", sf.from_json("drive_ms", "map<string,double>").alias("drive_ms"))
    counts = [name for name in (*judged.columns, *exchanged.columns) if name not in _TARGET]
    return (
        headers.where(sf.col("broker_ordinal") == 0)
        .join(drive_ms, on="run_id", how="left")
        .withColumn("drive_ms", sf.try_element_at("drive_ms", sf.col("target")))
        .join(judged, on=_TARGET, how="left")
        .join(exchanged, on=_TARGET, how="left")
        .na.fill(0, subset=counts)
        .select(*column_names(TargetSummary))
    )


def _count_of(column: str, value: Outcome | Expectation) -> Column:
    return sf.count_if(sf.col(column) == value.value).alias(value.name.lower())


def flaky_count() -> Column:
    """The number of unexpected results that did not occur again."""
    return sf.count_if(is_flaky())


def outcome_among(outcomes: Iterable[Outcome], *, of: str = "outcome") -> Column:
    """Whether a column's outcome is one of these."""
    return sf.col(of).isin([outcome.value for outcome in outcomes])


def is_reference(name: str) -> Column:
    """Whether a column names the in-process reference, as `harness.diff.target_pattern` defines it."""
    return sf.col(name).rlike(f"^(?:{REFERENCE})$")


def is_flaky() -> Column:
    """Whether a result is unexpected and did not occur again."""
    is_unexpected = sf.col("expectation") == Expectation.UNEXPECTED.value
    return is_unexpected & (sf.col("confirmation") == Confirmation.FLAKY.value)


def attempts(of: DataFrame) -> DataFrame:
    """Return the attempts. Grain: run, target, scenario, attempt. Columns: `Attempt`."""
    return of.select(*column_names(Attempt))


def aligned_steps(alignments: DataFrame, events: DataFrame, first_events: DataFrame) -> DataFrame:
    """Put a target's events beside its oracle's. Grain and columns: `AlignedStep`.

    A row whose event was not recorded is left out: in a run that was cut short, the checker assumes one.

    Args:
        alignments: which events correspond, as found by the checker.
        events: the events of the attempts that results come from.
        first_events: the events of first attempts; the oracles' are what results were compared with.
    """
    targets, oracles = _side(events, "target"), _side(first_events, "oracle")
    return (
        alignments.join(targets, on=["run_id", "target", "scenario_id", "target_sequence"], how="left")
        .join(oracles, on=["run_id", "oracle", "scenario_id", "oracle_sequence"], how="left")
        .where(sf.col("target_kind").isNotNull() | sf.col("oracle_kind").isNotNull())
        .withColumns({name: sf.coalesce(f"target_{name}", f"oracle_{name}") for name in _REPORTED_ONCE})
        .withColumns({f"{side}_sequence": _on_record(side) for side in ("target", "oracle")})
        .select(*column_names(AlignedStep))
    )


def _side(events: DataFrame, side: str) -> DataFrame:
    """Rename each column for its side. Grain: as in the input."""
    reported = [sf.col(name).alias(f"{side}_{name}") for name in (*_REPORTED_ONCE, *_REPORTED_TWICE)]
    return events.select("run_id", sf.col("target").alias(side), "scenario_id", *reported)


def _on_record(side: str) -> Column:
    return sf.when(sf.col(f"{side}_kind").isNotNull(), sf.col(f"{side}_sequence"))


def clustered_differences(differences: DataFrame) -> DataFrame:
    """Add its cluster to each difference. Grain and columns: `ClusteredDifference`."""
    alike = sf.to_json(sf.struct(*_ALIKE))
    return differences.withColumn("cluster", sf.substring(sf.sha2(alike, 256), 1, _CLUSTER_DIGITS)).select(
        *column_names(ClusteredDifference)
    )


def differences_by_api_and_class(differences: DataFrame) -> DataFrame:
    """Count differences. Grain: run, target, API, class. Columns: `DifferenceCount`."""
    return (
        differences.groupBy(*_TARGET, "api", "difference_class")
        .agg(
            sf.count("*").alias("difference_count"),
            sf.count_distinct("scenario_id").alias("scenario_count"),
            sf.count_if(~sf.col("is_consequence")).alias("finding_count"),
        )
        .select(*column_names(DifferenceCount))
    )


def signature_clusters(clustered: DataFrame, runs: DataFrame) -> DataFrame:
    """Group equal differences of all runs. Grain: cluster. Columns: `SignatureCluster`."""
    age = sf.struct("started_at", "run_id")
    return (
        clustered.join(runs.select("run_id", "started_at"), on="run_id", how="inner")
        .groupBy("cluster", *_ALIKE)
        .agg(
            sf.array_sort(sf.collect_set("target")).alias("targets"),
            sf.array_sort(sf.collect_set("scenario_id")).alias("scenario_ids"),
            sf.array_sort(sf.collect_set("run_id")).alias("run_ids"),
            sf.count_if(~sf.col("is_consequence")).alias("finding_count"),
            sf.min_by("run_id", age).alias("first_run_id"),
            sf.max_by("run_id", age).alias("last_run_id"),
        )
        .select(*column_names(SignatureCluster))
    )


def latency_quantiles(events: DataFrame) -> DataFrame:
    """Compute quantiles of answer times. Grain: run, target, API, version. Columns: `LatencyQuantile`."""
    found = quantiles_of(events, _TARGET, sf.percentile("elapsed_ms", QUANTILES))
    return found.select(*column_names(LatencyQuantile))


def quantiles_of(events: DataFrame, of: Sequence[str], quantiles: Column) -> DataFrame:
    """Compute quantiles of answer times. Grain: the columns in `of`, API, version.

    Answers to polls are events of another kind and are not counted; nor are answers whose time is unknown.
    """
    return (
        events.where((sf.col("kind") == EventKind.RESPONSE.value) & sf.col("elapsed_ms").isNotNull())
        .groupBy(*of, "api", "api_version")
        .agg(
            sf.count("*").alias("response_count"),
            quantiles.alias("quantiles"),
            sf.max("elapsed_ms").alias("max_ms"),
        )
        .withColumns(
            {name: sf.col("quantiles")[at] for at, name in enumerate(("p50_ms", "p95_ms", "p99_ms"))}
        )
    )


def error_codes(events: DataFrame) -> DataFrame:
    """Count error codes. Grain: run, target, API, version, code. Columns: `ErrorCodeCount`.

    A response without a top-level code, such as OffsetCommit's, counts once for each distinct code within it.
    """
    own = sf.get_json_object("canonical", "$.error_code")
    within = sf.array_distinct(sf.regexp_extract_all("canonical", sf.lit(_CODE_WITHIN), 1))
    return (
        events.where(sf.col("kind") == EventKind.RESPONSE.value)
        .withColumn("error_code", sf.explode(sf.when(own.isNotNull(), sf.array(own)).otherwise(within)))
        .groupBy(*_TARGET, "api", "api_version", "error_code")
        .agg(sf.count("*").alias("response_count"))
        .select(*column_names(ErrorCodeCount))
    )
