"""Builders of requests, one for each API, with the values that most scenarios need.

A builder states which fields may be named, with their types and defaults. Their order, and the versions that
have them, come from Kafka's schema.

A field that is left out is the sending actor's own (its group, member id, generation, instance id) or has a
default that every Kafka since 2.4 accepts. The default version of each API is the highest that Kafka 2.4
served, so that a scenario which names none runs against every release. A producer's id and epoch come from an
InitProducerId: `producer["producer_id"]` of the answer that `asks` or `repeats` returned.
"""

# ruff: noqa: PLC0414 - what is asked of the cluster, and said in bytes, is offered by this module too
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from harness.scenario.ask_cluster import AclEntry as AclEntry
from harness.scenario.ask_cluster import create_acls as create_acls
from harness.scenario.ask_cluster import create_partitions as create_partitions
from harness.scenario.ask_cluster import create_topic as create_topic
from harness.scenario.ask_cluster import delete_topic as delete_topic
from harness.scenario.ask_cluster import describe_acls as describe_acls
from harness.scenario.ask_cluster import described_group_configs as described_group_configs
from harness.scenario.ask_cluster import group_configs as group_configs
from harness.scenario.ask_cluster import metadata as metadata
from harness.scenario.ask_cluster import request as request
from harness.scenario.ask_cluster import topic_configs as topic_configs
from harness.scenario.ask_share import alter_share_group_offsets as alter_share_group_offsets
from harness.scenario.ask_share import delete_share_group_offsets as delete_share_group_offsets
from harness.scenario.ask_share import describe_share_group_offsets as describe_share_group_offsets
from harness.scenario.ask_share import share_group_describe as share_group_describe
from harness.scenario.ask_share import share_group_heartbeat as share_group_heartbeat
from harness.scenario.ask_shares import delete_share_group_state as delete_share_group_state
from harness.scenario.ask_shares import events as events
from harness.scenario.ask_shares import initialize_share_group_state as initialize_share_group_state
from harness.scenario.ask_shares import produce as produce
from harness.scenario.ask_shares import produce_in_transaction as produce_in_transaction
from harness.scenario.ask_shares import read_share_group_state as read_share_group_state
from harness.scenario.ask_shares import share_acknowledge as share_acknowledge
from harness.scenario.ask_shares import share_fetch as share_fetch
from harness.scenario.ask_shares import share_group_state_summary as share_group_state_summary
from harness.scenario.ask_shares import write_share_group_state as write_share_group_state
from harness.scenario.embedded import assignment as assignment
from harness.scenario.embedded import assignment_of as assignment_of
from harness.scenario.embedded import subscription as subscription
from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    Request,
    RequestFields,
    Text,
    Unpinned,
    builds_request,
)
from harness.scenario.values import AnswerRef, GroupRef, Ref, TopicId, Value

SESSION_TIMEOUT_MS: Final = 30_000
REBALANCE_TIMEOUT_MS: Final = 30_000


SHORT_SESSIONS: Final = {"group.min.session.timeout.ms": "100"}
"""The `broker_config` of a scenario whose members ask for sessions of under 6 s."""
SESSION_TIMEOUT_MIN_MS: Final = 6_000
"""The shortest session timeout that Kafka grants by default. Source: GroupCoordinatorConfig (4.3.1)."""


ORDERS: Final = subscription("orders")
RANGE: Final = (("range", ORDERS),)
"""The protocols of a member that supports the range assignor and subscribes to `orders`."""
ROUND_ROBIN: Final = (("roundrobin", ORDERS),)
UNKNOWN_TOPIC_ID: Final = "00000000-0000-0000-0000-00000000abcd"
"""The id of no topic."""
Protocols: TypeAlias = Sequence[tuple[str, bytes]]
TopicT = TypeVar("TopicT", str, GroupRef, TopicId)
"""A topic's name; a scenario that deletes a topic has its own one, by `conversation.group`."""
Offsets: TypeAlias = Mapping[TopicT, Mapping[int, "int | tuple[int, str | None]"]]
"""Topic to partition to offset, or to offset and metadata."""
Partitions: TypeAlias = Mapping[TopicT, Sequence[int]]
"""Topic to partitions."""


TRANSACTION_TIMEOUT_MS: Final = 600_000
"""Long enough that no broker ends a scenario's transactions by itself."""
TRANSACTION: Final = GroupRef("txn")
"""The transactional id of a scenario's only producer; that of another is a `conversation.group` too."""
Assigned: TypeAlias = (
    "Mapping[str, Sequence[int]] | Mapping[GroupRef, Sequence[int]] | Mapping[str | GroupRef, Sequence[int]]"
)
"""Topic to partitions, by name."""
Owned: TypeAlias = "Assigned | Ref | AnswerRef | None"
"""Partitions, or a reference to those in an answer; None to leave the field null."""


@builds_request("ApiVersions")
def api_versions(
    *,
    version: int = 3,
    client_software_name: str = "kafka-conformance",
    client_software_version: str = "0",
) -> None:
    """Request the APIs that a broker serves, with their versions."""


@builds_request("FindCoordinator")
def find_coordinator(*, version: int = 2, key: Group | Own = OWN, key_type: int = 0) -> RequestFields:
    """Find a group's coordinator; from v4 on as a batch of one."""
    return {"coordinator_keys": (key,), "key": ANY} if version >= 4 else {}


@builds_request("JoinGroup")
def join_group(
    *,
    version: int = 6,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    protocol_type: str = "consumer",
    protocols: Protocols = RANGE,
) -> RequestFields:
    """Join a group. The actor's own member id is empty as long as it has none."""
    return {"protocols": tuple({"name": name, "metadata": metadata} for name, metadata in protocols)}


@builds_request("SyncGroup")
def sync_group(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    protocol_type: str | None = "consumer",
    protocol_name: str | None = "range",
    assignments: Sequence[tuple[Text, bytes]] = (),
) -> RequestFields:
    """Request an assignment; a leader sends those of all. Protocol type and name are sent from v5 on."""
    return {"assignments": tuple({"member_id": each, "assignment": part} for each, part in assignments)}


@builds_request("Heartbeat")
def heartbeat(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
) -> None:
    """Send a member's heartbeat."""


@builds_request("LeaveGroup")
def leave_group(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    members: Sequence[tuple[Text, str | None]] | None = None,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
) -> RequestFields:
    """Leave a group: one member before v3, a batch of (member id, instance id) from v3 on."""
    if version < 3:
        return {"members": ANY, "group_instance_id": ANY}
    batch = ((member_id, group_instance_id),) if members is None else members
    return {
        "members": tuple({"member_id": each, "group_instance_id": instance} for each, instance in batch),
        "member_id": ANY,
        "group_instance_id": ANY,
    }


@builds_request("DescribeGroups")
def describe_groups(*, version: int = 5, groups: Sequence[Group | Own] = (OWN,)) -> None:
    """Describe groups; the actor's own if none is named."""


@builds_request("ListGroups")
def list_groups(
    *, version: int = 3, states_filter: Sequence[str] = (), types_filter: Sequence[str] = ()
) -> None:
    """List all groups; filters by state need v4, by type v5."""


@builds_request("DeleteGroups")
def delete_groups(*, version: int = 2, groups: Sequence[Group | Own] = (OWN,)) -> RequestFields:
    """Delete groups; the actor's own if none is named."""
    return {"groups_names": groups, "groups": ANY}


@builds_request("OffsetCommit")
def offset_commit(
    *,
    version: int = 8,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    retention_time_ms: int | None = None,
    topics: Offsets[TopicT],
) -> RequestFields:
    """Commit offsets as a member; `generation_id=-1, member_id=""` commits without a member."""
    return {
        "generation_id_or_member_epoch": generation_id,
        "generation_id": ANY,
        "retention_time_ms": ANY if retention_time_ms is None else retention_time_ms,
        "topics": _committed_topics(topics),
    }


def _committed_topics(topics: Offsets[TopicT]) -> Value:
    return tuple(
        {**_named(topic), "partitions": tuple(_committed(*item) for item in partitions.items())}
        for topic, partitions in topics.items()
    )


def _named(topic: str | GroupRef | TopicId) -> Mapping[str, Value]:
    """Return how a topic is named: by its id if it is a `TopicId` or the unknown id."""
    by_id = isinstance(topic, TopicId) or topic == UNKNOWN_TOPIC_ID
    return {"topic_id" if by_id else "name": topic}


def _committed(partition: int, offset: int | tuple[int, str | None]) -> Mapping[str, Value]:
    number, metadata = offset if isinstance(offset, tuple) else (offset, "")
    return {"partition_index": partition, "committed_offset": number, "committed_metadata": metadata}


@builds_request("OffsetFetch")
def offset_fetch(
    *,
    version: int = 6,
    group_id: Group | Own = OWN,
    member_id: Text | Own | None | Unpinned = ANY,
    member_epoch: Number | Own | Unpinned = ANY,
    topics: Partitions[TopicT] | None = None,
    require_stable: bool | Unpinned = ANY,
) -> RequestFields:
    """Fetch a group's committed offsets, all if no topics are named; from v8 on as a batch of one.

    The member id and its epoch are sent from v9 on; the coordinator checks them only if they are named.
    """
    wanted = None if topics is None else _partition_indexes(topics)
    if version >= 8:
        asker = {"member_id": member_id, "member_epoch": member_epoch}
        named = {name: value for name, value in asker.items() if not isinstance(value, Unpinned)}
        group = {"group_id": group_id, **named, "topics": wanted}
        return {"groups": (group,), "group_id": ANY, "topics": ANY, **dict.fromkeys(asker, ANY)}
    return {"topics": wanted}


def _partition_indexes(topics: Partitions[TopicT]) -> Value:
    return tuple(
        {**_named(topic), "partition_indexes": tuple(partitions)} for topic, partitions in topics.items()
    )


@builds_request("ConsumerGroupHeartbeat")
def consumer_group_heartbeat(
    *,
    version: int = 1,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    member_epoch: Number | Own = OWN,
    instance_id: str | None | Own = OWN,
    rack_id: str | None = None,
    rebalance_timeout_ms: int = -1,
    subscribed_topic_names: Sequence[Group] | None = None,
    subscribed_topic_regex: Group | None | Unpinned = ANY,
    server_assignor: str | None = None,
    topic_partitions: Owned = None,
) -> RequestFields:
    """Send a heartbeat of a consumer group's member; fields that are left out are unchanged.

    The regular expression is sent from v1 on. Epoch 0 joins, -1 leaves, -2 leaves for a while.
    """
    names = None if subscribed_topic_names is None else tuple(subscribed_topic_names)
    return {"topic_partitions": topic_ids(topic_partitions), "subscribed_topic_names": names}


def topic_ids(partitions: Owned) -> Value:
    """Return partitions in the form of consumer groups: by the ids of their topics."""
    if not isinstance(partitions, Mapping):
        return partitions
    return tuple(
        {"topic_id": TopicId(topic), "partitions": tuple(indexes)} for topic, indexes in partitions.items()
    )


@builds_request("ConsumerGroupDescribe")
def consumer_group_describe(
    *,
    version: int = 1,
    group_ids: Sequence[Group | Own] = (OWN,),
    include_authorized_operations: bool = False,
) -> None:
    """Describe consumer groups; the actor's own if none is named."""


@builds_request("OffsetDelete")
def offset_delete(
    *, version: int = 0, group_id: Group | Own = OWN, topics: Partitions[TopicT]
) -> RequestFields:
    """Delete some committed offsets of a group."""
    return {
        "topics": tuple(
            {"name": topic, "partitions": tuple({"partition_index": index} for index in partitions)}
            for topic, partitions in topics.items()
        )
    }


@builds_request("TxnOffsetCommit")
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
) -> RequestFields:
    """Commit offsets as part of a transaction; the group's member that commits is sent from v3 on."""
    return {"topics": _committed_topics(topics)}


@builds_request("InitProducerId")
def init_producer_id(
    *,
    version: int = 1,
    transactional_id: Group | None = TRANSACTION,
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
    producer_id: Number | Unpinned = ANY,
    producer_epoch: Number | Unpinned = ANY,
) -> None:
    """Request a producer id; from v3 on for the producer id and epoch from before, if they are named."""


@builds_request("AddOffsetsToTxn")
def add_offsets_to_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    group_id: Group | Own = OWN,
) -> None:
    """Announce that a transaction will commit offsets for a group."""


@builds_request("EndTxn")
def end_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    committed: bool,
) -> None:
    """Commit or abort a transaction."""


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

    The version of the transaction is sent from v2 on.
    """
    stated: Mapping[str, Value] = (
        {} if transaction_version is None else {"transaction_version": transaction_version}
    )
    marker: Value = {
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "transaction_result": committed,
        "topics": _partition_indexes(topics),
        "coordinator_epoch": coordinator_epoch,
        **stated,
    }
    return request("WriteTxnMarkers", version, markers=(marker,))
