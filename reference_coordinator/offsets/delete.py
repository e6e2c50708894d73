"""OffsetDelete: delete some of a group's offsets."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.core.records import OffsetCommitTombstone
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from reference_coordinator.offsets.expiration import cleanup_group_metadata
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult
from reference_coordinator.runtime.partition_answers import each_partition_once


def delete_offsets(
    shard: CoordinatorShard, request: OffsetDeleteRequest
) -> CoordinatorResult[OffsetDeleteResponse]:
    """Delete offsets of topics to which no member of the group subscribes.

    The Scala coordinator deletes them at once, before the tombstones are written.

    Raises:
        CoordinatorError: the group does not exist, or it has members that are not consumers.

    Source: OffsetMetadataManager#deleteOffsets (4.3.1), GroupCoordinator#handleDeleteOffsets (3.9.2).
    """
    group = validate_offset_delete(shard, request)
    answers_each = shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH)
    topics = request.topics if answers_each else each_partition_once(request.topics)
    deletable = [
        TopicPartition(topic=topic.name, partition=index)
        for topic in topics
        if not _is_read(group, topic.name)
        for index in topic.partition_indexes
    ]
    response = OffsetDeleteResponse(
        error_code=Errors.NONE,
        topics=tuple(_response_topic(group, topic) for topic in topics),
    )
    if not shard.profile.has(Behaviour.DELETION_AWAITS_APPEND):
        # If there is nothing to delete, Kafka does not examine an empty group, and so does not remove it.
        if deletable:
            cleanup_group_metadata(shard, as_classic_group(group), deletable)
        return CoordinatorResult(response=response)
    committed = shard.offsets.of_group(group.group_id)
    records = tuple(
        OffsetCommitTombstone(group_id=group.group_id, topic=each.topic, partition=each.partition)
        for each in deletable
        if each in committed or shard.offsets.transactions.contains(group.group_id, each)
    )
    return CoordinatorResult(records=records, response=response)


def validate_offset_delete(shard: CoordinatorShard, request: OffsetDeleteRequest) -> Group:
    """Return the group; refuse the request if the group has members that are not consumers.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

    Source: OffsetMetadataManager#validateOffsetDelete (4.3.1), GroupCoordinator#handleDeleteOffsets (3.9.2).
    """
    group = shard.group(request.group_id)
    group.validate_offset_delete()
    return group


def _is_read(group: Group, topic: str) -> bool:
    # Empty consumer groups have no subscription; in one that never had a generation it is unknown.
    return not group.is_empty and group.is_subscribed_to_topic(topic)


def _response_topic(group: Group, topic: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    read = _is_read(group, topic.name)
    error = Errors.GROUP_SUBSCRIBED_TO_TOPIC if read else Errors.NONE
    return OffsetDeleteResponseTopic(
        name=topic.name,
        partitions=tuple(
            OffsetDeleteResponsePartition(partition_index=index, error_code=error)
            for index in topic.partition_indexes
        ),
    )
