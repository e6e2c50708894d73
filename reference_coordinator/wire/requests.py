"""Requests as they were read, to version-free messages.

A field that a version lacks gets Kafka's default, except where Kafka's own request class or handler
does otherwise; that is said where it happens.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from reference_coordinator.broker_messages import (
    ApiVersionsRequest,
    BrokerRequest,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    FindCoordinatorRequest,
    MetadataRequest,
    MetadataRequestTopic,
)
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.wire.reading import ReadEntity
from reference_coordinator.wire.tools import (
    consumer_group_describe,
    consumer_group_heartbeat,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    incremental_alter_configs,
    list_config_resources,
    list_transactions,
)
from reference_coordinator.wire.topic_logs import (
    create_partitions,
    delete_records,
    describe_cluster,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
    topic_id_of,
)
from reference_coordinator.wire.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
    txn_offset_commit,
    write_txn_markers,
)

_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_FIRST_BATCHED_LEAVE_GROUP: Final = 3
_FIRST_BATCHED_OFFSET_FETCH: Final = 8
_FIRST_DELETE_TOPICS_BY_ID: Final = 6


def request_message(api: Api, version: int, body: ReadEntity) -> BrokerRequest:
    """Return the message that a request's body stands for."""
    return _MESSAGES[api](body, version)


def _api_versions(body: ReadEntity, _: int) -> ApiVersionsRequest:
    return ApiVersionsRequest(
        client_software_name=body.get("client_software_name", ""),
        client_software_version=body.get("client_software_version", ""),
        cluster_id=body.get("cluster_id", None),
        node_id=body.get("node_id", -1),
    )


def _metadata(body: ReadEntity, version: int) -> MetadataRequest:
    topics = body["topics"]
    # v0 has no null array: MetadataRequest#isAllTopics (4.3.1).
    is_all = topics is None or (version == 0 and not topics)
    return MetadataRequest(
        topics=None
        if is_all
        else tuple(MetadataRequestTopic(name=topic["name"], topic_id=topic_id_of(topic)) for topic in topics),
        allow_auto_topic_creation=body.get("allow_auto_topic_creation", True),
        include_cluster_authorized_operations=body.get("include_cluster_authorized_operations", False),
        include_topic_authorized_operations=body.get("include_topic_authorized_operations", False),
    )


def _create_topics(body: ReadEntity, _: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=tuple(
            CreatableTopic(
                name=topic["name"],
                num_partitions=topic["num_partitions"],
                replication_factor=topic["replication_factor"],
                assignments=tuple(
                    CreatableReplicaAssignment(
                        partition_index=each["partition_index"], broker_ids=each["broker_ids"]
                    )
                    for each in topic["assignments"]
                ),
                configs=tuple((each["name"], each["value"]) for each in topic["configs"]),
            )
            for topic in body["topics"]
        ),
        timeout_ms=body["timeout"],
        validate_only=body["validate_only"],
    )


def _find_coordinator(body: ReadEntity, version: int) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(
        key_type=body.get("key_type", 0),
        coordinator_keys=body["coordinator_keys"]
        if version >= _FIRST_BATCHED_FIND_COORDINATOR
        else (body["key"],),
    )


def _join_group(body: ReadEntity, _: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=body["group_id"],
        session_timeout_ms=body["session_timeout"],
        # v0 has none: JoinGroupRequest#maybeOverrideRebalanceTimeout (4.3.1).
        rebalance_timeout_ms=body.get("rebalance_timeout", body["session_timeout"]),
        member_id=body["member_id"],
        group_instance_id=body.get("group_instance_id", None),
        protocol_type=body["protocol_type"],
        protocols=tuple(
            JoinGroupRequestProtocol(
                name=protocol["name"],
                metadata=protocol["metadata"],
                unknown_tags=protocol.unknown_tags,
            )
            for protocol in body["protocols"]
        ),
        reason=body.get("reason", None),
    )


def _sync_group(body: ReadEntity, _: int) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=body["group_id"],
        generation_id=body["generation_id"],
        member_id=body["member_id"],
        group_instance_id=body.get("group_instance_id", None),
        protocol_type=body.get("protocol_type", None),
        protocol_name=body.get("protocol_name", None),
        assignments=tuple(
            SyncGroupRequestAssignment(member_id=each["member_id"], assignment=each["assignment"])
            for each in body["assignments"]
        ),
    )


def _heartbeat(body: ReadEntity, _: int) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=body["group_id"],
        generation_id=body["generation_id"],
        member_id=body["member_id"],
        group_instance_id=body.get("group_instance_id", None),
    )


def _leave_group(body: ReadEntity, version: int) -> LeaveGroupRequest:
    # Up to v2 the only member is the request itself: LeaveGroupRequest#normalizedData (4.3.1).
    members = body["members"] if version >= _FIRST_BATCHED_LEAVE_GROUP else (body,)
    return LeaveGroupRequest(
        group_id=body["group_id"],
        members=tuple(
            MemberIdentity(
                member_id=member["member_id"],
                group_instance_id=member.get("group_instance_id", None),
                reason=member.get("reason", None),
            )
            for member in members
        ),
    )


def _describe_groups(body: ReadEntity, _: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(
        groups=body["groups"],
        include_authorized_operations=body.get("include_authorized_operations", False),
    )


def _list_groups(body: ReadEntity, _: int) -> ListGroupsRequest:
    return ListGroupsRequest(
        states_filter=body.get("states_filter", ()), types_filter=body.get("types_filter", ())
    )


def _delete_groups(body: ReadEntity, _: int) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=body["groups_names"])


def _offset_commit(body: ReadEntity, _: int) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=body["group_id"],
        generation_id_or_member_epoch=body.get("generation_id_or_member_epoch", -1),
        member_id=body.get("member_id", ""),
        group_instance_id=body.get("group_instance_id", None),
        retention_time_ms=body.get("retention_time", -1),
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic.get("name", ""),
                topic_id=topic_id_of(topic),
                partitions=tuple(_offset_commit_partition(each) for each in topic["partitions"]),
            )
            for topic in body["topics"]
        ),
    )


def _offset_commit_partition(partition: ReadEntity) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition["partition_index"],
        committed_offset=partition["committed_offset"],
        committed_leader_epoch=partition.get("committed_leader_epoch", -1),
        committed_metadata=partition["committed_metadata"],
        commit_timestamp_ms=partition.get("commit_timestamp", -1),
    )


def _offset_fetch(body: ReadEntity, version: int) -> OffsetFetchRequest:
    # Up to v7 the only group is the request itself: OffsetFetchRequest#groups (4.3.1).
    groups = body["groups"] if version >= _FIRST_BATCHED_OFFSET_FETCH else (body,)
    return OffsetFetchRequest(
        groups=tuple(
            OffsetFetchRequestGroup(
                group_id=group["group_id"],
                member_id=group.get("member_id", None),
                member_epoch=group.get("member_epoch", -1),
                topics=_offset_fetch_topics(group),
            )
            for group in groups
        ),
        require_stable=body.get("require_stable", False),
    )


def _offset_fetch_topics(group: ReadEntity) -> tuple[OffsetFetchRequestTopic, ...] | None:
    topics = group["topics"]
    if topics is None:
        return None
    return tuple(
        OffsetFetchRequestTopic(
            name=topic.get("name", ""),
            topic_id=topic_id_of(topic),
            partition_indexes=topic["partition_indexes"],
        )
        for topic in topics
    )


def _offset_delete(body: ReadEntity, _: int) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=body["group_id"],
        topics=tuple(
            OffsetDeleteRequestTopic(
                name=topic["name"],
                partition_indexes=tuple(each["partition_index"] for each in topic["partitions"]),
            )
            for topic in body["topics"]
        ),
    )


def _delete_topics(body: ReadEntity, version: int) -> DeleteTopicsRequest:
    # Up to v5 topics are named: DeleteTopicsRequest#topics (4.3.1).
    if version < _FIRST_DELETE_TOPICS_BY_ID:
        topics = tuple(DeleteTopicState(name=name) for name in body["topic_names"])
    else:
        topics = tuple(
            DeleteTopicState(name=each["name"], topic_id=topic_id_of(each)) for each in body["topics"]
        )
    return DeleteTopicsRequest(topics=topics, timeout_ms=body["timeout"])


_Mapping: TypeAlias = Callable[[ReadEntity, int], BrokerRequest]

_MESSAGES: Final[Mapping[Api, _Mapping]] = MappingProxyType(
    {
        Api.PRODUCE: produce,
        Api.FETCH: fetch,
        Api.LIST_OFFSETS: list_offsets,
        Api.METADATA: _metadata,
        Api.OFFSET_COMMIT: _offset_commit,
        Api.OFFSET_FETCH: _offset_fetch,
        Api.FIND_COORDINATOR: _find_coordinator,
        Api.JOIN_GROUP: _join_group,
        Api.HEARTBEAT: _heartbeat,
        Api.LEAVE_GROUP: _leave_group,
        Api.SYNC_GROUP: _sync_group,
        Api.DESCRIBE_GROUPS: _describe_groups,
        Api.LIST_GROUPS: _list_groups,
        Api.API_VERSIONS: _api_versions,
        Api.CREATE_TOPICS: _create_topics,
        Api.DELETE_TOPICS: _delete_topics,
        Api.DELETE_RECORDS: delete_records,
        Api.INIT_PRODUCER_ID: init_producer_id,
        Api.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
        Api.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn,
        Api.ADD_OFFSETS_TO_TXN: add_offsets_to_txn,
        Api.END_TXN: end_txn,
        Api.WRITE_TXN_MARKERS: write_txn_markers,
        Api.TXN_OFFSET_COMMIT: txn_offset_commit,
        Api.CREATE_PARTITIONS: create_partitions,
        Api.DELETE_GROUPS: _delete_groups,
        Api.OFFSET_DELETE: _offset_delete,
        Api.DESCRIBE_CLUSTER: describe_cluster,
        Api.DESCRIBE_CONFIGS: describe_configs,
        Api.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
        Api.DESCRIBE_TRANSACTIONS: describe_transactions,
        Api.LIST_TRANSACTIONS: list_transactions,
        Api.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
        Api.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
        Api.LIST_CONFIG_RESOURCES: list_config_resources,
        Api.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
        Api.DESCRIBE_LOG_DIRS: describe_log_dirs,
        Api.DESCRIBE_QUORUM: describe_quorum,
    }
)
