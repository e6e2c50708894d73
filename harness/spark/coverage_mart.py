"""A run's coverage of the catalogue's rows; pure functions of DataFrames, native expressions only."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.rows import ClauseCoverage, ClauseStatus
from harness.verdict import Outcome

_TARGET_CLAUSE: Final = ["run_id", "target", "clause"]
_COUNTED: Final = {
    "agreed_count": (Outcome.CONFORMS, Outcome.LENIENT),
    "differing_count": (Outcome.DIVERGES,),
    "unclear_count": (Outcome.INDETERMINATE, Outcome.HARNESS_ERROR),
    "not_applicable_count": (Outcome.NOT_APPLICABLE,),
}
"""Every outcome occurs exactly once."""


def clause_coverage(clauses: DataFrame, headers: DataFrame, judgements: DataFrame) -> DataFrame:
    """Join the catalogue with each target's results. Grain: run, target, clause. Columns: `ClauseCoverage`.

    A row that no scenario of the run names is included too, once for each target.
    """
    targets = headers.where(sf.col("broker_ordinal") == 0).select("run_id", "target")
    return (
        clauses.withColumnRenamed("id", "clause")
        .join(targets, on="run_id", how="inner")
        .join(_counted(judgements), on=_TARGET_CLAUSE, how="left")
        .na.fill(0, subset=list(_COUNTED))
        .withColumns(
            {
                "scenario_ids": sf.coalesce("scenario_ids", sf.array().cast("array<string>")),
                "standing": _status(),
            }
        )
        .select(*column_names(ClauseCoverage))
    )


def _counted(judgements: DataFrame) -> DataFrame:
    """Count a target's outcomes by the clauses that its scenarios name. Grain: run, target, clause."""
    return (
        judgements.select("run_id", "target", "scenario_id", "outcome", sf.explode("clauses").alias("clause"))
        .groupBy(*_TARGET_CLAUSE)
        .agg(
            sf.array_sort(sf.collect_set("scenario_id")).alias("scenario_ids"),
            *[
                sf.count_if(sf.col("outcome").isin([outcome.value for outcome in outcomes])).alias(name)
                for name, outcomes in _COUNTED.items()
            ],
        )
    )


def _status() -> Column:
    """The first status that applies: a difference outweighs agreement, and agreement outweighs the rest."""
    return (
        sf.when(sf.col("differing_count") > 0, ClauseStatus.DIFFERS.value)
        .when(sf.col("agreed_count") > 0, ClauseStatus.AGREED.value)
        .when(sf.col("unclear_count") > 0, ClauseStatus.UNCLEAR.value)
        .when(sf.col("not_applicable_count") > 0, ClauseStatus.NOT_APPLICABLE.value)
        .when(sf.col("exclusion").isNull(), ClauseStatus.NOT_EXERCISED.value)
        .otherwise(ClauseStatus.EXCLUDED.value)
    )
