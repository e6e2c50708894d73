"""The same for the requests about topics' logs.

Source: AbstractRequest#getErrorResponse of each of them (4.3.1).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import AUTHORIZED_OPERATIONS_OMITTED
from reference_coordinator.topic_logs.messages import (
    ClientResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    DescribeClusterRequest,
    DescribeClusterResponse,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartitionData,
    FetchRequest,
    FetchResponse,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
    Unanswered,
)

FIRST_FETCH_ERROR_ALONE: Final = 13
"""From this version on, the error of a whole Fetch stands alone; before, its partitions have it too."""
_NO_ACKS: Final = 0


def _produce(request: ProduceRequest, error: Errors) -> ProduceResponse | Unanswered:
    """Source: ProduceRequest#getErrorResponse (4.3.1)."""
    if request.acks == _NO_ACKS:
        return Unanswered(failure=f"a Produce that wants no answer failed: {error.name}")
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    PartitionProduceResponse(index=each.index, error_code=error)
                    for each in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


def _fetch(request: FetchRequest, error: Errors) -> FetchResponse:
    """Source: FetchRequest#getErrorResponse (4.3.1)."""
    return FetchResponse(
        error_code=error,
        responses=tuple(
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(
                    FetchPartitionData(partition_index=each.partition, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _list_offsets(request: ListOffsetsRequest, error: Errors) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _leader_epochs(request: OffsetForLeaderEpochRequest, error: Errors) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=tuple(
                    EpochEndOffset(partition=each.partition, error_code=error) for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _delete_records(request: DeleteRecordsRequest, error: Errors) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=tuple(
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(
                    DeleteRecordsPartitionResult(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _create_partitions(request: CreatePartitionsRequest, error: Errors) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=tuple(
            CreatePartitionsTopicResult(name=topic.name, error_code=error) for topic in request.topics
        )
    )


def _describe_cluster(_: DescribeClusterRequest, error: Errors) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=error,
        error_message=None,
        cluster_id="",
        controller_id=-1,
        brokers=(),
        cluster_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
    )


TOPIC_ERROR_RESPONSES: Final[Mapping[type, Callable[[Any, Errors], ClientResponse]]] = MappingProxyType(
    {
        ProduceRequest: _produce,
        FetchRequest: _fetch,
        ListOffsetsRequest: _list_offsets,
        OffsetForLeaderEpochRequest: _leader_epochs,
        DeleteRecordsRequest: _delete_records,
        CreatePartitionsRequest: _create_partitions,
        DescribeClusterRequest: _describe_cluster,
    }
)
"""By the type of the request, the answer that tells its error."""

TOPIC_REQUESTS: Final = (
    ProduceRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    DeleteRecordsRequest,
    CreatePartitionsRequest,
)
"""Those that write a topic's log, or read it."""
