"""The trend of many runs; pure functions of DataFrames, native expressions only.

Runs are ordered by start time. A target's runs are those that included it; "the previous run" always means
the previous run *of that target*. No verdict is computed here; the checker's verdicts are put in sequence.

Scenarios and client scripts are one kind of result, with the names that gate, JUnit and Allure
use: for client scripts, the target's name includes the library (`kafka-3.9.2, kafka-python`).

Whole conversations are compared by digest. First differences examine answers only where two digests differ.
Answers of two conversations correspond if they have the same number, which the checker's alignment gave them.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from harness.diff.model import GOOD
from harness.diff.target_pattern import REFERENCE
from harness.spark.archive import column_names
from harness.spark.rows import (
    CauseAge,
    ClauseCoverage,
    ErrorConfusion,
    FirstChangedVersion,
    FlakeRate,
    LatencyQuantile,
    RunDelta,
    RunTotal,
    SlowScenario,
)
from harness.trace.clause import DECIDING, ClauseStatus
from harness.trace.events import EventKind
from harness.verdict import COMPARABLE, RIGHT, Confirmation, Delta, Expectation, Outcome

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


_RESULT: Final = ["target", "scenario_id"]
_REPEATED: Final = ["expectation", "confirmation", "shown_count", "attempt_count"]
_OF_TARGET: Final = ["spec", "profile", "implementation", "broker_config", "config_digest"]
_OF_RUN: Final = ["harness_version", "harness_commit"]
_SLOWEST: Final = 50
_VERSION: Final = r"\d+(?:\.\d+)+"
_CAUSE: Final = ["cause", "api", "difference_class"]
"""A cause has one API and one class."""
_ACCURACY: Final = 1000
"""The accuracy of approximate quantiles: their error in rank is 1 divided by this."""
_TARGET_CLAUSE: Final = ["run_id", "target", "clause"]
_COUNTED: Final = {
    ClauseStatus.AGREED: "agreed_count",
    ClauseStatus.DIFFERS: "differing_count",
    ClauseStatus.UNCLEAR: "unclear_count",
    ClauseStatus.NOT_APPLICABLE: "not_applicable_count",
}
"""The columns that count scenarios, by the status that each decides."""


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


def run_totals(runs: DataFrame, footers: DataFrame, results: DataFrame) -> DataFrame:
    """Count each target's outcomes in each run. Grain and columns: `RunTotal`."""
    return (
        results.groupBy("run_id", "target")
        .agg(
            sf.count("*").alias("scenario_count"),
            *[_count_of("outcome", outcome) for outcome in Outcome],
            *[_count_of("expectation", expectation) for expectation in Expectation],
            flaky_count().alias("flaky"),
            sf.sum("duration_ms").alias("duration_ms"),
        )
        .join(runs, on="run_id", how="inner")
        .join(footers.select("run_id", "ended"), on="run_id", how="left")
        .select(*column_names(RunTotal))
    )


def _count_of(column: str, value: Outcome | Expectation) -> Column:
    return sf.count_if(sf.col(column) == value.value).alias(value.name.lower())


def driven(runs: DataFrame, headers: DataFrame) -> DataFrame:
    """List the circumstances in which targets, and libraries on them, were run. Grain: run, target, measure.

    Runs that compare a target with another target form a series of their own, by `measure`: they say nothing
    about the target's differences from the reference.
    """
    measure = sf.when(~is_reference("oracle"), sf.col("oracle")).alias("measure")
    # Client scripts have a digest of their own, whatever scenarios ran beside them.
    scripts = sf.when(sf.col("broker_ordinal") == 0, sf.col("scenario_digest")).alias("scripts")
    targets = headers.where(sf.col("broker_ordinal") <= 0).select(
        "run_id", "target", "broker_ordinal", measure, *_OF_TARGET
    )
    return targets.join(runs, on="run_id", how="inner").select(
        "run_id",
        "target",
        "measure",
        "started_at",
        sf.to_json(sf.struct(scripts, *_OF_RUN, *_OF_TARGET)).alias("circumstances"),
    )


def target_runs(driven: DataFrame) -> DataFrame:
    """Put each target's runs in sequence, with the previous and next run. Grain: run, target.

    `is_like_prior` and `is_like_next` say whether that run had the same scripts, harness and target.

    Args:
        driven: the result of the function `driven`.
    """
    in_time = Window.partitionBy("target", "measure").orderBy("started_at", "run_id")
    return driven.select(
        "run_id",
        "target",
        "measure",
        sf.row_number().over(in_time).alias("ordinal"),
        *[
            column
            for neighbour, place in (("prior", sf.lag), ("next", sf.lead))
            for column in (
                place("run_id").over(in_time).alias(f"{neighbour}_run_id"),
                sf.coalesce(
                    place("circumstances").over(in_time) == sf.col("circumstances"), sf.expr("false")
                ).alias(f"is_like_{neighbour}"),
            )
        ],
    )


def successions(driven: DataFrame, results: DataFrame) -> DataFrame:
    """Put each result beside that of the target's previous run. Grain: run, target, scenario.

    `prior` is null if the previous run did not run the scenario; `is_last` is true if the next run does not.
    """
    in_time = Window.partitionBy(*_RESULT, "measure").orderBy("ordinal")
    seen = sf.struct("outcome", "signature", is_flaky().alias("is_flaky"))
    return (
        results.select("run_id", *_RESULT, "outcome", "signature", *_REPEATED)
        .join(sf.broadcast(target_runs(driven)), on=["run_id", "target"], how="inner")
        .withColumns(
            {
                "prior": sf.when(
                    sf.lag("ordinal").over(in_time) == sf.col("ordinal") - 1, sf.lag(seen).over(in_time)
                ),
                "is_last": ~sf.coalesce(
                    sf.lead("ordinal").over(in_time) == sf.col("ordinal") + 1, sf.expr("false")
                ),
            }
        )
    )


def run_deltas(of: DataFrame) -> DataFrame:
    """Find the changes from one of a target's runs to the next. Grain and columns: `RunDelta`.

    Args:
        of: the result of `successions`.
    """
    changed = (
        of.where(sf.col("prior_run_id").isNotNull())
        .withColumn("delta", _delta())
        .where(sf.col("delta") != Delta.SAME.value)
        .withColumns(
            {
                "prior_outcome": sf.col("prior.outcome"),
                "prior_signature": sf.col("prior.signature"),
                "is_flaky": sf.col("is_like_prior") & sf.col("prior").isNotNull(),
            }
        )
        .select(*column_names(RunDelta))
    )
    removed = of.where(sf.col("is_last") & sf.col("next_run_id").isNotNull()).select(
        sf.col("next_run_id").alias("run_id"),
        sf.col("run_id").alias("prior_run_id"),
        *_RESULT,
        sf.lit(Delta.REMOVED.value).alias("delta"),
        sf.expr("false").alias("is_flaky"),
        sf.lit(None).cast("string").alias("outcome"),
        sf.col("outcome").alias("prior_outcome"),
        sf.lit(None).cast("string").alias("signature"),
        sf.col("signature").alias("prior_signature"),
    )
    return changed.unionByName(removed)


def _delta() -> Column:
    """The delta of a result, as `harness.diff.model.delta` defines it."""
    is_good, was_good = outcome_among(GOOD), outcome_among(GOOD, of="prior.outcome")
    return (
        sf.when(sf.col("prior").isNull(), Delta.ADDED.value)
        .when(is_good & ~was_good, Delta.NEWLY_CONFORMING.value)
        .when(~is_good & (was_good | (sf.col("prior.is_flaky") & ~is_flaky())), Delta.NEWLY_DIVERGING.value)
        .when(_is_as_before(), Delta.SAME.value)
        .otherwise(Delta.CHANGED_SIGNATURE.value)
    )


def _is_as_before() -> Column:
    """Whether a result counts as the same, as `harness.verdict.is_as_before` defines it."""
    is_equal = (sf.col("outcome") == sf.col("prior.outcome")) & sf.col("signature").eqNullSafe(
        sf.col("prior.signature")
    )
    return is_equal | (outcome_among(RIGHT) & outcome_among(RIGHT, of="prior.outcome"))


def flake_rates(of: DataFrame) -> DataFrame:
    """Compute how often results change by themselves. Grain and columns: `FlakeRate`.

    Args:
        of: the result of `successions`.
    """
    is_pair = sf.col("is_like_prior") & sf.col("prior").isNotNull()
    is_flip = is_pair & ~_is_as_before()
    return (
        of.groupBy(*_RESULT)
        .agg(
            sf.count("*").alias("run_count"),
            sf.count_if(~outcome_among(GOOD)).alias("failing_count"),
            sf.count_if(is_pair).alias("pair_count"),
            sf.count_if(is_flip).alias("flip_count"),
            sf.max_by(sf.when(is_flip, sf.col("run_id")), sf.when(is_flip, sf.col("ordinal"))).alias(
                "last_flip_run_id"
            ),
            flaky_count().alias("flaky_count"),
            *[
                sf.coalesce(
                    sf.sum(sf.when(sf.col("attempt_count") > 1, sf.col(name))), sf.lit(0).cast("long")
                ).alias(name)
                for name in ("shown_count", "attempt_count")
            ],
        )
        .withColumn("flake_rate", sf.try_divide("flip_count", "pair_count"))
        .select(*column_names(FlakeRate))
    )


def cause_ages(differences: DataFrame, runs: DataFrame) -> DataFrame:
    """Find since when and how widely causes show. Grain and columns: `CauseAge`.

    Those that no client should notice are left out: their texts may be others in each run.
    """
    in_time = Window.partitionBy(sf.lit("all")).orderBy("started_at", "run_id")
    ordered = runs.select(
        "run_id",
        "started_at",
        sf.row_number().over(in_time).cast("long").alias("run_ordinal"),
        sf.count("*").over(Window.partitionBy()).alias("newest"),
    )
    return (
        differences.where(~sf.col("is_lenient"))
        .join(sf.broadcast(ordered), on="run_id", how="inner")
        .groupBy(*_CAUSE)
        .agg(
            sf.min_by("run_id", "run_ordinal").alias("first_run_id"),
            sf.min_by("started_at", "run_ordinal").alias("first_seen_at"),
            sf.max_by("run_id", "run_ordinal").alias("last_run_id"),
            sf.max_by("started_at", "run_ordinal").alias("last_seen_at"),
            sf.count_distinct("run_id").alias("run_count"),
            (sf.max("newest") - sf.min("run_ordinal") + 1).alias("age"),
            (sf.max("newest") - sf.max("run_ordinal")).alias("runs_since"),
            sf.array_sort(sf.collect_set("target")).alias("targets"),
            sf.array_sort(sf.collect_set("scenario_id")).alias("scenario_ids"),
            sf.count("*").alias("difference_count"),
            sf.count_if(~sf.col("is_consequence")).alias("finding_count"),
        )
        .withColumns(
            {
                "target_count": sf.size("targets").cast("long"),
                "scenario_count": sf.size("scenario_ids").cast("long"),
            }
        )
        .select(*column_names(CauseAge))
    )


def first_changed_versions(runs: DataFrame, headers: DataFrame, pairs: DataFrame) -> DataFrame:
    """Find the first version that behaves differently. Grain and columns: `FirstChangedVersion`.

    The oracle's conversation is compared if the target conforms to it; otherwise the target's own is.
    """
    family = sf.concat_ws("", *[sf.split("target", _VERSION, 2)[at] for at in (0, 1)])
    named = (
        headers.where((sf.col("broker_ordinal") == 0) & ~is_reference("spec"))
        .select("run_id", "target")
        .join(runs.select("run_id", "started_at"), on="run_id", how="inner")
        .select(
            "run_id",
            "target",
            "started_at",
            sf.regexp_extract("target", f"({_VERSION})", 1).alias("version"),
        )
        .where(sf.col("version") != "")
        .withColumn("family", family)
    )
    measure = sf.when(outcome_among(RIGHT), sf.col("oracle_conversation")).otherwise(sf.col("conversation"))
    newest = (
        pairs.where(outcome_among(COMPARABLE))
        .join(sf.broadcast(named), on=["run_id", "target"], how="inner")
        .groupBy("scenario_id", "family", "version", "target")
        .agg(
            sf.max_by(sf.struct("run_id", measure.alias("measure")), sf.struct("started_at", "run_id")).alias(
                "is"
            )
        )
        .withColumn("version", sf.split("version", r"\.").cast("array<int>"))
    )
    return _first_changes(newest)


def _first_changes(newest: DataFrame) -> DataFrame:
    """Find the first change in each family's versions, from the oldest."""
    by_version = Window.partitionBy("scenario_id", "family").orderBy("version", "target")
    prior = sf.lag(sf.col("is.measure")).over(by_version)
    is_change = sf.col("is_change")
    return (
        newest.withColumns(
            {
                "is_change": sf.coalesce(prior != sf.col("is.measure"), sf.expr("false")),
                "prior_target": sf.lag("target").over(by_version),
            }
        )
        .groupBy("scenario_id", "family")
        .agg(
            sf.min_by("target", "version").alias("oldest_target"),
            sf.min_by("prior_target", sf.when(is_change, sf.col("version"))).alias("last_same_target"),
            sf.min_by("target", sf.when(is_change, sf.col("version"))).alias("first_changed_target"),
            sf.min_by("is.run_id", sf.when(is_change, sf.col("version"))).alias("first_changed_run_id"),
            sf.max_by("target", "version").alias("newest_target"),
            sf.count("*").alias("target_count"),
            sf.count_if(is_change).alias("change_count"),
        )
        .where(sf.col("change_count") > 0)
        .select(*column_names(FirstChangedVersion))
    )


def slowest_scenarios(judgements: DataFrame) -> DataFrame:
    """Find each target's slowest scenarios, without client scripts. Grain and columns: `SlowScenario`."""
    slowest_first = Window.partitionBy("target").orderBy(sf.desc("median_ms"), "scenario_id")
    return (
        judgements.where(~sf.col("target").contains(", "))
        .groupBy(*_RESULT)
        .agg(
            sf.count("*").alias("run_count"),
            sf.percentile_approx("duration_ms", 0.5, _ACCURACY).alias("median_ms"),
            sf.max("duration_ms").alias("max_ms"),
            sf.max_by("run_id", "duration_ms").alias("slowest_run_id"),
        )
        .withColumn("place", sf.row_number().over(slowest_first).cast("long"))
        .where(sf.col("place") <= _SLOWEST)
        .select(*column_names(SlowScenario))
    )


def clause_coverage(clauses: DataFrame, headers: DataFrame, judgements: DataFrame) -> DataFrame:
    """Join the catalogue with each target's results. Grain: run, target, clause. Columns: `ClauseCoverage`.

    A row that no scenario of the run names is included too, once for each target.
    """
    targets = headers.where(sf.col("broker_ordinal") == 0).select("run_id", "target")
    return (
        clauses.withColumnRenamed("id", "clause")
        .join(targets, on="run_id", how="inner")
        .join(_counted(judgements), on=_TARGET_CLAUSE, how="left")
        .na.fill(0, subset=list(_COUNTED.values()))
        .withColumns(
            {
                "scenario_ids": sf.coalesce("scenario_ids", sf.array().cast("array<string>")),
                "standing": _clause_status(),
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
                sf.count_if(sf.col("outcome").isin(*deciding)).alias(_COUNTED[status])
                for status, deciding in DECIDING.items()
            ],
        )
    )


def _clause_status() -> Column:
    """The first status that applies, as `harness.report.model.coverage` decides it for one run."""
    without = sf.when(sf.col("exclusion").isNull(), ClauseStatus.NOT_EXERCISED.value).otherwise(
        ClauseStatus.EXCLUDED.value
    )
    found = [sf.when(sf.col(_COUNTED[status]) > 0, status.value) for status in DECIDING]
    return sf.coalesce(*found, without)


def latency_trend(events: DataFrame) -> DataFrame:
    """Compute quantiles of answer times. Grain and columns: `LatencyQuantile`.

    Answers to polls are events of another kind and are not counted; nor are answers whose time is unknown.
    """
    return (
        events.where((sf.col("kind") == EventKind.RESPONSE.value) & sf.col("elapsed_ms").isNotNull())
        .groupBy("target", "api", "api_version")
        .agg(
            sf.count("*").alias("response_count"),
            sf.percentile_approx("elapsed_ms", [0.5, 0.95, 0.99], _ACCURACY).alias("quantiles"),
            sf.max("elapsed_ms").alias("max_ms"),
        )
        .withColumns(
            {name: sf.col("quantiles")[at] for at, name in enumerate(("p50_ms", "p95_ms", "p99_ms"))}
        )
        .select(*column_names(LatencyQuantile))
    )
