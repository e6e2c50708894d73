"""The records of streams groups. Source: StreamsCoordinatorRecordHelpers (4.3.1)."""

from collections.abc import Collection, Mapping

from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.streams_records import (
    KeyValue,
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupCurrentMemberAssignmentTombstone,
    StreamsGroupMemberMetadataRecord,
    StreamsGroupMemberMetadataTombstone,
    StreamsGroupMetadataRecord,
    StreamsGroupMetadataTombstone,
    StreamsGroupTargetAssignmentMemberRecord,
    StreamsGroupTargetAssignmentMemberTombstone,
    StreamsGroupTargetAssignmentMetadataRecord,
    StreamsGroupTargetAssignmentMetadataTombstone,
    StreamsGroupTopologyTombstone,
    TaskIdsWithEpochs,
)
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import TasksTuple, TasksWithEpochs, task_ids
from reference_coordinator.profile.profiles import Behaviour, Profile


def new_streams_group_member_record(
    group_id: GroupId, member: StreamsGroupMember
) -> StreamsGroupMemberMetadataRecord:
    """Return the record of a member's metadata.

    Source: StreamsCoordinatorRecordHelpers#newStreamsGroupMemberRecord (4.3.1).
    """
    return StreamsGroupMemberMetadataRecord(
        group_id=group_id,
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=member.user_endpoint,
        client_tags=tuple(
            KeyValue(key=each, value=member.client_tags[each]) for each in sorted(member.client_tags)
        ),
    )


def new_streams_group_metadata_record(
    group_id: GroupId,
    epoch: int,
    *,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> StreamsGroupMetadataRecord:
    """Return the record of the group's epoch.

    Source: StreamsCoordinatorRecordHelpers#newStreamsGroupMetadataRecord (4.3.1).
    """
    return StreamsGroupMetadataRecord(
        group_id=group_id,
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=tuple(
            KeyValue(key=each, value=assignment_configs[each])
            for each in in_java_hash_map_order(sorted(assignment_configs))
        ),
    )


def new_streams_group_target_assignment_record(
    group_id: GroupId, member_id: MemberId, assignment: TasksTuple
) -> StreamsGroupTargetAssignmentMemberRecord:
    """Return the record of a member's target assignment.

    Source: StreamsCoordinatorRecordHelpers#newStreamsGroupTargetAssignmentRecord (4.3.1).
    """
    return StreamsGroupTargetAssignmentMemberRecord(
        group_id=group_id,
        member_id=member_id,
        active_tasks=task_ids(assignment.active_tasks),
        standby_tasks=task_ids(assignment.standby_tasks),
        warmup_tasks=task_ids(assignment.warmup_tasks),
    )


def new_streams_group_target_assignment_metadata_record(
    group_id: GroupId, assignment_epoch: int, now_ms: Millis, profile: Profile
) -> StreamsGroupTargetAssignmentMetadataRecord:
    """Return the record of the target assignment's epoch, with its time if the release writes it.

    Source: StreamsCoordinatorRecordHelpers#newStreamsGroupTargetAssignmentMetadataRecord (4.3.1).
    """
    has_timestamp = profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)
    return StreamsGroupTargetAssignmentMetadataRecord(
        group_id=group_id,
        assignment_epoch=assignment_epoch,
        assignment_timestamp_ms=now_ms if has_timestamp else Millis(0),
    )


def new_streams_group_current_assignment_record(
    group_id: GroupId, member: StreamsGroupMember
) -> StreamsGroupCurrentMemberAssignmentRecord:
    """Return the record of a member's assigned tasks and those it must revoke.

    Source: StreamsCoordinatorRecordHelpers#newStreamsGroupCurrentAssignmentRecord (4.3.1).
    """
    assigned, revoked = member.assigned_tasks, member.tasks_pending_revocation
    return StreamsGroupCurrentMemberAssignmentRecord(
        group_id=group_id,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        active_tasks=_with_epochs(assigned.active_tasks),
        standby_tasks=_without_epochs(assigned.standby_tasks),
        warmup_tasks=_without_epochs(assigned.warmup_tasks),
        active_tasks_pending_revocation=_with_epochs(revoked.active_tasks),
        standby_tasks_pending_revocation=_without_epochs(revoked.standby_tasks),
        warmup_tasks_pending_revocation=_without_epochs(revoked.warmup_tasks),
    )


def remove_streams_member(group_id: GroupId, member_id: MemberId) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of a member that is removed.

    Source: GroupMetadataManager#removeStreamsMember (4.3.1).
    """
    return (
        StreamsGroupCurrentMemberAssignmentTombstone(group_id=group_id, member_id=member_id),
        StreamsGroupTargetAssignmentMemberTombstone(group_id=group_id, member_id=member_id),
        StreamsGroupMemberMetadataTombstone(group_id=group_id, member_id=member_id),
    )


def group_tombstone_records(
    group_id: GroupId, member_ids: tuple[MemberId, ...]
) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of a group with these members that is removed.

    Decided in: StreamsGroup#createGroupTombstoneRecords (4.3.1).
    """
    of_members = zip(*(remove_streams_member(group_id, each) for each in member_ids), strict=True)
    current, target, metadata = tuple(of_members) or ((), (), ())
    return (
        *current,
        *target,
        StreamsGroupTargetAssignmentMetadataTombstone(group_id=group_id),
        *metadata,
        StreamsGroupMetadataTombstone(group_id=group_id),
        StreamsGroupTopologyTombstone(group_id=group_id),
    )


def _with_epochs(tasks: TasksWithEpochs) -> tuple[TaskIdsWithEpochs, ...]:
    return tuple(
        TaskIdsWithEpochs(
            subtopology_id=key,
            partitions=tuple(sorted(tasks[key])),
            assignment_epochs=tuple(tasks[key][each] for each in sorted(tasks[key])),
        )
        for key in sorted(tasks)
    )


def _without_epochs(tasks: Mapping[str, Collection[int]]) -> tuple[TaskIdsWithEpochs, ...]:
    return tuple(
        TaskIdsWithEpochs(subtopology_id=each.subtopology_id, partitions=each.partitions)
        for each in task_ids(tasks)
    )
