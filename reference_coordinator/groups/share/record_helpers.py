"""The records of share groups. Source: GroupCoordinatorRecordHelpers (4.3.1)."""

from collections.abc import Iterable, Mapping

from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.share_records import (
    ShareGroupCurrentMemberAssignmentRecord,
    ShareGroupCurrentMemberAssignmentTombstone,
    ShareGroupMemberMetadataRecord,
    ShareGroupMemberMetadataTombstone,
    ShareGroupMetadataRecord,
    ShareGroupMetadataTombstone,
    ShareGroupPartitionMetadataRecord,
    ShareGroupPartitionMetadataTombstone,
    ShareGroupStatePartitionMetadataRecord,
    ShareGroupStatePartitionMetadataTombstone,
    ShareGroupTargetAssignmentMemberRecord,
    ShareGroupTargetAssignmentMemberTombstone,
    ShareGroupTargetAssignmentMetadataRecord,
    ShareGroupTargetAssignmentMetadataTombstone,
    ShareTopicPartitions,
    TopicInfo,
    TopicPartitionsInfo,
)
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.share.member import AssignedPartitions, ShareGroupMember
from reference_coordinator.groups.share.state_partitions import InitMap
from reference_coordinator.profile.profiles import Behaviour, Profile


def new_share_group_member_subscription_record(
    group_id: GroupId, member: ShareGroupMember
) -> ShareGroupMemberMetadataRecord:
    """Return the record of a member's metadata and subscription.

    Source: GroupCoordinatorRecordHelpers#newShareGroupMemberSubscriptionRecord (4.3.1).
    """
    return ShareGroupMemberMetadataRecord(
        group_id=group_id,
        member_id=member.member_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
    )


def new_share_group_epoch_records(
    group_id: GroupId, group_epoch: int, metadata: SubscriptionMetadata, before: SubscriptionMetadata
) -> tuple[CoordinatorRecord, ...]:
    """Return the group epoch's record, after one of the subscribed topics if they are stored and changed.

    Decided in: GroupCoordinatorRecordHelpers#newShareGroupEpochRecord (4.3.1),
    GroupCoordinatorRecordHelpers#newShareGroupSubscriptionMetadataRecord (4.0.2).
    """
    epoch = ShareGroupMetadataRecord(
        group_id=group_id, epoch=group_epoch, metadata_hash=metadata.metadata_hash
    )
    if metadata.topics == before.topics:
        return (epoch,)
    topics = tuple(sorted(metadata.topics, key=lambda topic: topic.topic_name))
    return (ShareGroupPartitionMetadataRecord(group_id=group_id, topics=topics), epoch)


def new_share_group_target_assignment_record(
    group_id: GroupId, member_id: MemberId, assignment: AssignedPartitions
) -> ShareGroupTargetAssignmentMemberRecord:
    """Return the record of a member's target assignment.

    Source: GroupCoordinatorRecordHelpers#newShareGroupTargetAssignmentRecord (4.3.1).
    """
    topics = tuple(
        ShareTopicPartitions(topic_id=topic_id, partitions=tuple(partitions))
        for topic_id, partitions in assignment.items()
    )
    return ShareGroupTargetAssignmentMemberRecord(
        group_id=group_id, member_id=member_id, topic_partitions=topics
    )


def new_share_group_target_assignment_metadata_record(
    group_id: GroupId, assignment_epoch: int, now_ms: Millis, profile: Profile
) -> ShareGroupTargetAssignmentMetadataRecord:
    """Return the record of the target assignment's epoch, with its time if the release writes it.

    Source: GroupCoordinatorRecordHelpers#newShareGroupTargetAssignmentMetadataRecord (4.3.1).
    """
    has_timestamp = profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)
    return ShareGroupTargetAssignmentMetadataRecord(
        group_id=group_id,
        assignment_epoch=assignment_epoch,
        assignment_timestamp_ms=now_ms if has_timestamp else Millis(0),
    )


def new_share_group_current_assignment_record(
    group_id: GroupId, member: ShareGroupMember
) -> ShareGroupCurrentMemberAssignmentRecord:
    """Return the record of a member's current assignment.

    Source: GroupCoordinatorRecordHelpers#newShareGroupCurrentAssignmentRecord (4.3.1).
    """
    return ShareGroupCurrentMemberAssignmentRecord(
        group_id=group_id,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned_partitions),
    )


def new_share_group_state_partition_metadata_record(
    group_id: GroupId, initializing: InitMap, initialized: InitMap, deleting: Mapping[TopicId, str]
) -> ShareGroupStatePartitionMetadataRecord:
    """Return the record of the partitions whose state is initializing, initialized or being deleted.

    Source: GroupCoordinatorRecordHelpers#newShareGroupStatePartitionMetadataRecord (4.3.1).
    """
    return ShareGroupStatePartitionMetadataRecord(
        group_id=group_id,
        initializing_topics=_partitions_info(initializing),
        initialized_topics=_partitions_info(initialized),
        deleting_topics=tuple(
            TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in deleting.items()
        ),
    )


def member_tombstone_records(group_id: GroupId, member_id: MemberId) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of a member that is removed.

    Decided in: GroupMetadataManager#shareGroupFenceMember (4.3.1).
    """
    return (
        ShareGroupCurrentMemberAssignmentTombstone(group_id=group_id, member_id=member_id),
        ShareGroupTargetAssignmentMemberTombstone(group_id=group_id, member_id=member_id),
        ShareGroupMemberMetadataTombstone(group_id=group_id, member_id=member_id),
    )


def group_tombstone_records(group_id: GroupId, profile: Profile) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of an empty group that is removed.

    Decided in: ShareGroup#createGroupTombstoneRecords (4.3.1).
    """
    has_states = profile.has(Behaviour.SHARE_STATE_INITIALIZED)
    of_topics: CoordinatorRecord = (
        ShareGroupStatePartitionMetadataTombstone(group_id=group_id)
        if has_states
        else ShareGroupPartitionMetadataTombstone(group_id=group_id)
    )
    return (
        ShareGroupTargetAssignmentMetadataTombstone(group_id=group_id),
        of_topics,
        ShareGroupMetadataTombstone(group_id=group_id),
    )


def _topic_partitions(assigned: AssignedPartitions) -> tuple[ShareTopicPartitions, ...]:
    return tuple(
        ShareTopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
        for topic_id, partitions in assigned.items()
    )


def _partitions_info(topics: InitMap) -> tuple[TopicPartitionsInfo, ...]:
    named: Iterable[TopicPartitionsInfo] = (
        TopicPartitionsInfo(
            topic_id=topic_id, topic_name=each.name, partitions=tuple(sorted(each.partitions))
        )
        for topic_id, each in topics.items()
    )
    return tuple(named)
