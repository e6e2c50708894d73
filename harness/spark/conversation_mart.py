"""Comparisons of conversations, by digest first; pure functions of DataFrames, native expressions only.

Whole conversations are compared by digest. First differences examine answers only where two digests differ.
Tables of all answers examine each distinct pair of conversations once, however often it was run. Answers of
two conversations correspond if they have the same number, which the checker's alignment gave them.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.trend_rows import AnswerCoverage, ErrorConfusion

_PAIR: Final = ["conversation", "oracle_conversation"]
_PLACE: Final = ["step", "occurrence", "actor", "connection"]


def compared_pairs(traces: DataFrame) -> DataFrame:
    """Select the conversations that have an oracle's to compare with. Grain: run, target, scenario."""
    return traces.where(sf.col("oracle_conversation").isNotNull())


def differing(pairs: DataFrame) -> DataFrame:
    """Select the pairs whose digests differ. Grain: as in the input."""
    return pairs.where(sf.col("conversation") != sf.col("oracle_conversation"))


def first_differences(traces: DataFrame, conversations: DataFrame) -> DataFrame:
    """Find where conversations first differ. Grain and columns: `FirstDifference`.

    Only the answers of differing conversations are examined.
    """
    return unlike_answers(differing(compared_pairs(traces)), conversations)


def unlike_answers(pairs: DataFrame, conversations: DataFrame) -> DataFrame:
    """Find each pair's first differing answer and the count of those. Grain and columns: `FirstDifference`.

    Conversations are few, so Spark broadcasts them and does not shuffle the pairs. Because both joins use the
    same columns, Spark reads and broadcasts them once.
    """
    return pairs.sparkSession.sql(_UNLIKE_ANSWERS, pairs=pairs, conversations=conversations)


def _struct(names: Sequence[str]) -> str:
    """Return SQL for a struct of some fields of `answer`."""
    fields = [f"'{name}', answer.{name}" for name in names]
    return f"named_struct({', '.join(fields)})"


def _places(side: str) -> str:
    """Return SQL for the places of a conversation's answers."""
    return f"transform({side}, answer -> {_struct(_PLACE)})"


def _only(side: str, other: str) -> str:
    """Return SQL for the places where one conversation has an answer that the other does not have."""
    reported = _struct((*_PLACE, "kind", "digest"))
    here, there = (f"transform({one}, answer -> {reported})" for one in (side, other))
    return _places(f"array_except({here}, {there})")


def _at_place(side: str) -> str:
    """Return SQL for a conversation's answer at a place; null if it has none there."""
    return f"get(filter({side}, answer -> {_struct(_PLACE)} <=> place), 0)"


def _codes_or_kind(answer: str) -> str:
    """Return SQL for the error codes of an answer, or for the kind of event that came instead."""
    codes = f"array_join({answer}.error_codes, ',')"
    return f"if({answer}.kind = 'response', {codes}, coalesce({answer}.kind, 'nothing'))"


_LAID: Final = """
    SELECT pair.*, ours.answers AS ours, theirs.answers AS theirs
    FROM {pairs} AS pair
    JOIN {conversations} AS ours ON pair.conversation = ours.conversation
    JOIN {conversations} AS theirs ON pair.oracle_conversation = theirs.conversation
"""
"""SQL for both conversations of a pair, side by side."""
_UNLIKE_ANSWERS: Final = f"""
WITH laid AS ({_LAID}), compared AS (
    SELECT *, array_union({_only("ours", "theirs")}, {_only("theirs", "ours")}) AS places FROM laid
), placed AS (
    SELECT *, array_min(places) AS place FROM compared
), answered AS (
    SELECT *, {_at_place("ours")} AS target_answer, {_at_place("theirs")} AS oracle_answer FROM placed
)
SELECT run_id, target, oracle, scenario_id, place.step, place.occurrence, place.actor,
    coalesce(target_answer.api, oracle_answer.api) AS api,
    coalesce(target_answer.api_version, oracle_answer.api_version) AS api_version,
    oracle_answer.kind AS oracle_kind,
    target_answer.kind AS target_kind,
    coalesce(oracle_answer.error_codes, array()) AS oracle_error_codes,
    coalesce(target_answer.error_codes, array()) AS target_error_codes,
    CAST(size(places) AS bigint) AS differing_count,
    outcome, signature
FROM answered
"""  # noqa: S608 - composed only of names from this module
"""In SQL because each DataFrame call waits for the JVM, and this query would take 1,800 calls."""
_ERROR_CONFUSION: Final = f"""
WITH laid AS ({_LAID}), placed AS (
    SELECT *, explode(array_union({_places("ours")}, {_places("theirs")})) AS place FROM laid
), answered AS (
    SELECT *, {_at_place("ours")} AS target_answer, {_at_place("theirs")} AS oracle_answer FROM placed
), coded AS (
    SELECT target, pair_count,
        coalesce(target_answer.api, oracle_answer.api) AS api,
        coalesce(target_answer.api_version, oracle_answer.api_version) AS api_version,
        {_codes_or_kind("oracle_answer")} AS oracle_error_codes,
        {_codes_or_kind("target_answer")} AS target_error_codes
    FROM answered
)
SELECT target, api, api_version, oracle_error_codes, target_error_codes,
    sum(pair_count) AS answer_count,
    oracle_error_codes = target_error_codes AS is_equal
FROM coded
GROUP BY target, api, api_version, oracle_error_codes, target_error_codes
"""  # noqa: S608 - as above


def error_confusion(traces: DataFrame, conversations: DataFrame) -> DataFrame:
    """Count pairs of expected and actual error codes. Grain and columns: `ErrorConfusion`."""
    pairs = compared_pairs(traces).groupBy("target", *_PAIR).agg(sf.count("*").alias("pair_count"))
    confused = traces.sparkSession.sql(_ERROR_CONFUSION, pairs=pairs, conversations=conversations)
    return confused.select(*column_names(ErrorConfusion))


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


def _or_unnamed(name: str) -> Column:
    return sf.when(sf.size(name) > 0, sf.col(name)).otherwise(sf.array(sf.lit("")))
