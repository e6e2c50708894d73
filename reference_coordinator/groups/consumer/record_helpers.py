"""The records of consumer groups. Source: GroupCoordinatorRecordHelpers (4.3.1)."""

from collections.abc import Iterable

from reference_coordinator.core.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupPartitionMetadataTombstone,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupRegularExpressionTombstone,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    ConsumerGroupTargetAssignmentMetadataTombstone,
    TopicPartitions,
)
from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.assignors.group_spec import Assignment
from reference_coordinator.groups.consumer.member import AssignedPartitions, ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.consumer.subscriptions import ResolvedRegularExpression
from reference_coordinator.profile.profiles import Behaviour, Profile


def new_consumer_group_member_subscription_record(
    group_id: GroupId, member: ConsumerGroupMember
) -> ConsumerGroupMemberMetadataRecord:
    """Return the record of a member's metadata and subscription.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupMemberSubscriptionRecord (4.3.1).
    """
    return ConsumerGroupMemberMetadataRecord(
        group_id=group_id,
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor_name,
        classic_member_metadata=member.classic_member_metadata,
    )


def new_consumer_group_epoch_records(
    group_id: GroupId, group_epoch: int, metadata: SubscriptionMetadata, before: SubscriptionMetadata
) -> tuple[CoordinatorRecord, ...]:
    """Return the group epoch's record, after one of the subscribed topics if they are stored and changed.

    Decided in: GroupCoordinatorRecordHelpers#newConsumerGroupEpochRecord (4.3.1),
    GroupCoordinatorRecordHelpers#newConsumerGroupSubscriptionMetadataRecord (4.0.2).
    """
    epoch = ConsumerGroupMetadataRecord(
        group_id=group_id, epoch=group_epoch, metadata_hash=metadata.metadata_hash
    )
    if metadata.topics == before.topics:
        return (epoch,)
    return (new_consumer_group_subscription_metadata_record(group_id, metadata), epoch)


def new_consumer_group_subscription_metadata_record(
    group_id: GroupId, metadata: SubscriptionMetadata
) -> ConsumerGroupPartitionMetadataRecord:
    """Return the record of the topics that the group subscribes to.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupSubscriptionMetadataRecord (4.0.2).
    """
    topics = tuple(sorted(metadata.topics, key=lambda topic: topic.topic_name))
    return ConsumerGroupPartitionMetadataRecord(group_id=group_id, topics=topics)


def new_consumer_group_target_assignment_record(
    group_id: GroupId, member_id: MemberId, assignment: Assignment
) -> ConsumerGroupTargetAssignmentMemberRecord:
    """Return the record of a member's target assignment.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupTargetAssignmentRecord (4.3.1).
    """
    return ConsumerGroupTargetAssignmentMemberRecord(
        group_id=group_id,
        member_id=member_id,
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in assignment.items()
        ),
    )


def new_consumer_group_target_assignment_metadata_record(
    group_id: GroupId, assignment_epoch: int, now_ms: Millis, profile: Profile
) -> ConsumerGroupTargetAssignmentMetadataRecord:
    """Return the record of the target assignment's epoch, with its time if the release writes it.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupTargetAssignmentMetadataRecord (4.3.1).
    """
    has_timestamp = profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)
    return ConsumerGroupTargetAssignmentMetadataRecord(
        group_id=group_id,
        assignment_epoch=assignment_epoch,
        assignment_timestamp_ms=now_ms if has_timestamp else Millis(0),
    )


def new_consumer_group_current_assignment_record(
    group_id: GroupId, member: ConsumerGroupMember, profile: Profile
) -> ConsumerGroupCurrentMemberAssignmentRecord:
    """Return the record of a member's assigned partitions and those it must revoke.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupCurrentAssignmentRecord (4.3.1).
    """
    has_epochs = profile.has(Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS)
    return ConsumerGroupCurrentMemberAssignmentRecord(
        group_id=group_id,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned_partitions, has_epochs=has_epochs),
        partitions_pending_revocation=_topic_partitions(
            member.partitions_pending_revocation, has_epochs=has_epochs
        ),
    )


def new_consumer_group_regular_expression_record(
    group_id: GroupId, regex: str, resolved: ResolvedRegularExpression
) -> ConsumerGroupRegularExpressionRecord:
    """Return the record of the topics that a regular expression matches.

    Source: GroupCoordinatorRecordHelpers#newConsumerGroupRegularExpressionRecord (4.3.1).
    """
    return ConsumerGroupRegularExpressionRecord(
        group_id=group_id,
        regular_expression=regex,
        topics=tuple(sorted(resolved.topics)),
        version=resolved.version,
        timestamp_ms=resolved.timestamp_ms,
    )


def remove_member(group_id: GroupId, member_id: MemberId) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of a member that is removed.

    Source: GroupMetadataManager#removeMember (4.3.1).
    """
    return (
        ConsumerGroupCurrentMemberAssignmentTombstone(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberTombstone(group_id=group_id, member_id=member_id),
        ConsumerGroupMemberMetadataTombstone(group_id=group_id, member_id=member_id),
    )


def group_tombstone_records(
    group_id: GroupId, member_ids: tuple[MemberId, ...], regexes: Iterable[str]
) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of a group with these members that is removed.

    Decided in: ConsumerGroup#createGroupTombstoneRecords,
    ConsumerGroup#createGroupTombstoneRecordsWithReplacedMember (4.3.1).
    """
    current = (
        ConsumerGroupCurrentMemberAssignmentTombstone(group_id=group_id, member_id=each)
        for each in member_ids
    )
    target = (
        ConsumerGroupTargetAssignmentMemberTombstone(group_id=group_id, member_id=each) for each in member_ids
    )
    metadata = (
        ConsumerGroupMemberMetadataTombstone(group_id=group_id, member_id=each) for each in member_ids
    )
    expressions = (
        ConsumerGroupRegularExpressionTombstone(group_id=group_id, regular_expression=each)
        for each in regexes
    )
    return (
        *current,
        *target,
        ConsumerGroupTargetAssignmentMetadataTombstone(group_id=group_id),
        *metadata,
        *expressions,
        ConsumerGroupPartitionMetadataTombstone(group_id=group_id),
        ConsumerGroupMetadataTombstone(group_id=group_id),
    )


def _topic_partitions(assigned: AssignedPartitions, *, has_epochs: bool) -> tuple[TopicPartitions, ...]:
    """Decided in: GroupCoordinatorRecordHelpers#toTopicPartitions (4.3.1)."""
    return tuple(
        TopicPartitions(
            topic_id=topic_id,
            partitions=tuple(epochs),
            assignment_epochs=tuple(epochs.values()) if has_epochs else None,
        )
        for topic_id, epochs in assigned.items()
    )
