"""The answer to a request that failed as a whole: the same error wherever the response has room for one.

Source: AbstractRequest#getErrorResponse, which KafkaApis#handle sends when a handler throws (4.3.1).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, get_args

from reference_coordinator.broker.share_error_responses import SHARE_ERROR_RESPONSES
from reference_coordinator.broker.tool_error_responses import (
    TOOL_ERROR_RESPONSES,
    TOOL_REQUESTS_ABOUT_TOPICS,
)
from reference_coordinator.broker.topic_error_responses import (
    FIRST_FETCH_ERROR_ALONE,
    TOPIC_ERROR_RESPONSES,
    TOPIC_REQUESTS,
)
from reference_coordinator.broker.transaction_partitions import marker_result, result_of
from reference_coordinator.broker_messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BrokerRequest,
    BrokerResponse,
    Coordinator,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    UNKNOWN_MEMBER_ID,
    TopicPartition,
)
from reference_coordinator.messages import (
    AUTHORIZED_OPERATIONS_OMITTED,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.messages.share_groups import ShareGroupRequest
from reference_coordinator.runtime.error_responses import (
    consumer_describe_error,
    join_error,
    streams_describe_error,
    sync_error,
)
from reference_coordinator.runtime.share_error_responses import share_error_response
from reference_coordinator.topic_logs.messages import FetchRequest
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_NO_OFFSET: Final = -1
_NO_NODE: Final = -1


_FIRST_OFFSET_FETCH_ERROR: Final = 2
_FIRST_ADD_PARTITIONS_ERROR: Final = 4


def error_response(request: BrokerRequest, error: Errors, *, api_version: int) -> BrokerResponse:
    """Return what a client is told when its request failed.

    Raises:
        KeyError: no answer of this kind is known to such a request.
    """
    if api_version >= _FIRST_OFFSET_FETCH_ERROR and isinstance(request, OffsetFetchRequest):
        request = replace(request, groups=tuple(replace(each, topics=()) for each in request.groups))
    if api_version >= _FIRST_ADD_PARTITIONS_ERROR and isinstance(request, AddPartitionsToTxnRequest):
        request = replace(request, transactions=())
    if api_version >= FIRST_FETCH_ERROR_ALONE and isinstance(request, FetchRequest):
        request = replace(request, topics=())
    response: BrokerResponse = _RESPONSES[type(request)](request, error)
    return response


def _metadata(request: MetadataRequest, error: Errors) -> MetadataResponse:
    """Source: MetadataRequest#getErrorResponse (4.3.1)."""
    return MetadataResponse(
        brokers=(),
        cluster_id=None,
        controller_id=_NO_NODE,
        topics=tuple(
            MetadataResponseTopic(
                error_code=error,
                name=topic.name or "",
                topic_id=topic.topic_id,
                is_internal=False,
                partitions=(),
                topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
            )
            for topic in request.topics or ()
        ),
        cluster_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
        error_code=error,
    )


def _create_topics(request: CreateTopicsRequest, error: Errors) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=tuple(CreatableTopicResult(name=topic.name, error_code=error) for topic in request.topics)
    )


def _delete_topics(request: DeleteTopicsRequest, error: Errors) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=tuple(
            DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=error)
            for topic in request.topics
        )
    )


def _find_coordinator(request: FindCoordinatorRequest, error: Errors) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, node_id=_NO_NODE, host="", port=-1, error_code=error, error_message=None)
            for key in request.coordinator_keys
        )
    )


def _describe_groups(request: DescribeGroupsRequest, error: Errors) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=tuple(
            DescribedGroup(
                error_code=error,
                error_message=None,
                group_id=group_id,
                group_state="",
                protocol_type="",
                protocol_data="",
                members=(),
            )
            for group_id in request.groups
        )
    )


def _delete_groups(request: DeleteGroupsRequest, error: Errors) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletableGroupResult(group_id=group_id, error_code=error) for group_id in request.groups_names
        )
    )


def _committed(
    topics: tuple[OffsetCommitRequestTopic, ...], error: Errors
) -> tuple[OffsetCommitResponseTopic, ...]:
    return tuple(
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(
                OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                for each in topic.partitions
            ),
        )
        for topic in topics
    )


def _offset_fetch(request: OffsetFetchRequest, error: Errors) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=tuple(_fetched(group, error) for group in request.groups))


def _fetched(group: OffsetFetchRequestGroup, error: Errors) -> OffsetFetchResponseGroup:
    """Source: OffsetFetchRequest#getErrorResponse (4.3.1)."""
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        error_code=error,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=_NO_OFFSET,
                        committed_leader_epoch=-1,
                        metadata="",
                        error_code=error,
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in group.topics or ()
        ),
    )


def _add_partitions(request: AddPartitionsToTxnRequest, error: Errors) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        error_code=error,
        results_by_transaction=tuple(
            result_of(each.transactional_id, dict.fromkeys(each.partitions, error))
            for each in request.transactions
        ),
    )


def _write_txn_markers(request: WriteTxnMarkersRequest, error: Errors) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=tuple(
            marker_result(
                marker.producer_id,
                {
                    TopicPartition(topic.name, index): error
                    for topic in marker.topics
                    for index in topic.partition_indexes
                },
            )
            for marker in request.markers
        )
    )


_Refusal = Callable[[Any, Errors], BrokerResponse]
_RESPONSES: Final[Mapping[type, _Refusal]] = MappingProxyType(
    {
        ApiVersionsRequest: lambda _, error: ApiVersionsResponse(error_code=error, api_keys=()),
        MetadataRequest: _metadata,
        CreateTopicsRequest: _create_topics,
        DeleteTopicsRequest: _delete_topics,
        FindCoordinatorRequest: _find_coordinator,
        JoinGroupRequest: lambda _, error: join_error(UNKNOWN_MEMBER_ID, error),
        SyncGroupRequest: lambda _, error: sync_error(error),
        HeartbeatRequest: lambda _, error: HeartbeatResponse(error_code=error),
        LeaveGroupRequest: lambda _, error: LeaveGroupResponse(error_code=error, members=()),
        DescribeGroupsRequest: _describe_groups,
        ListGroupsRequest: lambda _, error: ListGroupsResponse(error_code=error, groups=()),
        DeleteGroupsRequest: _delete_groups,
        OffsetCommitRequest: lambda asked, error: OffsetCommitResponse(
            topics=_committed(asked.topics, error)
        ),
        OffsetFetchRequest: _offset_fetch,
        OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error_code=error, topics=()),
        TxnOffsetCommitRequest: lambda asked, error: TxnOffsetCommitResponse(
            topics=_committed(asked.topics, error)
        ),
        ConsumerGroupHeartbeatRequest: lambda _, error: ConsumerGroupHeartbeatResponse(error_code=error),
        ConsumerGroupDescribeRequest: consumer_describe_error,
        **dict.fromkeys(get_args(ShareGroupRequest), share_error_response),
        StreamsGroupHeartbeatRequest: lambda _, error: StreamsGroupHeartbeatResponse(error_code=error),
        StreamsGroupDescribeRequest: streams_describe_error,
        InitProducerIdRequest: lambda _, error: InitProducerIdResponse(
            error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        ),
        AddPartitionsToTxnRequest: _add_partitions,
        AddOffsetsToTxnRequest: lambda _, error: AddOffsetsToTxnResponse(error_code=error),
        EndTxnRequest: lambda _, error: EndTxnResponse(error_code=error),
        WriteTxnMarkersRequest: _write_txn_markers,
        **TOPIC_ERROR_RESPONSES,
        **TOOL_ERROR_RESPONSES,
        **SHARE_ERROR_RESPONSES,
    }
)

ABOUT_TOPICS: Final = (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    *TOPIC_REQUESTS,
    *TOOL_REQUESTS_ABOUT_TOPICS,
    InitProducerIdRequest,
    AddPartitionsToTxnRequest,
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    WriteTxnMarkersRequest,
)
"""The requests that write topics, their logs and transactions, or that read what was written."""
