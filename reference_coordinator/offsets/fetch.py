"""OffsetFetch: read a group's committed offsets."""

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.core.parts import between_parts
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.values import OffsetAndMetadata
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.error_responses import fetch_error
from reference_coordinator.runtime.partition_answers import each_partition_once


def fetch_offsets(
    shard: CoordinatorShard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """Return a group's offsets; a group that does not exist has none, which is not an error.

    Source: OffsetMetadataManager#fetchOffsets and #fetchAllOffsets (4.3.1),
    GroupMetadataManager#getOffsets (3.9.2).
    """
    try:
        group = _group_for_readers(shard, request, require_stable=require_stable)
    except CoordinatorError as refusal:
        return fetch_error(request, refusal.error)
    except IllegalStateError:
        return fetch_error(request, Errors.UNKNOWN_SERVER_ERROR)
    topics = _all_committed(shard, group) if request.topics is None else request.topics
    if not shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):
        topics = each_partition_once(topics)
    return OffsetFetchResponseGroup(
        group_id=request.group_id,
        topics=tuple(_fetch_topic(shard, group, topic, require_stable=require_stable) for topic in topics),
        error_code=Errors.NONE,
    )


def _fetch_topic(
    shard: CoordinatorShard, group: Group | None, topic: OffsetFetchRequestTopic, *, require_stable: bool
) -> OffsetFetchResponseTopic:
    between_parts()
    partitions = (TopicPartition(topic=topic.name, partition=index) for index in topic.partition_indexes)
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=tuple(
            _fetch_partition(shard, group, each, require_stable=require_stable) for each in partitions
        ),
    )


def _group_for_readers(
    shard: CoordinatorShard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> Group | None:
    # To the Java coordinator, a fetch of stable offsets is a write: it sees uncommitted state, as writes do.
    try:
        group = shard.group(request.group_id, committed=not require_stable)
        group.validate_offset_fetch(request.member_id, request.member_epoch)
    except CoordinatorError as refusal:
        if refusal.error is not Errors.GROUP_ID_NOT_FOUND:
            raise
        return None
    return group


def _all_committed(shard: CoordinatorShard, group: Group | None) -> tuple[OffsetFetchRequestTopic, ...]:
    if group is None:
        return ()
    by_topic: dict[str, list[int]] = {}
    for each in shard.offsets.of_group(group.group_id):
        by_topic.setdefault(each.topic, []).append(each.partition)
    return tuple(
        OffsetFetchRequestTopic(name=name, partition_indexes=tuple(indexes))
        for name, indexes in by_topic.items()
    )


def _fetch_partition(
    shard: CoordinatorShard, group: Group | None, partition: TopicPartition, *, require_stable: bool
) -> OffsetFetchResponsePartition:
    if group is None:
        return _answer(partition, None)
    if require_stable and _is_unstable(shard, group, partition):
        return _answer(partition, None, Errors.UNSTABLE_OFFSET_COMMIT)
    return _answer(partition, shard.offsets.of_group(group.group_id).get(partition))


def _is_unstable(shard: CoordinatorShard, group: Group, partition: TopicPartition) -> bool:
    """Return whether a pending write or transaction may replace the committed offset.

    Decided in: GroupMetadata#hasPendingOffsetCommitsForTopicPartition (3.9.2),
    OffsetMetadataManager#hasPendingTransactionalOffsets (4.3.1).
    """
    is_scala = shard.profile.coordinator is CoordinatorFamily.SCALA
    is_on_its_way = is_scala and shard.offsets.has_pending_offset_commits_for_topic_partition(
        group.group_id, partition
    )
    return is_on_its_way or shard.offsets.transactions.contains(group.group_id, partition)


def _answer(
    partition: TopicPartition, offset: OffsetAndMetadata | None, error: Errors = Errors.NONE
) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition.partition,
        committed_offset=-1 if offset is None else offset.offset,
        committed_leader_epoch=-1 if offset is None else offset.leader_epoch,
        metadata="" if offset is None else offset.metadata,
        error_code=error,
    )
