"""Requests about topics' logs as they were read, to version-free messages."""

from typing import Final

from reference_coordinator.core.ids import TopicId
from reference_coordinator.topic_logs.messages import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DescribeClusterRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from reference_coordinator.wire.entities import MalformedRequestError
from reference_coordinator.wire.reading import ReadEntity

_READ_COMMITTED: Final = 1
_NO_EPOCH: Final = -1


def produce(body: ReadEntity, _: int) -> ProduceRequest:
    """Return the message of a Produce."""
    return ProduceRequest(
        transactional_id=body["transactional_id"],
        acks=body["acks"],
        timeout_ms=body["timeout"],
        topic_data=tuple(
            TopicProduceData(
                name=topic.get("name", ""),
                topic_id=topic_id_of(topic),
                partition_data=tuple(_records(each) for each in topic["partition_data"]),
            )
            for topic in body["topic_data"]
        ),
    )


def _records(data: ReadEntity) -> PartitionProduceData:
    """Return records, without which Kafka fails over the request.

    Source: ProduceRequest#partitionSizes (3.9.2).
    """
    if data["records"] is None:
        raise MalformedRequestError("records are null, which they may not be")
    return PartitionProduceData(index=data["index"], records=data["records"])


def fetch(body: ReadEntity, _: int) -> FetchRequest:
    """Return the message of a Fetch."""
    return FetchRequest(
        max_wait_ms=body["max_wait"],
        min_bytes=body["min_bytes"],
        max_bytes=body["max_bytes"],
        is_committed=body["isolation_level"] == _READ_COMMITTED,
        session_id=body.get("session_id", 0),
        session_epoch=body.get("session_epoch", -1),
        topics=tuple(
            FetchTopic(
                topic=topic.get("topic", ""),
                topic_id=topic_id_of(topic),
                partitions=tuple(
                    FetchPartition(
                        partition=each["partition"],
                        current_leader_epoch=each.get("current_leader_epoch", _NO_EPOCH),
                        fetch_offset=each["fetch_offset"],
                        partition_max_bytes=each["partition_max_bytes"],
                    )
                    for each in topic["partitions"]
                ),
            )
            for topic in body["topics"]
        ),
    )


def list_offsets(body: ReadEntity, _: int) -> ListOffsetsRequest:
    """Return the message of a ListOffsets."""
    return ListOffsetsRequest(
        is_committed=body.get("isolation_level", 0) == _READ_COMMITTED,
        topics=tuple(
            ListOffsetsTopic(
                name=topic["name"],
                partitions=tuple(
                    ListOffsetsPartition(
                        partition_index=each["partition_index"],
                        current_leader_epoch=each.get("current_leader_epoch", _NO_EPOCH),
                        timestamp=each["timestamp"],
                    )
                    for each in topic["partitions"]
                ),
            )
            for topic in body["topics"]
        ),
    )


def offset_for_leader_epoch(body: ReadEntity, _: int) -> OffsetForLeaderEpochRequest:
    """Return the message of an OffsetForLeaderEpoch."""
    return OffsetForLeaderEpochRequest(
        topics=tuple(
            OffsetForLeaderTopic(
                topic=topic["topic"],
                partitions=tuple(
                    OffsetForLeaderPartition(
                        partition=each["partition"],
                        current_leader_epoch=each["current_leader_epoch"],
                        leader_epoch=each["leader_epoch"],
                    )
                    for each in topic["partitions"]
                ),
            )
            for topic in body["topics"]
        )
    )


def delete_records(body: ReadEntity, _: int) -> DeleteRecordsRequest:
    """Return the message of a DeleteRecords."""
    return DeleteRecordsRequest(
        topics=tuple(
            DeleteRecordsTopic(
                name=topic["name"],
                partitions=tuple(
                    DeleteRecordsPartition(partition_index=each["partition_index"], offset=each["offset"])
                    for each in topic["partitions"]
                ),
            )
            for topic in body["topics"]
        )
    )


def create_partitions(body: ReadEntity, _: int) -> CreatePartitionsRequest:
    """Return the message of a CreatePartitions."""
    return CreatePartitionsRequest(
        topics=tuple(
            CreatePartitionsTopic(
                name=topic["name"], count=topic["count"], has_assignments=bool(topic["assignments"])
            )
            for topic in body["topics"]
        ),
        validate_only=body["validate_only"],
    )


def describe_cluster(body: ReadEntity, _: int) -> DescribeClusterRequest:
    """Return the message of a DescribeCluster."""
    return DescribeClusterRequest(
        include_cluster_authorized_operations=body["include_cluster_authorized_operations"],
        endpoint_type=body.get("endpoint_type", 1),
    )


def topic_id_of(topic: ReadEntity) -> TopicId | None:
    """Return the id that names a topic; None in a version without, or where it is zero."""
    topic_id = topic.get("topic_id", None)
    return None if topic_id is None else TopicId(str(topic_id))
