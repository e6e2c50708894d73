"""Exchanges of groups, as invariants look at them over many traces; native expressions only."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from harness.invariants.commits import UNDECIDED
from harness.invariants.group import COORDINATOR_CHANGED
from harness.trace.events import EventKind

PLACE: Final = ("run_id", "target", "scenario_id")
GROUP: Final = (*PLACE, "group_id")
NO_ERROR: Final = "NONE"
_BYTES: Final = "STRUCT<`$bytes`: STRING>"
_PARTITIONS: Final = "ARRAY<STRUCT<partition_index: INT, committed_offset: BIGINT, error_code: STRING>>"
_TOPICS: Final = f"ARRAY<STRUCT<name: STRING, topic_id: STRING, partitions: {_PARTITIONS}>>"
_FIELDS: Final = (
    "group_id STRING, member_id STRING, group_instance_id STRING, generation_id INT, error_code STRING, "
    f"leader STRING, skip_assignment BOOLEAN, members ARRAY<STRUCT<member_id: STRING>>, assignment {_BYTES}, "
    f"assignments ARRAY<STRUCT<member_id: STRING, assignment: {_BYTES}>>, topics {_TOPICS}, "
    f"groups ARRAY<STRUCT<group_id: STRING, error_code: STRING, topics: {_TOPICS}>>"
)
"""Of every message that counts, what counts."""
_APIS: Final = ("JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "OffsetDelete", "TxnOffsetCommit")
_DELETIONS: Final = ("OffsetDelete", "DeleteGroups", "DeleteTopics", "TxnOffsetCommit")


COLUMNS: Final = (
    *PLACE,
    *("sequence", "kind", "actor", "connection", "api", "correlation_id", "at_ms", "fields"),
)
"""Of events, the columns that are looked at."""


def exchanges_of(events: DataFrame) -> DataFrame:
    """Pair requests with their answers. Grain: request; `answered_at` is null without an answer."""
    conversation = (*PLACE, "actor", "connection", "correlation_id")
    turns = Window.partitionBy(*conversation).orderBy("sequence")
    chosen = events.where(sf.col("api").isin(*_APIS) & sf.col("fields").isNotNull()).withColumn(
        "read", sf.from_json("fields", _FIELDS)
    )
    asked = (
        chosen.where(sf.col("kind") == EventKind.REQUEST.value)
        .withColumn("turn", sf.row_number().over(turns))
        .select(
            *conversation, "turn", "api", sf.col("sequence").alias("asked_at"), sf.col("read").alias("asked")
        )
    )
    answered = (
        chosen.where(sf.col("kind").isin(EventKind.RESPONSE.value, EventKind.POLL.value))
        .withColumn("turn", sf.row_number().over(turns))
        .select(
            *conversation,
            "turn",
            sf.col("sequence").alias("answered_at"),
            "at_ms",
            sf.col("read").alias("answered"),
        )
    )
    return asked.join(answered, on=[*conversation, "turn"], how="left").withColumn(
        "group_id", sf.col("asked.group_id")
    )


def joins_of(exchanges: DataFrame) -> DataFrame:
    """JoinGroup exchanges that went well. Grain: exchange."""
    return exchanges.where(
        (sf.col("api") == "JoinGroup") & (sf.col("answered.error_code") == NO_ERROR)
    ).withColumn("generation_id", sf.col("answered.generation_id"))


def syncs_of(exchanges: DataFrame) -> DataFrame:
    """SyncGroup exchanges that went well. Grain: exchange."""
    return exchanges.where((sf.col("api") == "SyncGroup") & (sf.col("answered.error_code") == NO_ERROR))


def given_to_leaders(exchanges: DataFrame) -> DataFrame:
    """Whom leaders were told of, where they were heard themselves. Grain: generation, leader, member."""
    return (
        joins_of(exchanges)
        .where(sf.col("answered.leader") == sf.col("answered.member_id"))
        .where(~sf.coalesce(sf.col("answered.skip_assignment"), sf.lit(col=False)))
        .select(
            *GROUP,
            "generation_id",
            sf.col("answered.leader").alias("leader"),
            sf.explode("answered.members.member_id").alias("member_id"),
        )
        .distinct()
    )


def leader_syncs(exchanges: DataFrame) -> DataFrame:
    """What leaders sent before their generation was stable. Grain: request."""
    keys = [*GROUP, "generation_id"]
    stable = (
        syncs_of(exchanges)
        .groupBy(*GROUP, sf.col("asked.generation_id").alias("generation_id"))
        .agg(sf.min("answered_at").alias("stable_at"))
    )
    leaders = joins_of(exchanges).select(*keys, sf.col("answered.leader").alias("leader")).distinct()
    return (
        exchanges.where(sf.col("api") == "SyncGroup")
        .withColumn("generation_id", sf.col("asked.generation_id"))
        .withColumn("leader", sf.col("asked.member_id"))
        .join(leaders, on=[*keys, "leader"], how="left_semi")
        .join(stable, on=keys, how="inner")
        .where(sf.col("asked_at") < sf.col("stable_at"))
    )


def sent_by_leaders(exchanges: DataFrame) -> DataFrame:
    """What leaders sent for members. Grain: request, member that it is for."""
    return (
        leader_syncs(exchanges)
        .withColumn("entry", sf.explode("asked.assignments"))
        .select(
            *GROUP,
            "generation_id",
            sf.col("entry.member_id").alias("member_id"),
            sf.col("entry.assignment.`$bytes`").alias("given"),
        )
    )


def writes_of(exchanges: DataFrame) -> DataFrame:
    """Commits that may be in the log. Grain: request, partition."""
    answers = (
        exchanges.where(sf.col("api") == "OffsetCommit")
        .select(*GROUP, "asked_at", sf.explode("answered.topics").alias("topic"))
        .select(*GROUP, "asked_at", _topic().alias("name"), sf.explode("topic.partitions").alias("entry"))
        .select(
            *GROUP,
            "asked_at",
            sf.col("name").alias("topic"),
            sf.col("entry.partition_index").alias("partition_index"),
            sf.col("entry.error_code").alias("error_code"),
        )
    )
    asked = (
        exchanges.where(sf.col("api") == "OffsetCommit")
        .select(*GROUP, "asked_at", "answered_at", sf.explode("asked.topics").alias("topic"))
        .select(
            *GROUP,
            "asked_at",
            "answered_at",
            _topic().alias("name"),
            sf.explode("topic.partitions").alias("entry"),
        )
        .select(
            *GROUP,
            "asked_at",
            "answered_at",
            sf.col("name").alias("topic"),
            sf.col("entry.partition_index").alias("partition_index"),
            sf.col("entry.committed_offset").alias("offset"),
        )
    )
    undecided = sf.col("error_code").isNull() | sf.col("error_code").isin(*sorted(UNDECIDED))
    return (
        asked.join(answers, on=[*GROUP, "asked_at", "topic", "partition_index"], how="left")
        .withColumn("is_certain", sf.coalesce(sf.col("error_code") == NO_ERROR, sf.lit(col=False)))
        .where(sf.col("is_certain") | undecided)
    )


def fetches_of(exchanges: DataFrame) -> DataFrame:
    """Offsets that were found. Grain: request, group, partition."""
    fetches = exchanges.where((sf.col("api") == "OffsetFetch") & sf.col("answered_at").isNotNull())
    # Until version 7 a request is about one group, and the answer does not name it.
    of_one = sf.struct(
        sf.col("asked.group_id").alias("group_id"),
        sf.col("answered.error_code").alias("error_code"),
        sf.col("answered.topics").alias("topics"),
    )
    groups = sf.coalesce(sf.col("answered.groups"), sf.array(of_one))
    return (
        fetches.select(*PLACE, "asked_at", "answered_at", "at_ms", sf.explode(groups).alias("part"))
        .where(sf.coalesce(sf.col("part.error_code"), sf.lit(NO_ERROR)) == NO_ERROR)
        .withColumn("group_id", sf.col("part.group_id"))
        .withColumn("topic", sf.explode("part.topics"))
        .select(
            *GROUP,
            "asked_at",
            "answered_at",
            "at_ms",
            _topic().alias("name"),
            sf.explode("topic.partitions").alias("entry"),
        )
        .where(sf.col("entry.error_code") == NO_ERROR)
        .select(
            *GROUP,
            "asked_at",
            "answered_at",
            "at_ms",
            sf.col("name").alias("topic"),
            sf.col("entry.partition_index").alias("partition_index"),
            sf.col("entry.committed_offset").alias("found"),
        )
    )


def _topic() -> Column:
    return sf.coalesce(sf.nullif(sf.col("topic.name"), sf.lit("")), sf.col("topic.topic_id"))


def changes_of_coordinator(exchanges: DataFrame, events: DataFrame) -> DataFrame:
    """Where another coordinator may have taken over. Grain: conversation, place in it."""
    ends = events.where(sf.col("kind").isin(EventKind.CONTROL.value, EventKind.CLOSED.value)).select(
        *PLACE, sf.col("sequence").alias("changed_at")
    )
    refusals = exchanges.where(sf.col("answered.error_code").isin(*sorted(COORDINATOR_CHANGED))).select(
        *PLACE, sf.col("answered_at").alias("changed_at")
    )
    return ends.unionByName(refusals).select(
        *(sf.col(name).alias(f"changed_{name}") for name in PLACE), "changed_at"
    )


def conversations_with_deletions(events: DataFrame) -> DataFrame:
    """Conversations in which offsets are deleted, or committed by transactions. Grain: conversation."""
    return events.where(sf.col("api").isin(*_DELETIONS)).select(*PLACE).distinct()
