"""What conversations say, digests first; pure functions of DataFrames, native expressions only.

Whole conversations are compared by their digest. For first differences answers are looked into only where the
two digests differ; where all answers count, once for each different pair, however often it was run. Which
answers stand side by side the checker has said: by its number an answer is found in both conversations.
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
    """Keep the conversations that have an oracle's beside them. Grain: run, target, scenario."""
    return traces.where(sf.col("oracle_conversation").isNotNull())


def differing(pairs: DataFrame) -> DataFrame:
    """Keep pairs whose digests differ. Grain: as given."""
    return pairs.where(sf.col("conversation") != sf.col("oracle_conversation"))


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


def _places(side: str) -> str:
    """Write in SQL: the places of a conversation's answers."""
    return f"transform({side}, answer -> {_struct(_PLACE)})"


def _only(side: str, other: str) -> str:
    """Write in SQL: the places of answers that one of two conversations has and the other has not so."""
    reported = _struct((*_PLACE, "kind", "digest"))
    here, there = (f"transform({one}, answer -> {reported})" for one in (side, other))
    return _places(f"array_except({here}, {there})")


def _at_place(side: str) -> str:
    """Write in SQL: the answer that a conversation has at a place; null where it has none there."""
    return f"get(filter({side}, answer -> {_struct(_PLACE)} <=> place), 0)"


def _codes_or_kind(answer: str) -> str:
    """Write in SQL: the error codes of an answer, or what there was in place of an answer."""
    codes = f"array_join({answer}.error_codes, ',')"
    return f"if({answer}.kind = 'response', {codes}, coalesce({answer}.kind, 'nothing'))"


_LAID: Final = """
    SELECT pair.*, ours.answers AS ours, theirs.answers AS theirs
    FROM {pairs} AS pair
    JOIN {conversations} AS ours ON pair.conversation = ours.conversation
    JOIN {conversations} AS theirs ON pair.oracle_conversation = theirs.conversation
"""
"""Written in SQL: both conversations of a pair, laid side by side."""
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
"""  # noqa: S608 - put together of this module's own names
"""Written in SQL: for each call that builds a query, Python waits for the JVM, and this would take 1,800."""
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
    """Count which error codes stood where which were due. Grain and columns: `ErrorConfusion`."""
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
