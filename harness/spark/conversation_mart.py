"""What conversations say, digests first; pure functions of DataFrames, native expressions only.

Whole conversations are compared by their digest. For first differences answers are looked into only where the
two digests differ; where all answers count, once for each different pair, however often it was run.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.trend_rows import AnswerCoverage, ErrorConfusion

_PAIR: Final = ["conversation", "oracle_conversation"]
_PLACE: Final = ["step", "occurrence", "actor", "connection"]
_REPORTED: Final = ["kind", "api", "api_version", "error_codes", "digest"]
_SIDES: Final = ("target", "oracle")


def compared_pairs(traces: DataFrame) -> DataFrame:
    """Keep the conversations that have an oracle's beside them. Grain: run, target, scenario."""
    return traces.where(sf.col("oracle_conversation").isNotNull())


def differing(pairs: DataFrame) -> DataFrame:
    """Keep pairs whose digests differ. Grain: as given."""
    return pairs.where(sf.col("conversation") != sf.col("oracle_conversation"))


def aligned_answers(pairs: DataFrame, conversations: DataFrame) -> DataFrame:
    """Lay the answers of two conversations side by side, each pair of digests once.

    Grain: pair of digests, step, occurrence, actor, connection. A side without a counterpart is null.
    """
    distinct = pairs.select(*_PAIR).distinct()
    target, oracle = (_exploded(distinct, conversations, side) for side in _SIDES)
    names = [*_PAIR, *_PLACE]
    on = reduce(and_, [sf.col(f"target_{name}").eqNullSafe(sf.col(f"oracle_side_{name}")) for name in names])
    target = target.select(
        *[sf.col(name).alias(f"target_{name}") for name in names],
        *[sf.col(f"told_{name}").alias(f"target_{name}") for name in _REPORTED],
    )
    oracle = oracle.select(
        *[sf.col(name).alias(f"oracle_side_{name}") for name in names],
        *[sf.col(f"told_{name}").alias(f"oracle_{name}") for name in _REPORTED],
    )
    return target.join(oracle, on=on, how="full").select(
        *[sf.coalesce(f"target_{name}", f"oracle_side_{name}").alias(name) for name in names],
        *[sf.coalesce(f"target_{name}", f"oracle_{name}").alias(name) for name in ("api", "api_version")],
        *[f"{side}_{name}" for side in _SIDES for name in ("kind", "error_codes", "digest")],
    )


def _exploded(pairs: DataFrame, conversations: DataFrame, side: str) -> DataFrame:
    """Give each pair the answers of one of its two. Grain: pair of digests, answer."""
    key = "conversation" if side == "target" else "oracle_conversation"
    theirs = conversations.select(sf.col("conversation").alias(key), "answers")
    return (
        pairs.join(theirs, on=key, how="inner")
        .select(*_PAIR, sf.explode("answers").alias("answer"))
        .select(
            *_PAIR,
            *[sf.col(f"answer.{name}").alias(name) for name in _PLACE],
            *[sf.col(f"answer.{name}").alias(f"told_{name}") for name in _REPORTED],
        )
    )


def first_differences(traces: DataFrame, conversations: DataFrame) -> DataFrame:
    """Find where conversations first differ. Grain and columns: `FirstDifference`.

    Only the answers of differing conversations are looked at.
    """
    return unlike_answers(differing(compared_pairs(traces)), conversations)


def unlike_answers(pairs: DataFrame, conversations: DataFrame) -> DataFrame:
    """Tell of pairs in which answer they first differ, and in how many. Grain and columns: `FirstDifference`.

    Conversations are few, so each pair is laid beside them where it stands: nothing is shuffled, and since
    both sides are joined to the same columns, Spark reads and spreads them once.
    """
    return pairs.sparkSession.sql(_UNLIKE_ANSWERS, pairs=pairs, conversations=conversations)


def _struct(names: Sequence[str]) -> str:
    """Write the struct of some fields of `answer` in SQL."""
    fields = [f"'{name}', answer.{name}" for name in names]
    return f"named_struct({', '.join(fields)})"


def _only(side: str, other: str) -> str:
    """Write in SQL: the places of answers that one of two conversations has and the other has not so."""
    reported = _struct((*_PLACE, "kind", "digest"))
    here, there = (f"transform({one}, answer -> {reported})" for one in (side, other))
    return f"transform(array_except({here}, {there}), answer -> {_struct(_PLACE)})"


def _at_first(side: str) -> str:
    """Write in SQL: the answer that a conversation has at the first place; null where it has none there."""
    return f"get(filter({side}, answer -> {_struct(_PLACE)} <=> first), 0)"


_UNLIKE_ANSWERS: Final = f"""
WITH laid AS (
    SELECT pair.*, ours.answers AS ours, theirs.answers AS theirs
    FROM {{pairs}} AS pair
    JOIN {{conversations}} AS ours ON pair.conversation = ours.conversation
    JOIN {{conversations}} AS theirs ON pair.oracle_conversation = theirs.conversation
), compared AS (
    SELECT *, array_union({_only("ours", "theirs")}, {_only("theirs", "ours")}) AS places FROM laid
), placed AS (
    SELECT *, array_min(places) AS first FROM compared
), answered AS (
    SELECT *, {_at_first("ours")} AS target_answer, {_at_first("theirs")} AS oracle_answer FROM placed
)
SELECT run_id, target, oracle, scenario_id, first.step, first.occurrence, first.actor,
    coalesce(target_answer.api, oracle_answer.api) AS api,
    coalesce(target_answer.api_version, oracle_answer.api_version) AS api_version,
    oracle_answer.kind AS oracle_kind,
    target_answer.kind AS target_kind,
    coalesce(oracle_answer.error_codes, array()) AS oracle_error_codes,
    coalesce(target_answer.error_codes, array()) AS target_error_codes,
    CAST(size(places) AS bigint) AS differing_count,
    outcome, signature
FROM answered
"""  # noqa: S608 - put together of this module's own names
"""Written in SQL: for each call that builds a query, Python waits for the JVM, and this would take 1,800."""


def error_confusion(traces: DataFrame, conversations: DataFrame) -> DataFrame:
    """Count which error codes stood where which were due. Grain and columns: `ErrorConfusion`."""
    compared = compared_pairs(traces).groupBy("target", *_PAIR).agg(sf.count("*").alias("pair_count"))
    codes = {f"{side}_error_codes": _joined(side) for side in _SIDES}
    keys = ["target", "api", "api_version", "oracle_error_codes", "target_error_codes"]
    return (
        compared.join(aligned_answers(compared, conversations), on=_PAIR, how="inner")
        .withColumns(codes)
        .groupBy(*keys)
        .agg(sf.sum("pair_count").alias("answer_count"))
        .withColumn("is_equal", sf.col("oracle_error_codes") == sf.col("target_error_codes"))
        .select(*column_names(ErrorConfusion))
    )


def answer_coverage(traces: DataFrame, conversations: DataFrame, judgements: DataFrame) -> DataFrame:
    """Count answers by the clauses that scenarios name. Grain and columns: `AnswerCoverage`."""
    clauses = judgements.select("scenario_id", sf.explode("clauses").alias("clause")).distinct()
    by_scenario = ["scenario_id", "target", "api", "api_version", "error_code"]
    answered = (
        traces.groupBy("scenario_id", "target", "conversation")
        .agg(sf.count("*").alias("pair_count"))
        .join(conversations, on="conversation", how="inner")
        .select("scenario_id", "target", "pair_count", sf.explode("answers").alias("answer"))
        .where(sf.col("answer.api").isNotNull())
        .select(
            "scenario_id",
            "target",
            "pair_count",
            "answer.api",
            "answer.api_version",
            sf.explode(_or_unnamed("answer.error_codes")).alias("error_code"),
        )
        .groupBy(*by_scenario)
        .agg(sf.sum("pair_count").alias("pair_count"))
    )
    return (
        answered.join(clauses, on="scenario_id", how="inner")
        .groupBy("clause", "api", "api_version", "error_code")
        .agg(
            sf.count_distinct("scenario_id").alias("scenario_count"),
            sf.count_distinct("target").alias("target_count"),
            sf.sum("pair_count").alias("answer_count"),
        )
        .select(*column_names(AnswerCoverage))
    )


def _codes(name: str) -> Column:
    return sf.coalesce(name, sf.array().cast("array<string>"))


def _or_unnamed(name: str) -> Column:
    return sf.when(sf.size(name) > 0, sf.col(name)).otherwise(sf.array(sf.lit("")))


def _joined(side: str) -> Column:
    codes = sf.array_join(_codes(f"{side}_error_codes"), ",")
    return sf.when(sf.col(f"{side}_kind") == "response", codes).otherwise(
        sf.coalesce(f"{side}_kind", sf.lit("nothing"))
    )
