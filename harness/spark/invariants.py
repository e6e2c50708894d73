"""Invariants over any number of traces at once; pure functions of DataFrames, native expressions only.

`harness.invariants` holds one conversation after the other and knows more of each. Here stands what joins can
say, and where they cannot tell, nothing is broken: a static member is not followed from id to id, and what
lies on two sides of a change of coordinator is not compared. Who owns what is inside of bytes, which are
compared and not read, so that "one owner" is left to the other.
"""

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from harness.invariants.violation import AtFault, Invariant, Violation
from harness.spark.arrow_schemas import column_names
from harness.spark.group_exchanges import (
    COLUMNS,
    GROUP,
    NO_ERROR,
    PLACE,
    changes_of_coordinator,
    conversations_with_deletions,
    exchanges_of,
    fetches_of,
    given_to_leaders,
    joins_of,
    leader_syncs,
    sent_by_leaders,
    syncs_of,
    writes_of,
)
from harness.spark.master import LOCAL_MASTER
from harness.spark.schemas import struct_type
from harness.spark.session import spark_session
from harness.trace.events import Event
from harness.trace.files import RunFolder


def stored_violations(runs: Iterable[RunFolder], *, master: str = LOCAL_MASTER) -> tuple[Violation, ...]:
    """Look at the traces of stored runs, in the order of run, target and conversation.

    Raises:
        SparkError: Spark could not be started.
    """
    paths = [str(run.events(target).resolve()) for run in runs for target in run.targets()]
    if not paths:
        return ()
    with spark_session(master=master) as spark:
        events = spark.read.schema(struct_type(Event)).json(paths).select(*COLUMNS)
        found = broken_invariants(events.cache())
        rows = found.orderBy(*PLACE, "sequence", "invariant").collect()
    return tuple(Violation(**row.asDict()) for row in rows)


def broken_invariants(events: DataFrame) -> DataFrame:
    """Tell what is broken. Grain and columns: `Violation`."""
    # Each invariant looks at them several times; to read them is most of the work.
    exchanges = exchanges_of(events).cache()
    return (
        generations_that_fell(exchanges, events)
        .unionByName(not_from_the_leader(exchanges))
        .unionByName(members_forgotten(exchanges))
        .unionByName(commits_that_went_back(exchanges, events))
    )


def generations_that_fell(exchanges: DataFrame, events: DataFrame) -> DataFrame:
    """Find joins that were answered with a generation below one that was known when they were sent."""
    joins = joins_of(exchanges).select(*GROUP, "asked_at", "answered_at", "at_ms", "generation_id")
    earlier = joins.select(
        *GROUP,
        sf.col("answered_at").alias("known_at"),
        sf.col("generation_id").alias("known"),
    )
    changed = changes_of_coordinator(exchanges, events)
    fell = (
        joins.join(earlier, on=list(GROUP), how="inner")
        .where(
            (sf.col("known_at") < sf.col("asked_at"))
            & (sf.col("generation_id") < sf.col("known"))
            # A group that was removed begins with the first.
            & (sf.col("generation_id") != 1)
        )
        .join(
            changed,
            on=[
                *(sf.col(f"{name}") == changed[f"changed_{name}"] for name in PLACE),
                sf.col("changed_at").between(sf.col("known_at"), sf.col("asked_at")),
            ],
            how="left_anti",
        )
        .groupBy(*GROUP, "answered_at", "at_ms", "generation_id")
        .agg(sf.max("known").alias("known"))
    )
    detail = sf.format_string(
        "a join was answered with generation %d after %d had been known", "generation_id", "known"
    )
    return _violations(fell, Invariant.GENERATIONS_GROW, AtFault.COORDINATOR, detail)


def not_from_the_leader(exchanges: DataFrame) -> DataFrame:
    """Find members that were given something else than their leader had sent for them."""
    # A static member that came back has another id than the one that its leader was told.
    reported = given_to_leaders(exchanges).select(*GROUP, "generation_id", "member_id").distinct()
    given = (
        syncs_of(exchanges)
        .select(
            *GROUP,
            sf.col("asked.generation_id").alias("generation_id"),
            sf.col("asked.member_id").alias("member_id"),
            sf.col("answered.assignment.`$bytes`").alias("given"),
            "answered_at",
            "at_ms",
        )
        .where(sf.col("given") != "")
    )
    wrong = given.join(reported, on=[*GROUP, "generation_id", "member_id"], how="left_semi").join(
        sent_by_leaders(exchanges), on=[*GROUP, "generation_id", "member_id", "given"], how="left_anti"
    )
    detail = sf.format_string(
        "in generation %d %s was given what its leader had not sent", "generation_id", "member_id"
    )
    return _violations(wrong, Invariant.LEADER_ASSIGNS, AtFault.COORDINATOR, detail)


def members_forgotten(exchanges: DataFrame) -> DataFrame:
    """Find members whom a generation's leader was told of, and for whom it sent nothing."""
    reported = given_to_leaders(exchanges)
    assigned = sent_by_leaders(exchanges).where(sf.col("given") != "")
    synced = (
        leader_syncs(exchanges)
        .where(sf.col("answered.error_code") == NO_ERROR)
        .groupBy(*GROUP, "generation_id", "leader")
        .agg(sf.min("answered_at").alias("answered_at"), sf.min("at_ms").alias("at_ms"))
    )
    forgotten = (
        reported.join(synced, on=[*GROUP, "generation_id", "leader"], how="inner")
        .join(assigned, on=[*GROUP, "generation_id", "member_id"], how="left_anti")
        .groupBy(*GROUP, "generation_id", "answered_at", "at_ms")
        .agg(sf.array_join(sf.array_sort(sf.collect_set("member_id")), ", ").alias("members"))
    )
    detail = sf.format_string(
        "in generation %d the leader sent no assignment for %s", "generation_id", "members"
    )
    return _violations(forgotten, Invariant.ALL_ASSIGNED, AtFault.CLIENTS, detail)


def commits_that_went_back(exchanges: DataFrame, events: DataFrame) -> DataFrame:
    """Find offsets below one that was surely committed before, where nobody put them.

    Groups whose offsets somebody may have deleted, or commits within transactions, are passed over.
    """
    writes = writes_of(exchanges)
    keys = [*GROUP, "topic", "partition_index"]
    certain = writes.where(sf.col("is_certain")).select(
        *keys,
        sf.col("offset").alias("before"),
        sf.col("asked_at").alias("before_asked_at"),
        sf.col("answered_at").alias("before_at"),
    )
    fetched = fetches_of(exchanges).join(
        conversations_with_deletions(events), on=list(PLACE), how="left_anti"
    )
    latest = (
        fetched.join(certain, on=keys, how="inner")
        .where(sf.col("before_at") < sf.col("asked_at"))
        .groupBy(*keys, "asked_at", "answered_at", "at_ms", "found")
        .agg(
            sf.max_by("before", "before_at").alias("before"),
            sf.max_by("before_asked_at", "before_at").alias("before_asked_at"),
        )
        .where((sf.col("found") < sf.col("before")) & (sf.col("found") >= 0))
    )
    detail = sf.format_string(
        "%s-%d was committed at %d and found at %d, where nobody put it",
        "topic",
        "partition_index",
        "before",
        "found",
    )
    return _violations(
        _without_explanation(latest, writes, keys), Invariant.COMMITS_STAY, AtFault.COORDINATOR, detail
    )


def _without_explanation(latest: DataFrame, writes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Keep what no commit of the value that was found explains.

    Any that was not answered before the latest one was asked for may have come after it.
    """
    explaining = writes.select(
        *keys,
        sf.col("offset").alias("found"),
        sf.col("asked_at").alias("written_at"),
        sf.when(sf.col("is_certain"), sf.col("answered_at")).alias("written_until"),
    )
    return (
        latest.join(explaining, on=[*keys, "found"], how="left")
        .groupBy(*keys, "answered_at", "at_ms", "found", "before")
        .agg(
            sf.coalesce(
                sf.bool_or(
                    (sf.col("written_at") < sf.col("answered_at"))
                    & (
                        sf.col("written_until").isNull()
                        | (sf.col("written_until") >= sf.col("before_asked_at"))
                    )
                ),
                sf.lit(col=False),
            ).alias("is_explained")
        )
        .where(~sf.col("is_explained"))
    )


def _violations(found: DataFrame, invariant: Invariant, fault: AtFault, detail: Column) -> DataFrame:
    return found.select(
        sf.lit(invariant.value).alias("invariant"),
        sf.lit(fault.value).alias("party"),
        *GROUP,
        sf.col("answered_at").alias("sequence"),
        "at_ms",
        detail.alias("detail"),
    ).select(*column_names(Violation))
