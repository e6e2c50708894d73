"""OffsetFetch: what a group has committed."""

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.errors import Errors
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from reference_coordinator.offsets.answers import each_partition_once
from reference_coordinator.offsets.values import OffsetAndMetadata, TopicPartition
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily


def fetch_offsets(
    shard: Shard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """A group's offsets; a group that is not there has none, which is no error.

    Source: OffsetMetadataManager#fetchOffsets and #fetchAllOffsets (4.3.1),
    GroupMetadataManager#getOffsets (3.9.2).
    """
    group = _group_for_readers(shard, request, require_stable=require_stable)
    topics = _all_committed(shard, group) if request.topics is None else request.topics
    if not shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):
        topics = each_partition_once(topics)
    return OffsetFetchResponseGroup(
        group_id=request.group_id,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    _fetch_partition(
                        shard,
                        group,
                        TopicPartition(topic=topic.name, partition=index),
                        require_stable=require_stable,
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in topics
        ),
        error_code=Errors.NONE,
    )


def fetch_error(request: OffsetFetchRequestGroup, error: Errors) -> OffsetFetchResponseGroup:
    """A fetch refused as a whole. Source: OffsetFetchResponse#groupError (4.3.1)."""
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=(), error_code=error)


def _group_for_readers(
    shard: Shard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> ClassicGroup | None:
    # A fetch that wants offsets stable is a write to the Java coordinator, and sees what writers see.
    group = shard.group(request.group_id) if require_stable else shard.committed_group(request.group_id)
    return None if group is None or group.state is ClassicGroupState.DEAD else group


def _all_committed(shard: Shard, group: ClassicGroup | None) -> tuple[OffsetFetchRequestTopic, ...]:
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
    shard: Shard, group: ClassicGroup | None, partition: TopicPartition, *, require_stable: bool
) -> OffsetFetchResponsePartition:
    if group is None:
        return _answer(partition, None)
    if require_stable and _is_unstable(shard, group, partition):
        return _answer(partition, None, Errors.UNSTABLE_OFFSET_COMMIT)
    return _answer(partition, shard.offsets.of_group(group.group_id).get(partition))


def _is_unstable(shard: Shard, group: ClassicGroup, partition: TopicPartition) -> bool:
    """Whether what is committed may be about to be replaced.

    Source: GroupMetadata#hasPendingOffsetCommitsForTopicPartition (3.9.2),
    OffsetMetadataManager#hasPendingTransactionalOffsets (4.3.1).
    """
    is_scala = shard.profile.coordinator is CoordinatorFamily.SCALA
    is_on_its_way = is_scala and shard.offsets.is_pending(group.group_id, partition)
    return is_on_its_way or shard.offsets.transactions.has(group.group_id, partition)


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
