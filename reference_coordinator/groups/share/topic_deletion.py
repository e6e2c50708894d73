"""What the deletion of topics does to share groups."""

from collections.abc import Collection

from reference_coordinator.core.ids import TopicId
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_state_partition_metadata_record,
)
from reference_coordinator.groups.share.state_partitions import InitMap, attach_topic_name
from reference_coordinator.runtime.coordinator_result import VoidResult


def maybe_cleanup_share_group_state(
    shard: GroupMetadataManager, deleted_topic_ids: Collection[TopicId]
) -> None:
    """Record in each share group that partitions of deleted topics have no state any more.

    Source: GroupMetadataManager#maybeCleanupShareGroupState (4.3.1).
    """
    for group in shard.groups():
        known = group.state_partitions if isinstance(group, ShareGroup) else None
        if known is None:
            continue
        initializing = _left(known.initializing_topics, deleted_topic_ids)
        initialized = _left(known.initialized_topics, deleted_topic_ids)
        deleting = known.deleting_topics.difference(deleted_topic_ids)
        if (initializing, initialized, deleting) != (
            known.initializing_topics,
            known.initialized_topics,
            known.deleting_topics,
        ):
            record = new_share_group_state_partition_metadata_record(
                group.group_id, initializing, initialized, attach_topic_name(deleting, shard.metadata_image)
            )
            shard.append(group.group_id, VoidResult(records=(record,)))


def _left(topics: InitMap, deleted: Collection[TopicId]) -> InitMap:
    return {topic_id: each for topic_id, each in topics.items() if topic_id not in deleted}
