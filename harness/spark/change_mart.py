"""Changes from one version of Kafka to the next; pure functions of DataFrames, native expressions only.

A scenario has changed if two targets answer it differently, except by chance. It is chance if neither answer
differs from its oracle's, and both oracles answered the same.
"""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from harness.spark.arrow_schemas import column_names
from harness.spark.mart import aligned_steps, is_reference, outcome_among
from harness.spark.rows import BehaviourChange
from harness.spark.stage import Sources
from harness.trace.events import ANSWER_KINDS
from harness.verdict import COMPARABLE, RIGHT, Expectation

_JUDGED: Final = ["target", "oracle", "outcome", "is_right"]
_PAIR: Final = [
    "run_id",
    "scenario_id",
    "to_position",
    *(f"{s}_{n}" for s in ("from", "to") for n in _JUDGED),
]
_ATTRIBUTED_BY: Final = ["run_id", "scenario_id", "from_oracle", "to_oracle"]
_PLACE: Final = ["step", "answer", "actor"]
_ALIGNED_BY: Final = ["api", "api_version"]
_REPORTED: Final = ["kind", "raw", "canonical", "digest", "measure", "has_difference"]


def behaviour_changes(of: Sources) -> DataFrame:
    """Find scenarios that neighbouring targets answer differently. Grain and columns: `BehaviourChange`."""
    pairs = neighbours(of.runs, of.headers, of.judgements)
    answers = _answers(aligned_steps(of.alignments, of.events, of.first_events), of.differences)
    first = sf.struct("step", "answer")
    reported = [
        "actor",
        *_ALIGNED_BY,
        *(f"{s}_{n}" for s in ("from", "to") for n in ("kind", "raw", "canonical")),
    ]
    return (
        _side_by_side(pairs, answers)
        .where(_has_changed())
        .groupBy(*_PAIR)
        .agg(
            sf.min("step").alias("first_step"),
            sf.count("*").alias("step_count"),
            *[sf.min_by(sf.col(name), first).alias(name) for name in reported],
        )
        .join(
            of.attributions.select(*_ATTRIBUTED_BY, "behaviours", "sources"),
            on=_ATTRIBUTED_BY,
            how="left",
        )
        .withColumns(
            {
                "ordinal": _place_among_changes(),
                "fields": _unequal_fields(),
                "is_explained": sf.col("from_is_right") & sf.col("to_is_right"),
                "behaviours": _or_none("behaviours"),
                "sources": _or_none("sources"),
            }
        )
        .select(*column_names(BehaviourChange))
    )


def neighbours(runs: DataFrame, headers: DataFrame, judgements: DataFrame) -> DataFrame:
    """Pair each target with the previous target on which the same scenario was run.

    Grain: run, scenario, target that has a predecessor. References are left out of the order.
    """
    named = runs.select("run_id", sf.posexplode("targets").alias("position", "target"))
    brokers = headers.where((sf.col("broker_ordinal") == 0) & ~is_reference("spec"))
    is_right = outcome_among(RIGHT) | (sf.col("expectation") == Expectation.EXPECTED.value)
    before = Window.partitionBy("run_id", "scenario_id").orderBy("position")
    return (
        judgements.where(outcome_among(COMPARABLE))
        .join(named, on=["run_id", "target"], how="inner")
        .join(brokers.select("run_id", "target"), on=["run_id", "target"], how="left_semi")
        .withColumn("is_right", is_right)
        .select(
            "run_id",
            "scenario_id",
            sf.col("position").cast("long").alias("to_position"),
            *[sf.col(name).alias(f"to_{name}") for name in _JUDGED],
            *[sf.lag(name).over(before).alias(f"from_{name}") for name in _JUDGED],
        )
        .where(sf.col("from_target").isNotNull())
        .select(*_PAIR)
    )


def _answers(aligned: DataFrame, differences: DataFrame) -> DataFrame:
    """Return the targets' answers, each with the oracle's digest and whether the two differ.

    Grain: run, scenario, target, step, answer, actor.
    """
    place = ["run_id", "scenario_id", "target", "step"]
    differing = differences.select(*place).distinct().withColumn("differing_step", sf.col("step"))
    return (
        aligned.where(sf.col("target_kind").isin([kind.value for kind in ANSWER_KINDS]))
        .join(differing, on=place, how="left")
        .select(
            "run_id",
            "scenario_id",
            "target",
            *_PLACE,
            *_ALIGNED_BY,
            *[sf.col(f"target_{name}").alias(name) for name in ("kind", "raw", "canonical", "digest")],
            sf.coalesce("oracle_digest", "target_digest").alias("measure"),
            sf.col("differing_step").isNotNull().alias("has_difference"),
        )
    )


def _side_by_side(pairs: DataFrame, answers: DataFrame) -> DataFrame:
    """Put the answers of neighbours side by side; if one of them has no answer, its side is null.

    Grain: run, scenario, pair of targets, step, answer, actor.
    """
    keys = [*_PAIR, *_PLACE]
    on = reduce(and_, [sf.col(f"from_side_{name}").eqNullSafe(sf.col(f"to_side_{name}")) for name in keys])
    return (
        _side(pairs, answers, "from")
        .join(_side(pairs, answers, "to"), on=on, how="full")
        .select(
            *[
                sf.coalesce(f"from_side_{name}", f"to_side_{name}").alias(name)
                for name in (*keys, *_ALIGNED_BY)
            ],
            *[f"{side}_{name}" for side in ("from", "to") for name in _REPORTED],
        )
    )


def _side(pairs: DataFrame, answers: DataFrame, side: str) -> DataFrame:
    """Join each pair with the answers of one of its two targets, with column names prefixed by the side."""
    theirs = answers.withColumnRenamed("target", f"{side}_target")
    shared = [*_PAIR, *_PLACE, *_ALIGNED_BY]
    return pairs.join(theirs, on=["run_id", "scenario_id", f"{side}_target"], how="inner").select(
        *[sf.col(name).alias(f"{side}_side_{name}") for name in shared],
        *[sf.col(name).alias(f"{side}_{name}") for name in _REPORTED],
    )


def _has_changed() -> Column:
    """Whether two answers differ other than by chance."""
    by_chance = (
        _same("kind") & _same("measure") & ~sf.col("from_has_difference") & ~sf.col("to_has_difference")
    )
    return ~(_same("kind") & _same("digest")) & ~by_chance


def _same(name: str) -> Column:
    return sf.col(f"from_{name}").eqNullSafe(sf.col(f"to_{name}"))


def _place_among_changes() -> Column:
    of_scenario = Window.partitionBy("run_id", "scenario_id").orderBy("to_position")
    return sf.row_number().over(of_scenario).cast("long") - 1


def _unequal_fields() -> Column:
    """The names of fields that differ between two answers, alphabetically; none if an answer is missing."""
    one, other = (sf.from_json(f"{side}_canonical", "map<string,string>") for side in ("from", "to"))
    names = sf.array_sort(sf.array_union(sf.map_keys(one), sf.map_keys(other)))
    unequal = sf.filter(
        names, lambda name: ~sf.try_element_at(one, name).eqNullSafe(sf.try_element_at(other, name))
    )
    return _or_none(unequal)


def _or_none(texts: Column | str) -> Column:
    """The list, or an empty list in place of null."""
    return sf.coalesce(texts, sf.array().cast("array<string>"))
