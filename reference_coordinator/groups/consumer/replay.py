"""Replay of records into consumer groups, both when loading the log and after an append."""

from dataclasses import replace
from typing import assert_never

from reference_coordinator.core.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupPartitionMetadataTombstone,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupRegularExpressionTombstone,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    ConsumerGroupTargetAssignmentMetadataTombstone,
)
from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.consumer.group import ConsumerGroup, new_consumer_group
from reference_coordinator.groups.consumer.member import NO_PARTITIONS, ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.consumer.subscriptions import ResolvedRegularExpression
from reference_coordinator.messages.consumer_groups import LEAVE_GROUP_MEMBER_EPOCH
from reference_coordinator.profile.profiles import Behaviour, Profile

_OfMember = (
    ConsumerGroupMemberMetadataRecord
    | ConsumerGroupTargetAssignmentMemberRecord
    | ConsumerGroupCurrentMemberAssignmentRecord
)
_MemberTombstone = (
    ConsumerGroupMemberMetadataTombstone
    | ConsumerGroupTargetAssignmentMemberTombstone
    | ConsumerGroupCurrentMemberAssignmentTombstone
)
_OfGroup = (
    ConsumerGroupMetadataRecord
    | ConsumerGroupPartitionMetadataRecord
    | ConsumerGroupTargetAssignmentMetadataRecord
    | ConsumerGroupRegularExpressionRecord
)
_GroupTombstone = (
    ConsumerGroupMetadataTombstone
    | ConsumerGroupPartitionMetadataTombstone
    | ConsumerGroupTargetAssignmentMetadataTombstone
    | ConsumerGroupRegularExpressionTombstone
)


def replay(
    group: ConsumerGroup | None, record: ConsumerGroupRecord, profile: Profile
) -> ConsumerGroup | None:
    """Return the group after a record, or None if it is removed. Create it if it does not exist.

    Raises:
        IllegalStateError: the record contradicts the group.

    Source: GroupMetadataManager#replay (4.3.1).
    """
    if isinstance(record, _GroupTombstone):
        return None if group is None else _replay_group_tombstone(group, record)
    if isinstance(record, _MemberTombstone):
        return None if group is None else _replay_member_tombstone(group, record)
    group = new_consumer_group(record.group_id, profile) if group is None else group
    return _replay_member(group, record) if isinstance(record, _OfMember) else _replay_group(group, record)


def _replay_group(group: ConsumerGroup, record: _OfGroup) -> ConsumerGroup:
    match record:
        case ConsumerGroupMetadataRecord():
            return _replay_epoch(group, record)
        case ConsumerGroupPartitionMetadataRecord():
            return _replay_partition_metadata(group, record)
        case ConsumerGroupTargetAssignmentMetadataRecord():
            return replace(
                group,
                assignment_epoch=record.assignment_epoch,
                assignment_timestamp_ms=record.assignment_timestamp_ms,
            )
        case ConsumerGroupRegularExpressionRecord():
            resolved = ResolvedRegularExpression(
                topics=frozenset(record.topics), version=record.version, timestamp_ms=record.timestamp_ms
            )
            return group.update_resolved_regular_expression(record.regular_expression, resolved)
        case _:
            assert_never(record)


def _replay_member(group: ConsumerGroup, record: _OfMember) -> ConsumerGroup:
    member = _member(group, record.member_id)
    match record:
        case ConsumerGroupMemberMetadataRecord():
            return group.update_member(member.update_with_metadata(record))
        case ConsumerGroupTargetAssignmentMemberRecord():
            target = {each.topic_id: each.partitions for each in record.topic_partitions}
            return group.with_target_assignment(record.member_id, target)
        case ConsumerGroupCurrentMemberAssignmentRecord():
            return group.update_member(member.update_with_assignment(record))
        case _:
            assert_never(record)


def _member(group: ConsumerGroup, member_id: MemberId) -> ConsumerGroupMember:
    return group.get_or_maybe_create_member(member_id, create_if_not_exists=True)


def _replay_epoch(group: ConsumerGroup, record: ConsumerGroupMetadataRecord) -> ConsumerGroup:
    metadata = group.subscription_metadata
    if group.profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED):
        metadata = replace(metadata, metadata_hash=record.metadata_hash)
    return replace(group, group_epoch=record.epoch, subscription_metadata=metadata)


def _replay_partition_metadata(
    group: ConsumerGroup, record: ConsumerGroupPartitionMetadataRecord
) -> ConsumerGroup:
    """Store the topics, or only that the log has such a record, in releases that store a hash instead."""
    if group.profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED):
        return replace(group, has_subscription_metadata_record=True)
    return replace(group, subscription_metadata=SubscriptionMetadata(topics=frozenset(record.topics)))


def _replay_group_tombstone(group: ConsumerGroup, record: _GroupTombstone) -> ConsumerGroup | None:
    match record:
        case ConsumerGroupMetadataTombstone():
            group.throw_if_not_over()
            return None
        case ConsumerGroupPartitionMetadataTombstone():
            metadata = replace(group.subscription_metadata, topics=frozenset())
            return replace(group, has_subscription_metadata_record=False, subscription_metadata=metadata)
        case ConsumerGroupTargetAssignmentMetadataTombstone():
            return group.without_assignment_epoch()
        case ConsumerGroupRegularExpressionTombstone():
            return group.update_resolved_regular_expression(record.regular_expression, None)
        case _:
            assert_never(record)


def _replay_member_tombstone(group: ConsumerGroup, record: _MemberTombstone) -> ConsumerGroup:
    match record:
        case ConsumerGroupMemberMetadataTombstone():
            return group.without_metadata_of(record.member_id)
        case ConsumerGroupTargetAssignmentMemberTombstone():
            return group.without_target_assignment(record.member_id)
        case ConsumerGroupCurrentMemberAssignmentTombstone():
            return _replay_current_assignment_tombstone(group, record.member_id)
        case _:
            assert_never(record)


def _replay_current_assignment_tombstone(group: ConsumerGroup, member_id: MemberId) -> ConsumerGroup:
    member = group.members.get(member_id)
    if member is None:
        return group
    return group.update_member(
        replace(
            member,
            member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            previous_member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            assigned_partitions=NO_PARTITIONS,
            partitions_pending_revocation=NO_PARTITIONS,
        )
    )
