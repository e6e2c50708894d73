"""Answer times over many runs; pure functions of DataFrames, native expressions only."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.mart import QUANTILES, quantiles_of
from harness.spark.trend_rows import LatencyTrend, TimingMargin

_ACCURACY: Final = 1000
"""The accuracy of approximate quantiles: their error in rank is 1 divided by this."""


def latency_trend(events: DataFrame) -> DataFrame:
    """Compute quantiles of answer times. Grain and columns: `LatencyTrend`."""
    found = quantiles_of(events, ["target"], sf.percentile_approx("elapsed_ms", QUANTILES, _ACCURACY))
    return found.select(*column_names(LatencyTrend))


def timing_margins(timed_steps: DataFrame) -> DataFrame:
    """Compute how far within their bounds answers came. Grain and columns: `TimingMargin`."""
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
