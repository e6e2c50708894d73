"""Replay of records into share groups, both when loading the log and after an append."""

from dataclasses import replace
from typing import assert_never

from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.core.share_records import (
    ShareGroupCurrentMemberAssignmentRecord,
    ShareGroupCurrentMemberAssignmentTombstone,
    ShareGroupMemberMetadataRecord,
    ShareGroupMemberMetadataTombstone,
    ShareGroupMetadataRecord,
    ShareGroupMetadataTombstone,
    ShareGroupPartitionMetadataRecord,
    ShareGroupPartitionMetadataTombstone,
    ShareGroupRecord,
    ShareGroupStatePartitionMetadataRecord,
    ShareGroupStatePartitionMetadataTombstone,
    ShareGroupTargetAssignmentMemberRecord,
    ShareGroupTargetAssignmentMemberTombstone,
    ShareGroupTargetAssignmentMetadataRecord,
    ShareGroupTargetAssignmentMetadataTombstone,
    ShareGroupTombstone,
    ShareGroupValue,
)
from reference_coordinator.groups.consumer.assignors.assignor_helpers import from_record
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.share.group import ShareGroup, new_share_group
from reference_coordinator.groups.share.member import NO_PARTITIONS, ShareGroupMember
from reference_coordinator.groups.share.state_partitions import info_of
from reference_coordinator.messages.consumer_groups import LEAVE_GROUP_MEMBER_EPOCH
from reference_coordinator.profile.profiles import Profile


def replay(
    group: ShareGroup | None, record: ShareGroupRecord, profile: Profile, *, now_ms: Millis
) -> ShareGroup | None:
    """Return the group after a record, or None if it is removed. Create it if it does not exist.

    Raises:
        IllegalStateError: the record contradicts the group.

    Source: GroupMetadataManager#replay (4.3.1).
    """
    if isinstance(record, ShareGroupTombstone):
        return None if group is None else _replay_tombstone(group, record)
    return _replay_value(group or new_share_group(record.group_id, profile), record, now_ms)


def _replay_value(group: ShareGroup, record: ShareGroupValue, now_ms: Millis) -> ShareGroup:
    match record:
        case ShareGroupMetadataRecord():
            metadata = replace(group.subscription_metadata, metadata_hash=record.metadata_hash)
            return replace(group, group_epoch=record.epoch, subscription_metadata=metadata)
        case ShareGroupPartitionMetadataRecord():
            topics = SubscriptionMetadata(topics=frozenset(record.topics))
            return replace(group, subscription_metadata=topics)
        case ShareGroupMemberMetadataRecord():
            member = _member(group, record.member_id)
            return group.update_member(member.update_with_metadata(record))
        case ShareGroupTargetAssignmentMetadataRecord():
            return replace(
                group,
                assignment_epoch=record.assignment_epoch,
                assignment_timestamp_ms=record.assignment_timestamp_ms,
            )
        case ShareGroupTargetAssignmentMemberRecord():
            target = from_record({each.topic_id: each.partitions for each in record.topic_partitions})
            return group.with_target_assignment(record.member_id, target)
        case ShareGroupCurrentMemberAssignmentRecord():
            member = _member(group, record.member_id)
            return group.update_member(member.update_with_assignment(record))
        case ShareGroupStatePartitionMetadataRecord():
            return replace(group, state_partitions=info_of(record, now_ms))
        case _:
            assert_never(record)


def _member(group: ShareGroup, member_id: MemberId) -> ShareGroupMember:
    return group.get_or_maybe_create_member(member_id, create_if_not_exists=True)


def _replay_tombstone(group: ShareGroup, record: ShareGroupTombstone) -> ShareGroup | None:
    match record:
        case ShareGroupMetadataTombstone():
            group.throw_if_not_over()
            return None
        case ShareGroupPartitionMetadataTombstone():
            return replace(group, subscription_metadata=SubscriptionMetadata())
        case ShareGroupMemberMetadataTombstone():
            return group.without_metadata_of(record.member_id)
        case ShareGroupTargetAssignmentMetadataTombstone():
            return group.without_assignment_epoch()
        case ShareGroupTargetAssignmentMemberTombstone():
            return group.without_target_assignment(record.member_id)
        case ShareGroupCurrentMemberAssignmentTombstone():
            return _replay_current_assignment_tombstone(group, record.member_id)
        case ShareGroupStatePartitionMetadataTombstone():
            return replace(group, state_partitions=None)
        case _:
            assert_never(record)


def _replay_current_assignment_tombstone(group: ShareGroup, member_id: MemberId) -> ShareGroup:
    member = group.members.get(member_id)
    if member is None:
        return group
    return group.update_member(
        replace(
            member,
            member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            previous_member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            assigned_partitions=NO_PARTITIONS,
        )
    )
