"""The APIs that the harness describes beyond their messages, in the order of Kafka's keys."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.apis.descriptor import (
    HASH_OF_IDS,
    Access,
    ApiDescriptor,
    OffsetUse,
    Subject,
    Unordered,
    assigned,
)
from harness.apis.share_table import OF_SHARE_GROUP_OFFSETS, OF_SHARE_GROUPS


def _by_partition(parent: str = "") -> tuple[Unordered, ...]:
    reason = "hash-map order until 3.9, request order in 4.x; a set keyed by topic and partition"
    return (
        Unordered(path=f"{parent}topics", key=("name", "topic_id"), reason=reason),
        Unordered(path=f"{parent}topics[].partitions", key=("partition_index",), reason=reason),
    )


def _tasks() -> tuple[Unordered, ...]:
    reason = "hash-map order over the names of subtopologies"
    return tuple(
        Unordered(path=f"{kind}_tasks", key=("subtopology_id",), reason=reason)
        for kind in ("active", "standby", "warmup")
    )


_TABLE: Final = (
    ApiDescriptor(
        name="Produce",
        key=0,
        transactions=("transactional_id",),
        addresses_since=10,
        addresses_last=True,
        client_access=Access.CHANGES,
        changes_topics=True,
    ),
    ApiDescriptor(
        name="Fetch",
        key=1,
        is_frequent=True,
        addresses_since=16,
        addresses_last=True,
        client_access=Access.READS,
    ),
    ApiDescriptor(name="ListOffsets", key=2, client_access=Access.READS),
    ApiDescriptor(
        name="Metadata",
        key=3,
        counts_partitions=True,
        is_prompt=True,
        is_frequent=True,
        unordered=(
            Unordered(path="topics", key=("name",), reason="order of the metadata cache"),
            Unordered(path="topics[].partitions", key=("partition_index",), reason="as for its topics"),
        ),
        addresses_since=0,
        access=Access.READS,
    ),
    ApiDescriptor(
        name="OffsetCommit",
        key=8,
        subject=Subject.OFFSETS,
        groups=("group_id",),
        members=("member_id",),
        generation=("generation_id_or_member_epoch",),
        offsets=OffsetUse.COMMITS,
        unordered=_by_partition(),
        spoken_versions=(0, 10),
        access=Access.CHANGES,
        takes_no_group=True,
    ),
    ApiDescriptor(
        name="OffsetFetch",
        key=9,
        subject=Subject.OFFSETS,
        groups=("group_id", "groups[].group_id"),
        members=("groups[].member_id",),
        group_entries="groups",
        offsets=OffsetUse.FETCHES,
        unordered=(
            Unordered(path="groups", key=("group_id",), reason="map order until 3.4, then request order"),
            *_by_partition(),
            *_by_partition("groups[]."),
        ),
        spoken_versions=(0, 10),
        access=Access.READS,
    ),
    ApiDescriptor(
        name="FindCoordinator",
        key=10,
        groups=("key", "coordinator_keys"),
        is_prompt=True,
        addresses_since=0,
        access=Access.READS,
    ),
    ApiDescriptor(
        name="JoinGroup",
        key=11,
        subject=Subject.MEMBERSHIP,
        groups=("group_id",),
        members=("member_id",),
        learns=("member_id", "generation_id", "leader", "protocol_name", "protocol_type"),
        parked_ms=("rebalance_timeout_ms", "session_timeout_ms"),
        unordered=(Unordered(path="members", key=("member_id",), reason=HASH_OF_IDS),),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="Heartbeat",
        key=12,
        subject=Subject.MEMBERSHIP,
        groups=("group_id",),
        members=("member_id",),
        generation=("generation_id",),
        is_prompt=True,
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="LeaveGroup",
        key=13,
        subject=Subject.MEMBERSHIP,
        groups=("group_id",),
        members=("member_id", "members[].member_id"),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="SyncGroup",
        key=14,
        subject=Subject.MEMBERSHIP,
        groups=("group_id",),
        members=("member_id",),
        generation=("generation_id",),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="DescribeGroups",
        key=15,
        subject=Subject.GROUPS,
        groups=("groups",),
        group_entries="groups",
        shows_groups=True,
        unordered=(
            Unordered(path="groups[].members", key=("member_id",), reason=HASH_OF_IDS),
            Unordered(
                path="groups",
                key=("group_id",),
                reason="request order until 3.9, in 4.x partition by partition of the log",
            ),
        ),
        access=Access.READS,
    ),
    ApiDescriptor(
        name="ListGroups",
        key=16,
        subject=Subject.GROUPS,
        group_entries="groups",
        shows_groups=True,
        unordered=(Unordered(path="groups", key=("group_id",), reason="order of the coordinator's map"),),
        access=Access.READS,
    ),
    ApiDescriptor(
        name="ApiVersions",
        key=18,
        is_prompt=True,
        is_frequent=True,
        unordered=(Unordered(path="api_keys", key=("api_key",), reason="a table that is looked up by key"),),
        access=Access.READS,
    ),
    ApiDescriptor(
        name="CreateTopics", key=19, counts_partitions=True, access=Access.CHANGES, changes_topics=True
    ),
    ApiDescriptor(
        name="DeleteTopics",
        key=20,
        access=Access.CLEANS,
        client_access=Access.CHANGES,
        changes_topics=True,
    ),
    ApiDescriptor(
        name="InitProducerId",
        key=22,
        subject=Subject.TRANSACTIONS,
        transactions=("transactional_id",),
        learns=("producer_id", "producer_epoch"),
        gives_producer_id=True,
        gives_epoch=True,
        access=Access.CHANGES,
    ),
    ApiDescriptor(name="OffsetForLeaderEpoch", key=23, is_frequent=True, client_access=Access.READS),
    ApiDescriptor(
        name="AddPartitionsToTxn",
        key=24,
        subject=Subject.TRANSACTIONS,
        transactions=("v3_and_below_transactional_id", "transactions[].transactional_id"),
        unordered=(
            Unordered(
                path="results_by_topic_v3_and_below", key=("name",), reason="order of a HashMap by topic"
            ),
            Unordered(
                path="results_by_topic_v3_and_below[].results_by_partition",
                key=("partition_index",),
                reason="as for its topics",
            ),
        ),
        client_access=Access.CHANGES,
        changes_topics=True,
    ),
    ApiDescriptor(
        name="AddOffsetsToTxn",
        key=25,
        subject=Subject.TRANSACTIONS,
        groups=("group_id",),
        transactions=("transactional_id",),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="EndTxn",
        key=26,
        subject=Subject.TRANSACTIONS,
        transactions=("transactional_id",),
        gives_epoch=True,
        access=Access.CHANGES,
    ),
    ApiDescriptor(name="WriteTxnMarkers", key=27, unordered=_by_partition("markers[].")),
    ApiDescriptor(
        name="TxnOffsetCommit",
        key=28,
        subject=Subject.OFFSETS,
        groups=("group_id",),
        members=("member_id",),
        generation=("generation_id",),
        transactions=("transactional_id",),
        offsets=OffsetUse.COMMITS_AT_END,
        unordered=_by_partition(),
        access=Access.CHANGES,
    ),
    ApiDescriptor(name="DescribeAcls", key=29, groups=("resource_name_filter",)),
    ApiDescriptor(name="CreateAcls", key=30, groups=("creations[].resource_name",)),
    ApiDescriptor(name="DescribeConfigs", key=32, access=Access.READS),
    ApiDescriptor(
        name="DescribeLogDirs",
        key=35,
        unordered=(
            Unordered(path="results[].topics", key=("name",), reason="hash-map order over topics"),
            Unordered(
                path="results[].topics[].partitions",
                key=("partition_index",),
                reason="order of the pool of logs",
            ),
        ),
    ),
    ApiDescriptor(name="CreatePartitions", key=37, access=Access.CHANGES, changes_topics=True),
    ApiDescriptor(
        name="DeleteGroups",
        key=42,
        subject=Subject.GROUPS,
        groups=("groups_names",),
        group_entries="results",
        offsets=OffsetUse.DELETES_ALL,
        shows_groups=True,
        unordered=(Unordered(path="results", key=("group_id",), reason="hash-map order in all but 4.0.0"),),
        access=Access.CHANGES,
        takes_no_group=True,
    ),
    ApiDescriptor(
        name="IncrementalAlterConfigs",
        key=44,
        groups=("resources[].resource_name",),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="OffsetDelete",
        key=47,
        subject=Subject.OFFSETS,
        groups=("group_id",),
        offsets=OffsetUse.DELETES,
        shows_groups=True,
        unordered=_by_partition(),
        access=Access.CHANGES,
    ),
    ApiDescriptor(name="DescribeCluster", key=60, addresses_since=0, client_access=Access.READS),
    ApiDescriptor(name="ListTransactions", key=66, access=Access.READS),
    ApiDescriptor(
        name="ConsumerGroupHeartbeat",
        key=68,
        subject=Subject.CONSUMER_GROUPS,
        groups=("group_id",),
        members=("member_id",),
        generation=("member_epoch",),
        is_prompt=True,
        learns=("member_id", "member_epoch", "assignment.topic_partitions"),
        learns_from_errors=False,
        unordered=assigned("assignment"),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="ConsumerGroupDescribe",
        key=69,
        subject=Subject.CONSUMER_GROUPS,
        groups=("group_ids",),
        group_entries="groups",
        unordered=(
            Unordered(path="groups", key=("group_id",), reason="partition by partition of the log"),
            Unordered(path="groups[].members", key=("member_id",), reason=HASH_OF_IDS),
            Unordered(path="groups[].members[].subscribed_topic_names", key=(), reason="a set of names"),
            *assigned("groups[].members[].assignment"),
            *assigned("groups[].members[].target_assignment"),
        ),
        access=Access.READS,
    ),
    ApiDescriptor(name="GetTelemetrySubscriptions", key=71, client_access=Access.READS),
    ApiDescriptor(name="ListConfigResources", key=74, access=Access.READS),
    ApiDescriptor(name="DescribeTopicPartitions", key=75, client_access=Access.READS),
    *OF_SHARE_GROUPS,
    ApiDescriptor(
        name="StreamsGroupHeartbeat",
        key=88,
        subject=Subject.STREAMS_GROUPS,
        groups=("group_id",),
        members=("member_id",),
        generation=("member_epoch",),
        is_prompt=True,
        learns=(
            "member_id",
            "member_epoch",
            "active_tasks",
            "standby_tasks",
            "warmup_tasks",
            "endpoint_information_epoch",
        ),
        learns_from_errors=False,
        unordered=(
            *_tasks(),
            Unordered(path="partitions_by_user_endpoint", key=(), reason=HASH_OF_IDS),
        ),
        access=Access.CHANGES,
        changes_topics=True,
    ),
    ApiDescriptor(
        name="StreamsGroupDescribe",
        key=89,
        subject=Subject.STREAMS_GROUPS,
        groups=("group_ids",),
        group_entries="groups",
        unordered=(
            Unordered(path="groups", key=("group_id",), reason="partition by partition of the log"),
            Unordered(path="groups[].members", key=("member_id",), reason=HASH_OF_IDS),
        ),
        access=Access.READS,
    ),
    *OF_SHARE_GROUP_OFFSETS,
    ApiDescriptor(
        name="StreamsGroupTopologyDescriptionUpdate",
        key=93,
        subject=Subject.OTHER_GROUPS,
        groups=("group_id",),
        members=("member_id",),
    ),
)
APIS: Final[Mapping[str, ApiDescriptor]] = MappingProxyType({each.name: each for each in _TABLE})
_UNKNOWN: Final = ApiDescriptor(name="", key=-1)


def descriptor(api: str | None) -> ApiDescriptor:
    """Return the row of an API, or an empty row for an API without one."""
    return APIS.get(api or "", _UNKNOWN)


def apis_where(applies: Callable[[ApiDescriptor], bool]) -> frozenset[str]:
    """Return the names of the APIs that satisfy a condition."""
    return frozenset(name for name, each in APIS.items() if applies(each))


def fields_of(chosen: Callable[[ApiDescriptor], tuple[str, ...]]) -> frozenset[str]:
    """Return the names, without their paths, of the fields that a function chooses from all rows."""
    return frozenset(path.rpartition(".")[2] for each in APIS.values() for path in chosen(each))
