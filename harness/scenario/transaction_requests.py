"""Builders of requests of transactions, and of those that create and delete topics.

A producer's id and epoch are those that an InitProducerId answered: `producer["producer_id"]` of what
`receives` or `repeats` returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.scenario.messages import OWN, Group, Number, Own, Request, Text
from harness.scenario.requests import Offsets, Partitions, TopicT, committed_topics
from harness.scenario.values import GroupRef, Value

TRANSACTION_TIMEOUT_MS: Final = 600_000
"""Long enough that no broker ends a scenario's transactions of itself."""
TRANSACTION: Final = GroupRef("txn")
"""The transactional id of a scenario's only producer; one of another is a `conversation.group` too."""


def txn_offset_commit(
    *,
    version: int = 2,
    transactional_id: Group = TRANSACTION,
    group_id: Group | Own = OWN,
    producer_id: Number,
    producer_epoch: Number,
    generation_id: Number | Own = -1,
    member_id: Text | Own = "",
    group_instance_id: str | None | Own = None,
    topics: Offsets[TopicT],
) -> Request:
    """Commit offsets as part of a transaction; who commits them for the group travels from v3 on."""
    committer: Mapping[str, Value | Own] = {
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": group_instance_id,
    }
    return Request(
        api="TxnOffsetCommit",
        version=version,
        fields={
            "transactional_id": transactional_id,
            "group_id": group_id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            **(committer if version >= 3 else {}),
            "topics": committed_topics(topics),
        },
    )


def init_producer_id(
    *,
    version: int = 1,
    transactional_id: Group | None = TRANSACTION,
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
    producer_id: Number | None = None,
    producer_epoch: Number | None = None,
) -> Request:
    """Ask to be a producer; from v3 on as one that was a producer before, if that is named."""
    former: Mapping[str, Value] = (
        {} if producer_id is None else {"producer_id": producer_id, "producer_epoch": producer_epoch}
    )
    return Request(
        api="InitProducerId",
        version=version,
        fields={
            "transactional_id": transactional_id,
            "transaction_timeout_ms": transaction_timeout_ms,
            **former,
        },
    )


def add_offsets_to_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    group_id: Group | Own = OWN,
) -> Request:
    """Announce that a transaction will bring offsets for a group."""
    return Request(
        api="AddOffsetsToTxn",
        version=version,
        fields={
            "transactional_id": transactional_id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "group_id": group_id,
        },
    )


def end_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    committed: bool,
) -> Request:
    """Commit or abort a transaction."""
    return Request(
        api="EndTxn",
        version=version,
        fields={
            "transactional_id": transactional_id,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "committed": committed,
        },
    )


def write_txn_markers(
    *,
    version: int = 1,
    producer_id: Number,
    producer_epoch: Number,
    committed: bool,
    topics: Partitions[TopicT],
    coordinator_epoch: int = 0,
    transaction_version: int | None = None,
) -> Request:
    """End a producer's transaction in the logs of some partitions, as only brokers usually do.

    The version of the transaction travels from v2 on.
    """
    stated: Mapping[str, Value] = (
        {} if transaction_version is None else {"transaction_version": transaction_version}
    )
    marker: Value = {
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "transaction_result": committed,
        "topics": tuple(
            {"name": topic, "partition_indexes": tuple(partitions)} for topic, partitions in topics.items()
        ),
        "coordinator_epoch": coordinator_epoch,
        **stated,
    }
    return Request(api="WriteTxnMarkers", version=version, fields={"markers": (marker,)})


def create_topic(name: Group, *, version: int = 4, num_partitions: int = 1) -> Request:
    """Create one topic; a scenario that deletes it again names it by `group`, so that it is its own."""
    topic: Value = {"name": name, "num_partitions": num_partitions, "replication_factor": 1}
    return Request(api="CreateTopics", version=version, fields={"topics": (topic,), "timeout_ms": 5_000})


def delete_topic(name: Group, *, version: int = 4) -> Request:
    """Delete one topic by its name."""
    return Request(api="DeleteTopics", version=version, fields={"topic_names": (name,), "timeout_ms": 5_000})
