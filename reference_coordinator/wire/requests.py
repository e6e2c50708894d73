"""Conversion of read requests to version-free messages.

A field that a version lacks gets Kafka's default, except where Kafka's own request class or handler does
otherwise; comments mark these places.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from reference_coordinator import broker_messages as brokers
from reference_coordinator.broker_messages import tools
from reference_coordinator.broker_messages.acls import CreateAclsRequest, DescribeAclsRequest
from reference_coordinator.broker_messages.inspection import (
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    QuorumTopic,
)
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.shares.messages import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    WriteShareGroupStateRequest,
)
from reference_coordinator.topic_logs.messages import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    DeleteRecordsRequest,
    DescribeClusterRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    InitProducerIdRequest,
    WriteTxnMarkersRequest,
)
from reference_coordinator.wire.entities import MalformedRequestError
from reference_coordinator.wire.messages import message_of
from reference_coordinator.wire.reading import ReadEntity

_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_FIRST_BATCHED_LEAVE_GROUP: Final = 3
_FIRST_BATCHED_OFFSET_FETCH: Final = 8
_FIRST_DELETE_TOPICS_BY_ID: Final = 6
_FIRST_BATCHED_ADD_PARTITIONS: Final = 4
_READ_COMMITTED: Final = 1
_ID_OF_ZEROS: Final = UUID(int=0)


def request_message(api: Api, version: int, body: ReadEntity) -> brokers.BrokerRequest:
    """Return a request's body as a message."""
    return _MESSAGES[api](body, version)


def _metadata(body: ReadEntity, version: int) -> brokers.MetadataRequest:
    # v0 has no null array: MetadataRequest#isAllTopics (4.3.1).
    is_all = version == 0 and not body["topics"]
    return message_of(brokers.MetadataRequest, body, **({"topics": None} if is_all else {}))


def _create_topics(body: ReadEntity, _: int) -> brokers.CreateTopicsRequest:
    topics = (
        message_of(
            brokers.CreatableTopic,
            topic,
            configs=tuple((each["name"], each["value"]) for each in topic["configs"]),
        )
        for topic in body["topics"]
    )
    return message_of(brokers.CreateTopicsRequest, body, topics=tuple(topics))


def _find_coordinator(body: ReadEntity, version: int) -> brokers.FindCoordinatorRequest:
    is_batched = version >= _FIRST_BATCHED_FIND_COORDINATOR
    keys = body["coordinator_keys"] if is_batched else (body["key"],)
    return message_of(brokers.FindCoordinatorRequest, body, coordinator_keys=keys)


def _join_group(body: ReadEntity, _: int) -> JoinGroupRequest:
    # v0 has no rebalance timeout: JoinGroupRequest#maybeOverrideRebalanceTimeout (4.3.1).
    rebalance_timeout_ms = body.get("rebalance_timeout", body["session_timeout"])
    protocols = (
        message_of(JoinGroupRequestProtocol, each, unknown_tags=each.unknown_tags)
        for each in body["protocols"]
    )
    return message_of(
        JoinGroupRequest, body, rebalance_timeout_ms=rebalance_timeout_ms, protocols=tuple(protocols)
    )


def _leave_group(body: ReadEntity, version: int) -> LeaveGroupRequest:
    # Up to v2 the only member is the request itself: LeaveGroupRequest#normalizedData (4.3.1).
    members = body["members"] if version >= _FIRST_BATCHED_LEAVE_GROUP else (body,)
    return LeaveGroupRequest(
        group_id=body["group_id"], members=tuple(message_of(MemberIdentity, each) for each in members)
    )


def _offset_fetch(body: ReadEntity, version: int) -> OffsetFetchRequest:
    # Up to v7 the only group is the request itself: OffsetFetchRequest#groups (4.3.1).
    groups = body["groups"] if version >= _FIRST_BATCHED_OFFSET_FETCH else (body,)
    return message_of(
        OffsetFetchRequest, body, groups=tuple(message_of(OffsetFetchRequestGroup, each) for each in groups)
    )


def _offset_delete(body: ReadEntity, _: int) -> OffsetDeleteRequest:
    topics = (
        OffsetDeleteRequestTopic(name=topic["name"], partition_indexes=_indexes(topic))
        for topic in body["topics"]
    )
    return OffsetDeleteRequest(group_id=body["group_id"], topics=tuple(topics))


def _indexes(topic: ReadEntity) -> tuple[int, ...]:
    return tuple(each["partition_index"] for each in topic["partitions"])


def _delete_topics(body: ReadEntity, version: int) -> brokers.DeleteTopicsRequest:
    # Up to v5 topics are named: DeleteTopicsRequest#topics (4.3.1).
    if version < _FIRST_DELETE_TOPICS_BY_ID:
        named = tuple(brokers.DeleteTopicState(name=name) for name in body["topic_names"])
        return message_of(brokers.DeleteTopicsRequest, body, topics=named)
    return message_of(brokers.DeleteTopicsRequest, body)


def _produce(body: ReadEntity, _: int) -> ProduceRequest:
    """Return the request; refuse null records, on which Kafka fails.

    Source: ProduceRequest#partitionSizes (3.9.2).
    """
    if any(each["records"] is None for topic in body["topic_data"] for each in topic["partition_data"]):
        raise MalformedRequestError("records are null, which they may not be")
    return message_of(ProduceRequest, body)


def _fetch(body: ReadEntity, _: int) -> FetchRequest:
    return message_of(FetchRequest, body, is_committed=body["isolation_level"] == _READ_COMMITTED)


def _list_offsets(body: ReadEntity, _: int) -> ListOffsetsRequest:
    is_committed = body.get("isolation_level", 0) == _READ_COMMITTED
    return message_of(ListOffsetsRequest, body, is_committed=is_committed)


def _assigned_brokers(assignments: Sequence[ReadEntity] | None) -> tuple[tuple[int, ...], ...] | None:
    return None if assignments is None else tuple(tuple(each["broker_ids"]) for each in assignments)


def _create_partitions(body: ReadEntity, _: int) -> CreatePartitionsRequest:
    topics = (
        message_of(CreatePartitionsTopic, topic, assignments=_assigned_brokers(topic["assignments"]))
        for topic in body["topics"]
    )
    return message_of(CreatePartitionsRequest, body, topics=tuple(topics))


def _add_partitions_to_txn(body: ReadEntity, version: int) -> AddPartitionsToTxnRequest:
    """Source: AddPartitionsToTxnRequest#normalizeRequest (4.3.1)."""
    if version < _FIRST_BATCHED_ADD_PARTITIONS:
        old = AddPartitionsToTxnTransaction(
            transactional_id=body["v3_and_below_transactional_id"],
            producer_id=body["v3_and_below_producer_id"],
            producer_epoch=body["v3_and_below_producer_epoch"],
            verify_only=False,
            partitions=_partitions(body["v3_and_below_topics"]),
        )
        return AddPartitionsToTxnRequest(transactions=(old,))
    transactions = (
        message_of(AddPartitionsToTxnTransaction, each, partitions=_partitions(each["topics"]))
        for each in body["transactions"]
    )
    return AddPartitionsToTxnRequest(transactions=tuple(transactions))


def _partitions(topics: Iterable[ReadEntity]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic["name"], index) for topic in topics for index in topic["partitions"])


def _describe_topic_partitions(body: ReadEntity, _: int) -> tools.DescribeTopicPartitionsRequest:
    names = tuple(each["name"] for each in body["topics"])
    return message_of(tools.DescribeTopicPartitionsRequest, body, topics=names)


def _describe_quorum(body: ReadEntity, _: int) -> DescribeQuorumRequest:
    topics = (
        QuorumTopic(topic_name=topic["topic_name"], partitions=_indexes(topic)) for topic in body["topics"]
    )
    return DescribeQuorumRequest(topics=tuple(topics))


def _consumer_group_heartbeat(body: ReadEntity, _: int) -> ConsumerGroupHeartbeatRequest:
    # In Kafka every topic here has an id: the one of zeros is an id like any other.
    for topic in body["topic_partitions"] or ():
        topic["topic_id"] = topic["topic_id"] or _ID_OF_ZEROS
    return message_of(ConsumerGroupHeartbeatRequest, body)


def _as_read(cls: "type[brokers.BrokerRequest]") -> "_Mapping":
    """Return a function that converts a body to a message unchanged, in any version."""
    return lambda body, _: message_of(cls, body)


_Mapping: TypeAlias = Callable[[ReadEntity, int], brokers.BrokerRequest]

_MESSAGES: Final[Mapping[Api, _Mapping]] = MappingProxyType(
    {
        Api.PRODUCE: _produce,
        Api.FETCH: _fetch,
        Api.LIST_OFFSETS: _list_offsets,
        Api.METADATA: _metadata,
        Api.OFFSET_COMMIT: _as_read(OffsetCommitRequest),
        Api.OFFSET_FETCH: _offset_fetch,
        Api.FIND_COORDINATOR: _find_coordinator,
        Api.JOIN_GROUP: _join_group,
        Api.HEARTBEAT: _as_read(HeartbeatRequest),
        Api.LEAVE_GROUP: _leave_group,
        Api.SYNC_GROUP: _as_read(SyncGroupRequest),
        Api.DESCRIBE_GROUPS: _as_read(DescribeGroupsRequest),
        Api.LIST_GROUPS: _as_read(ListGroupsRequest),
        Api.API_VERSIONS: _as_read(brokers.ApiVersionsRequest),
        Api.CREATE_TOPICS: _create_topics,
        Api.DELETE_TOPICS: _delete_topics,
        Api.DELETE_RECORDS: _as_read(DeleteRecordsRequest),
        Api.INIT_PRODUCER_ID: _as_read(InitProducerIdRequest),
        Api.OFFSET_FOR_LEADER_EPOCH: _as_read(OffsetForLeaderEpochRequest),
        Api.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
        Api.ADD_OFFSETS_TO_TXN: _as_read(AddOffsetsToTxnRequest),
        Api.END_TXN: _as_read(EndTxnRequest),
        Api.WRITE_TXN_MARKERS: _as_read(WriteTxnMarkersRequest),
        Api.TXN_OFFSET_COMMIT: _as_read(TxnOffsetCommitRequest),
        Api.DESCRIBE_ACLS: _as_read(DescribeAclsRequest),
        Api.CREATE_ACLS: _as_read(CreateAclsRequest),
        Api.CREATE_PARTITIONS: _create_partitions,
        Api.DELETE_GROUPS: _as_read(DeleteGroupsRequest),
        Api.OFFSET_DELETE: _offset_delete,
        Api.DESCRIBE_CLUSTER: _as_read(DescribeClusterRequest),
        Api.DESCRIBE_CONFIGS: _as_read(tools.DescribeConfigsRequest),
        Api.INCREMENTAL_ALTER_CONFIGS: _as_read(tools.IncrementalAlterConfigsRequest),
        Api.DESCRIBE_TRANSACTIONS: _as_read(tools.DescribeTransactionsRequest),
        Api.LIST_TRANSACTIONS: _as_read(tools.ListTransactionsRequest),
        Api.CONSUMER_GROUP_HEARTBEAT: _consumer_group_heartbeat,
        Api.SHARE_GROUP_HEARTBEAT: _as_read(ShareGroupHeartbeatRequest),
        Api.SHARE_GROUP_DESCRIBE: _as_read(ShareGroupDescribeRequest),
        Api.DESCRIBE_SHARE_GROUP_OFFSETS: _as_read(DescribeShareGroupOffsetsRequest),
        Api.ALTER_SHARE_GROUP_OFFSETS: _as_read(AlterShareGroupOffsetsRequest),
        Api.DELETE_SHARE_GROUP_OFFSETS: _as_read(DeleteShareGroupOffsetsRequest),
        Api.CONSUMER_GROUP_DESCRIBE: _as_read(ConsumerGroupDescribeRequest),
        Api.STREAMS_GROUP_HEARTBEAT: _as_read(StreamsGroupHeartbeatRequest),
        Api.STREAMS_GROUP_DESCRIBE: _as_read(StreamsGroupDescribeRequest),
        Api.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: _as_read(
            tools.StreamsGroupTopologyDescriptionUpdateRequest
        ),
        Api.LIST_CONFIG_RESOURCES: _as_read(tools.ListConfigResourcesRequest),
        Api.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
        Api.DESCRIBE_LOG_DIRS: _as_read(DescribeLogDirsRequest),
        Api.DESCRIBE_QUORUM: _describe_quorum,
        Api.SHARE_FETCH: _as_read(ShareFetchRequest),
        Api.SHARE_ACKNOWLEDGE: _as_read(ShareAcknowledgeRequest),
        Api.INITIALIZE_SHARE_GROUP_STATE: _as_read(InitializeShareGroupStateRequest),
        Api.READ_SHARE_GROUP_STATE: _as_read(ReadShareGroupStateRequest),
        Api.WRITE_SHARE_GROUP_STATE: _as_read(WriteShareGroupStateRequest),
        Api.DELETE_SHARE_GROUP_STATE: _as_read(DeleteShareGroupStateRequest),
        Api.READ_SHARE_GROUP_STATE_SUMMARY: _as_read(ReadShareGroupStateSummaryRequest),
    }
)
