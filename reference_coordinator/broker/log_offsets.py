"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: the offsets of a log."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.messages import RequestContext
from reference_coordinator.topic_logs import messages as logs
from reference_coordinator.topic_logs.partition_log import OffsetOfTimestamp, PartitionLog

_LATEST: Final = -1
_EARLIEST: Final = -2
_MAX_TIMESTAMP: Final = -3
_EARLIEST_LOCAL: Final = -4
_LATEST_TIERED: Final = -5
_EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE: Final[Mapping[int, int]] = MappingProxyType(
    {
        _LATEST: 1,
        _EARLIEST: 1,
        _MAX_TIMESTAMP: 7,
        _EARLIEST_LOCAL: 8,
        _LATEST_TIERED: 9,
        _EARLIEST_PENDING_UPLOAD: 11,
    }
)
"""The first API version that supports each special timestamp.

Source: ReplicaManager#isListOffsetsTimestampUnsupported (4.3.1).
"""
_HIGH_WATERMARK: Final = -1


def handle_list_offsets(
    broker: Broker, request: logs.ListOffsetsRequest, context: RequestContext
) -> logs.ListOffsetsResponse:
    """Return the offsets of timestamps. Source: ReplicaManager#fetchOffset (4.3.1)."""
    named = Counter(
        (topic.name, each.partition_index) for topic in request.topics for each in topic.partitions
    )
    return logs.ListOffsetsResponse(
        topics=tuple(
            logs.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    logs.ListOffsetsPartitionResponse(
                        partition_index=each.partition_index, error_code=Errors.INVALID_REQUEST
                    )
                    if named[topic.name, each.partition_index] > 1
                    else _list_offset(broker, request, topic.name, each, context)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _list_offset(
    broker: Broker,
    request: logs.ListOffsetsRequest,
    topic: str,
    asked: logs.ListOffsetsPartition,
    context: RequestContext,
) -> logs.ListOffsetsPartitionResponse:
    index = asked.partition_index
    if asked.timestamp < 0 and context.api_version < _SINCE.get(asked.timestamp, context.api_version + 1):
        return logs.ListOffsetsPartitionResponse(partition_index=index, error_code=Errors.UNSUPPORTED_VERSION)
    partition = TopicPartition(topic, index)
    log = log_of_leader(broker, partition, current_leader_epoch=asked.current_leader_epoch)
    if isinstance(log, Errors):
        return logs.ListOffsetsPartitionResponse(partition_index=index, error_code=log)
    epoch = broker.cluster.leader_epoch(*partition)
    found = _offset_of_timestamp(log, asked, epoch, is_committed=request.is_committed)
    return logs.ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=Errors.NONE,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _offset_of_timestamp(
    log: PartitionLog, asked: logs.ListOffsetsPartition, leader_epoch: int, *, is_committed: bool
) -> OffsetOfTimestamp:
    """Source: Partition#fetchOffsetForTimestamp, UnifiedLog#fetchOffsetByTimestamp (4.3.1)."""
    match asked.timestamp:
        case -1:
            end = log.last_stable_offset if is_committed else log.log_end_offset
            return OffsetOfTimestamp(offset=end, leader_epoch=leader_epoch)
        case -2 | -4:
            epoch = log.earliest_epoch(current_epoch=leader_epoch)
            return OffsetOfTimestamp(offset=log.log_start_offset, leader_epoch=epoch)
        case -3:
            return log.offset_of_max_timestamp()
        case -5 | -6:
            # There is no tiered storage.
            return OffsetOfTimestamp()
        case _:
            return log.offset_by_timestamp(asked.timestamp, is_committed=is_committed)


def handle_offset_for_leader_epoch(
    broker: Broker, request: logs.OffsetForLeaderEpochRequest
) -> logs.OffsetForLeaderEpochResponse:
    """Return the end offsets of epochs. Source: ReplicaManager#lastOffsetForLeaderEpoch (4.3.1)."""
    return logs.OffsetForLeaderEpochResponse(
        topics=tuple(
            logs.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=tuple(_epoch_end(broker, topic.topic, each) for each in topic.partitions),
            )
            for topic in request.topics
        )
    )


def _epoch_end(broker: Broker, topic: str, asked: logs.OffsetForLeaderPartition) -> logs.EpochEndOffset:
    partition = TopicPartition(topic, asked.partition)
    log = log_of_leader(broker, partition, current_leader_epoch=asked.current_leader_epoch)
    if isinstance(log, Errors):
        return logs.EpochEndOffset(partition=asked.partition, error_code=log)
    current = broker.cluster.leader_epoch(*partition)
    epoch, end_offset = log.end_offset_for_epoch(asked.leader_epoch, current_epoch=current)
    return logs.EpochEndOffset(
        partition=asked.partition, error_code=Errors.NONE, leader_epoch=epoch, end_offset=end_offset
    )


def handle_delete_records(broker: Broker, request: logs.DeleteRecordsRequest) -> logs.DeleteRecordsResponse:
    """Delete records. Source: ReplicaManager#deleteRecordsOnLocalLog (4.3.1)."""
    return logs.DeleteRecordsResponse(
        topics=tuple(
            logs.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(_delete_records(broker, topic.name, each) for each in topic.partitions),
            )
            for topic in request.topics
        )
    )


def _delete_records(
    broker: Broker, topic: str, asked: logs.DeleteRecordsPartition
) -> logs.DeleteRecordsPartitionResult:
    partition = TopicPartition(topic, asked.partition_index)
    log = log_of_leader(broker, partition)
    known = broker.topics.get(topic)
    if known is not None and known.is_internal:
        log = Errors.INVALID_TOPIC_EXCEPTION
    if isinstance(log, Errors):
        return logs.DeleteRecordsPartitionResult(partition_index=asked.partition_index, error_code=log)
    offset = log.log_end_offset if asked.offset == _HIGH_WATERMARK else asked.offset
    if not 0 <= offset <= log.log_end_offset:
        return logs.DeleteRecordsPartitionResult(
            partition_index=asked.partition_index, error_code=Errors.OFFSET_OUT_OF_RANGE
        )
    log.delete_records(offset)
    broker.topics.logs.changed(partition)
    return logs.DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, error_code=Errors.NONE, low_watermark=log.log_start_offset
    )
