"""The answer to a request that failed as a whole: the same error in every error field of the response.

Source: AbstractRequest#getErrorResponse of each, which KafkaApis#handle sends when a handler throws (4.3.1).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, get_args, get_type_hints

from reference_coordinator import broker_messages as brokers
from reference_coordinator import messages as groups
from reference_coordinator.broker.offset_apis import failed_fetch
from reference_coordinator.broker.transaction_partitions import marker_result, result_of
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse, acls, inspection, tools
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    UNKNOWN_MEMBER_ID,
    GroupId,
    TopicPartition,
)
from reference_coordinator.messages import AUTHORIZED_OPERATIONS_OMITTED
from reference_coordinator.messages.share_groups import ShareGroupRequest
from reference_coordinator.runtime.error_responses import (
    consumer_describe_error,
    join_error,
    streams_describe_error,
    sync_error,
)
from reference_coordinator.runtime.share_error_responses import share_error_response
from reference_coordinator.shares import messages as shares
from reference_coordinator.topic_logs import messages as logs
from reference_coordinator.transactions import messages as txn

_NO_NODE: Final = -1
_NO_ACKS: Final = 0
_FIRST_OFFSET_FETCH_ERROR: Final = 2
_FIRST_ADD_PARTITIONS_ERROR: Final = 4
_FIRST_FETCH_ERROR_ALONE: Final = 13
"""From this version on, a failed Fetch has only a top-level error; before, its partitions have it, too."""
_NAMES: Final = frozenset(
    ("name", "topic", "topic_id", "index", "partition", "partition_index", "resource_type", "resource_name")
)
"""The fields that identify an item, with the same names in requests and responses."""
ResultT = TypeVar("ResultT")
_Refusal: TypeAlias = Callable[[Any, Errors], BrokerResponse]


def error_response(request: BrokerRequest, error: Errors, *, api_version: int) -> BrokerResponse:
    """Return the answer to a request that failed.

    Raises:
        KeyError: there is no such answer to this type of request.
    """
    if api_version >= _FIRST_OFFSET_FETCH_ERROR and isinstance(request, groups.OffsetFetchRequest):
        request = replace(request, groups=tuple(replace(each, topics=()) for each in request.groups))
    if api_version >= _FIRST_ADD_PARTITIONS_ERROR and isinstance(request, txn.AddPartitionsToTxnRequest):
        request = replace(request, transactions=())
    if api_version >= _FIRST_FETCH_ERROR_ALONE and isinstance(request, logs.FetchRequest):
        request = replace(request, topics=())
    response: BrokerResponse = _RESPONSES[type(request)](request, error)
    return response


def _results(
    result: Callable[..., ResultT], asked: Iterable[object], **others: object
) -> tuple[ResultT, ...]:
    """Return a result for each requested item, with the item's identifying fields and the given others."""
    names = [each for each in get_type_hints(result) if each in _NAMES]
    return tuple(
        result(**{each: getattr(item, each) for each in names if hasattr(item, each)}, **others)
        for item in asked
    )


def _by_topic(
    result: Callable[..., ResultT], of_partition: Callable[..., object], topics: Iterable[Any], error: Errors
) -> tuple[ResultT, ...]:
    """Return a result for each topic, with the error on each of its partitions."""
    return tuple(
        each
        for topic in topics
        for each in _results(
            result, [topic], partitions=_results(of_partition, topic.partitions, error_code=error)
        )
    )


def _only(response: Callable[..., BrokerResponse]) -> _Refusal:
    return lambda _, error: response(error_code=error)


def _of_partitions(
    response: Callable[..., BrokerResponse],
    result: Callable[..., object],
    of_partition: Callable[..., object],
) -> _Refusal:
    return lambda asked, error: response(topics=_by_topic(result, of_partition, asked.topics, error))


def _produce(request: logs.ProduceRequest, error: Errors) -> logs.ProduceResponse | logs.Unanswered:
    """Source: ProduceRequest#getErrorResponse (4.3.1)."""
    if request.acks == _NO_ACKS:
        return logs.Unanswered(failure=f"a Produce that wants no answer failed: {error.name}")
    return logs.ProduceResponse(
        responses=tuple(
            logs.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=_results(
                    logs.PartitionProduceResponse, topic.partition_data, error_code=error
                ),
            )
            for topic in request.topic_data
        )
    )


def _fetch(request: logs.FetchRequest, error: Errors) -> logs.FetchResponse:
    """Source: FetchRequest#getErrorResponse (4.3.1)."""
    return logs.FetchResponse(
        error_code=error,
        responses=tuple(
            logs.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(
                    logs.FetchPartitionData(partition_index=each.partition, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _metadata(request: brokers.MetadataRequest, error: Errors) -> brokers.MetadataResponse:
    """Source: MetadataRequest#getErrorResponse (4.3.1)."""
    topics = [replace(each, name=each.name or "") for each in request.topics or ()]
    return brokers.MetadataResponse(
        brokers=(),
        cluster_id=None,
        controller_id=_NO_NODE,
        topics=_results(
            brokers.MetadataResponseTopic,
            topics,
            error_code=error,
            is_internal=False,
            partitions=(),
            topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
        ),
        cluster_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
        error_code=error,
    )


def _fetched(group: groups.OffsetFetchRequestGroup, error: Errors) -> groups.OffsetFetchResponseGroup:
    """Source: OffsetFetchRequest#getErrorResponse (4.3.1)."""
    return groups.OffsetFetchResponseGroup(
        group_id=group.group_id,
        error_code=error,
        topics=tuple(failed_fetch(topic, error) for topic in group.topics or ()),
    )


def _described(group_id: GroupId, error: Errors) -> groups.DescribedGroup:
    return groups.DescribedGroup(
        error_code=error,
        error_message=None,
        group_id=group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )


def _described_topic(name: str, error: Errors) -> tools.DescribedTopic:
    return tools.DescribedTopic(
        error_code=error,
        name=name,
        topic_id=None,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
    )


def _describe_cluster(_: logs.DescribeClusterRequest, error: Errors) -> logs.DescribeClusterResponse:
    return logs.DescribeClusterResponse(
        error_code=error,
        error_message=None,
        cluster_id="",
        controller_id=_NO_NODE,
        brokers=(),
        cluster_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
    )


def _write_txn_markers(request: txn.WriteTxnMarkersRequest, error: Errors) -> txn.WriteTxnMarkersResponse:
    return txn.WriteTxnMarkersResponse(
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


def _share_state(request: shares.StateRequest, error: Errors) -> shares.ShareGroupStateResponse:
    """Source: ReadShareGroupStateResponse#toGlobalErrorResponse (4.3.1)."""
    is_refused = error is Errors.CLUSTER_AUTHORIZATION_FAILED
    partitions = {
        "error_code": error,
        "error_message": "Cluster authorization failed." if is_refused else None,
    }
    return shares.ShareGroupStateResponse(
        results=tuple(
            shares.StateTopicResult(
                topic_id=topic.topic_id,
                partitions=_results(shares.StatePartitionResult, topic.partitions, **partitions),
            )
            for topic in request.topics
        )
    )


_OF_GROUPS: Final[Mapping[type, _Refusal]] = MappingProxyType(
    {
        groups.JoinGroupRequest: lambda _, error: join_error(UNKNOWN_MEMBER_ID, error),
        groups.SyncGroupRequest: lambda _, error: sync_error(error),
        groups.HeartbeatRequest: _only(groups.HeartbeatResponse),
        groups.LeaveGroupRequest: lambda _, error: groups.LeaveGroupResponse(error_code=error, members=()),
        groups.DescribeGroupsRequest: lambda asked, error: groups.DescribeGroupsResponse(
            groups=tuple(_described(each, error) for each in asked.groups)
        ),
        groups.ListGroupsRequest: lambda _, error: groups.ListGroupsResponse(error_code=error, groups=()),
        groups.DeleteGroupsRequest: lambda asked, error: groups.DeleteGroupsResponse(
            results=tuple(
                groups.DeletableGroupResult(group_id=each, error_code=error) for each in asked.groups_names
            )
        ),
        groups.OffsetCommitRequest: _of_partitions(
            groups.OffsetCommitResponse,
            groups.OffsetCommitResponseTopic,
            groups.OffsetCommitResponsePartition,
        ),
        groups.OffsetFetchRequest: lambda asked, error: groups.OffsetFetchResponse(
            groups=tuple(_fetched(each, error) for each in asked.groups)
        ),
        groups.OffsetDeleteRequest: lambda _, error: groups.OffsetDeleteResponse(error_code=error, topics=()),
        groups.TxnOffsetCommitRequest: _of_partitions(
            groups.TxnOffsetCommitResponse,
            groups.OffsetCommitResponseTopic,
            groups.OffsetCommitResponsePartition,
        ),
        groups.ConsumerGroupHeartbeatRequest: lambda _, error: groups.ConsumerGroupHeartbeatResponse(
            error_code=error
        ),
        groups.ConsumerGroupDescribeRequest: consumer_describe_error,
        **dict.fromkeys(get_args(ShareGroupRequest), share_error_response),
        groups.StreamsGroupHeartbeatRequest: lambda _, error: groups.StreamsGroupHeartbeatResponse(
            error_code=error
        ),
        groups.StreamsGroupDescribeRequest: streams_describe_error,
    }
)
_OF_TOPICS: Final[Mapping[type, _Refusal]] = MappingProxyType(
    {
        brokers.CreateTopicsRequest: lambda asked, error: brokers.CreateTopicsResponse(
            topics=_results(brokers.CreatableTopicResult, asked.topics, error_code=error)
        ),
        brokers.DeleteTopicsRequest: lambda asked, error: brokers.DeleteTopicsResponse(
            responses=_results(brokers.DeletableTopicResult, asked.topics, error_code=error)
        ),
        logs.ProduceRequest: _produce,
        logs.FetchRequest: _fetch,
        logs.ListOffsetsRequest: _of_partitions(
            logs.ListOffsetsResponse, logs.ListOffsetsTopicResponse, logs.ListOffsetsPartitionResponse
        ),
        logs.OffsetForLeaderEpochRequest: _of_partitions(
            logs.OffsetForLeaderEpochResponse, logs.OffsetForLeaderTopicResult, logs.EpochEndOffset
        ),
        logs.DeleteRecordsRequest: _of_partitions(
            logs.DeleteRecordsResponse, logs.DeleteRecordsTopicResult, logs.DeleteRecordsPartitionResult
        ),
        logs.CreatePartitionsRequest: lambda asked, error: logs.CreatePartitionsResponse(
            results=_results(logs.CreatePartitionsTopicResult, asked.topics, error_code=error)
        ),
        tools.DescribeConfigsRequest: lambda asked, error: tools.DescribeConfigsResponse(
            results=_results(
                tools.DescribeConfigsResult, asked.resources, error_code=error, error_message=None
            )
        ),
        tools.IncrementalAlterConfigsRequest: lambda asked, error: tools.IncrementalAlterConfigsResponse(
            responses=_results(
                tools.AlterConfigsResourceResponse, asked.resources, error_code=error, error_message=None
            )
        ),
        tools.ListTransactionsRequest: _only(tools.ListTransactionsResponse),
        tools.DescribeTransactionsRequest: lambda asked, error: tools.DescribeTransactionsResponse(
            transaction_states=tuple(
                tools.DescribedTransaction(error_code=error, transactional_id=each)
                for each in asked.transactional_ids
            )
        ),
        txn.InitProducerIdRequest: lambda _, error: txn.InitProducerIdResponse(
            error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        ),
        txn.AddPartitionsToTxnRequest: lambda asked, error: txn.AddPartitionsToTxnResponse(
            error_code=error,
            results_by_transaction=tuple(
                result_of(each.transactional_id, dict.fromkeys(each.partitions, error))
                for each in asked.transactions
            ),
        ),
        txn.AddOffsetsToTxnRequest: lambda _, error: txn.AddOffsetsToTxnResponse(error_code=error),
        txn.EndTxnRequest: _only(txn.EndTxnResponse),
        txn.WriteTxnMarkersRequest: _write_txn_markers,
    }
)
ABOUT_TOPICS: Final = tuple(_OF_TOPICS)
"""The requests that write topics, their logs and transactions, or that read them."""
_RESPONSES: Final[Mapping[type, _Refusal]] = MappingProxyType(
    {
        **_OF_GROUPS,
        **_OF_TOPICS,
        brokers.ApiVersionsRequest: lambda _, error: brokers.ApiVersionsResponse(
            error_code=error, api_keys=()
        ),
        brokers.MetadataRequest: _metadata,
        brokers.FindCoordinatorRequest: lambda asked, error: brokers.FindCoordinatorResponse(
            coordinators=tuple(
                brokers.Coordinator(
                    key=each, node_id=_NO_NODE, host="", port=-1, error_code=error, error_message=None
                )
                for each in asked.coordinator_keys
            )
        ),
        logs.DescribeClusterRequest: _describe_cluster,
        tools.ListConfigResourcesRequest: lambda _, error: tools.ListConfigResourcesResponse(
            error_code=error
        ),
        tools.DescribeTopicPartitionsRequest: lambda asked, error: tools.DescribeTopicPartitionsResponse(
            topics=tuple(_described_topic(each, error) for each in asked.topics), next_cursor=None
        ),
        inspection.DescribeLogDirsRequest: lambda _, error: inspection.DescribeLogDirsResponse(
            error_code=error
        ),
        inspection.DescribeQuorumRequest: lambda _, error: inspection.DescribeQuorumResponse(
            error_code=error
        ),
        tools.StreamsGroupTopologyDescriptionUpdateRequest: _only(
            tools.StreamsGroupTopologyDescriptionUpdateResponse
        ),
        acls.CreateAclsRequest: lambda asked, error: acls.CreateAclsResponse(
            results=(acls.AclCreationResult(error_code=error),) * len(asked.creations)
        ),
        acls.DescribeAclsRequest: _only(acls.DescribeAclsResponse),
        shares.ShareFetchRequest: _only(shares.ShareFetchResponse),
        shares.ShareAcknowledgeRequest: _only(shares.ShareAcknowledgeResponse),
        **dict.fromkeys(get_args(shares.StateRequest), _share_state),
    }
)
