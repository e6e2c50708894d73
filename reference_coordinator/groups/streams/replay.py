"""Replay of records into streams groups, both when loading the log and after an append."""

from dataclasses import replace

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.streams_records import (
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupCurrentMemberAssignmentTombstone,
    StreamsGroupMemberMetadataRecord,
    StreamsGroupMemberMetadataTombstone,
    StreamsGroupMetadataRecord,
    StreamsGroupMetadataTombstone,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMemberRecord,
    StreamsGroupTargetAssignmentMemberTombstone,
    StreamsGroupTargetAssignmentMetadataRecord,
    StreamsGroupTargetAssignmentMetadataTombstone,
    StreamsGroupTopologyRecord,
    StreamsGroupTopologyTombstone,
)
from reference_coordinator.groups.modern_group import DELETED_ASSIGNMENT_EPOCH
from reference_coordinator.groups.streams.group import StreamsGroup, new_streams_group
from reference_coordinator.groups.streams.tasks import EMPTY_WITH_EPOCHS, TasksTuple, tasks_of
from reference_coordinator.groups.streams.topology import streams_topology
from reference_coordinator.messages.consumer_groups import LEAVE_GROUP_MEMBER_EPOCH
from reference_coordinator.profile.profiles import Profile

_Tombstone = (
    StreamsGroupMetadataTombstone
    | StreamsGroupMemberMetadataTombstone
    | StreamsGroupTargetAssignmentMetadataTombstone
    | StreamsGroupTargetAssignmentMemberTombstone
    | StreamsGroupCurrentMemberAssignmentTombstone
    | StreamsGroupTopologyTombstone
)
_Written = (
    StreamsGroupMetadataRecord
    | StreamsGroupMemberMetadataRecord
    | StreamsGroupTargetAssignmentMetadataRecord
    | StreamsGroupTargetAssignmentMemberRecord
    | StreamsGroupCurrentMemberAssignmentRecord
    | StreamsGroupTopologyRecord
)


def replay(group: StreamsGroup | None, record: StreamsGroupRecord, profile: Profile) -> StreamsGroup | None:
    """Return the group after a record, or None if it is removed. Create it if it does not exist.

    Raises:
        IllegalStateError: the record contradicts the group.

    Source: GroupMetadataManager#replay (4.3.1).
    """
    if isinstance(record, _Tombstone):
        return None if group is None else _replay_tombstone(group, record)
    return _replay_written(new_streams_group(record.group_id, profile) if group is None else group, record)


def _replay_written(group: StreamsGroup, record: _Written) -> StreamsGroup:
    match record:
        case StreamsGroupMetadataRecord():
            return replace(
                group,
                group_epoch=record.epoch,
                metadata_hash=record.metadata_hash,
                validated_topology_epoch=record.validated_topology_epoch,
                last_assignment_configs={each.key: each.value for each in record.last_assignment_configs},
            )
        case StreamsGroupTargetAssignmentMetadataRecord():
            return replace(
                group,
                assignment_epoch=record.assignment_epoch,
                assignment_timestamp_ms=record.assignment_timestamp_ms,
            )
        case StreamsGroupTopologyRecord():
            return replace(group, topology=streams_topology(record.epoch, record.subtopologies))
        case StreamsGroupTargetAssignmentMemberRecord():
            target = TasksTuple(
                active_tasks=tasks_of(record.active_tasks),
                standby_tasks=tasks_of(record.standby_tasks),
                warmup_tasks=tasks_of(record.warmup_tasks),
            )
            return group.with_target_assignment(record.member_id, target)
        case StreamsGroupMemberMetadataRecord():
            member = group.get_or_maybe_create_member(record.member_id, create_if_not_exists=True)
            return group.update_member(member.update_with_metadata(record))
        case StreamsGroupCurrentMemberAssignmentRecord():
            member = group.get_or_maybe_create_member(record.member_id, create_if_not_exists=True)
            return group.update_member(member.update_with_assignment(record))


def _replay_tombstone(group: StreamsGroup, record: _Tombstone) -> StreamsGroup | None:
    match record:
        case StreamsGroupMetadataTombstone():
            if group.members or group.assignment_epoch != DELETED_ASSIGNMENT_EPOCH:
                raise IllegalStateError("the group still has members or a target assignment")
            return None
        case StreamsGroupTargetAssignmentMetadataTombstone():
            return group.without_assignment_epoch()
        case StreamsGroupTopologyTombstone():
            return replace(group, topology=None)
        case StreamsGroupTargetAssignmentMemberTombstone():
            return group.without_target_assignment(record.member_id)
        case StreamsGroupMemberMetadataTombstone():
            return group.without_metadata_of(record.member_id)
        case StreamsGroupCurrentMemberAssignmentTombstone():
            return _replay_current_assignment_tombstone(group, record.member_id)


def _replay_current_assignment_tombstone(group: StreamsGroup, member_id: MemberId) -> StreamsGroup:
    member = group.members.get(member_id)
    if member is None:
        return group
    return group.update_member(
        replace(
            member,
            member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            previous_member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
            assigned_tasks=EMPTY_WITH_EPOCHS,
            tasks_pending_revocation=EMPTY_WITH_EPOCHS,
        )
    )
