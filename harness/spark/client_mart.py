"""What client scripts came to, beside scenarios in the tables of a trend; native expressions only.

There a target with a library stands where a target does, called as the gate, JUnit and Allure call it
(`kafka-3.9.2, kafka-python`), and a script where a scenario does. So one table tells of both.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.spark.trend_mart import DRIVEN_COLUMNS

RESULT_COLUMNS: Final = (
    "run_id",
    "target",
    "scenario_id",
    "outcome",
    "expectation",
    "signature",
    "first_step",
    "difference_count",
    "duration_ms",
    "confirmation",
    "shown_count",
    "attempt_count",
)
"""What a trend asks of a result."""
_COUNTS: Final = ("mismatch_count", "difference_count", "violation_count", "replay_count")
_CIRCUMSTANCES: Final = (
    "scripts_digest",
    "harness_version",
    "harness_commit",
    "library_version",
    "spec",
    "profile",
    "implementation",
    "broker_config",
)


def client_results(verdicts: DataFrame) -> DataFrame:
    """Lay client scripts out as scenarios are. Grain: run, target with library, script."""
    found = sum((sf.col(name) for name in _COUNTS[1:]), start=sf.col(_COUNTS[0]))
    return verdicts.withColumns(
        {
            "target": _with_library(),
            "scenario_id": sf.col("script_id"),
            "difference_count": found,
        }
    ).select(*RESULT_COLUMNS)


def driven_clients(verdicts: DataFrame, runs: DataFrame) -> DataFrame:
    """Tell in which circumstances libraries were let run. Grain: run, target with library."""
    first = [sf.any_value(name).alias(name) for name in _CIRCUMSTANCES if not name.startswith("harness_")]
    return (
        verdicts.withColumn("target", _with_library())
        .groupBy("run_id", "target")
        .agg(*first)
        .join(
            runs.select("run_id", "started_at", "harness_version", "harness_commit"),
            on="run_id",
            how="inner",
        )
        .withColumns(
            {
                "measure": sf.lit(None).cast("string"),
                "circumstances": sf.to_json(sf.struct(*_CIRCUMSTANCES)),
            }
        )
        .select(*DRIVEN_COLUMNS)
    )


def _with_library() -> Column:
    return sf.concat_ws(", ", "target", "library")
