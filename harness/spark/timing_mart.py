"""How long answers took over many runs; pure functions of DataFrames, native expressions only."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.trend_rows import LatencyTrend, TimingMargin
from harness.trace.events import EventKind

_ACCURACY: Final = 1000
"""Of approximate quantiles: the error in rank is one by this."""


def latency_trend(events: DataFrame) -> DataFrame:
    """Tell how long answers took. Grain and columns: `LatencyTrend`."""
    quantiles = sf.percentile_approx("elapsed_ms", [0.5, 0.95, 0.99], _ACCURACY)
    return (
        events.where((sf.col("kind") == EventKind.RESPONSE.value) & sf.col("elapsed_ms").isNotNull())
        .groupBy("target", "api", "api_version")
        .agg(
            sf.count("*").alias("response_count"),
            quantiles.alias("quantiles"),
            sf.max("elapsed_ms").alias("max_ms"),
        )
        .withColumns(
            {name: sf.col("quantiles")[at] for at, name in enumerate(("p50_ms", "p95_ms", "p99_ms"))}
        )
        .select(*column_names(LatencyTrend))
    )


def timing_margins(timed_steps: DataFrame) -> DataFrame:
    """Tell how far within their bounds answers came. Grain and columns: `TimingMargin`."""
    over = sf.col("elapsed_ms") - sf.col("limit_ms")
    margin_ms = sf.when(sf.col("bound") == "not before", over).otherwise(-over)
    narrowest = sf.when(sf.col("bound") == "not before", sf.max("limit_ms")).otherwise(sf.min("limit_ms"))
    return (
        timed_steps.withColumn("margin_ms", margin_ms)
        .groupBy("target", "scenario_id", "step", "bound")
        .agg(
            narrowest.alias("limit_ms"),
            sf.count("*").alias("answer_count"),
            sf.count_if(sf.col("margin_ms") < 0).alias("missed_count"),
            sf.min("margin_ms").alias("least_margin_ms"),
            sf.percentile_approx("margin_ms", 0.5, _ACCURACY).alias("median_margin_ms"),
        )
        .select(*column_names(TimingMargin))
    )
