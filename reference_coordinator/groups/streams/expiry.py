"""Expired deadlines of streams groups."""

from typing import assert_never

from reference_coordinator.groups.consumer.timers import TimerRetried
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.leave import streams_group_fence_member
from reference_coordinator.groups.streams.target_assignment import maybe_update_streams_target_assignment
from reference_coordinator.groups.streams.timers import (
    ComputeDelayedAssignment,
    FenceStreamsMember,
    FenceUnrevokedStreamsMember,
    StreamsGroupDeadline,
)
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult, VoidResult


def fall_due(shard: GroupMetadataManager, group: StreamsGroup, deadline: StreamsGroupDeadline) -> VoidResult:
    """Handle an expired deadline of a group."""
    match deadline:
        case ComputeDelayedAssignment():
            return compute_delayed_target_assignment(shard, group)
        case FenceStreamsMember() | FenceUnrevokedStreamsMember():
            return streams_group_fence_member_operation(shard, group, deadline)
        case _:
            assert_never(deadline)


def compute_delayed_target_assignment(shard: GroupMetadataManager, group: StreamsGroup) -> VoidResult:
    """Assign the tasks for the first time, if a heartbeat has configured the topology.

    Source: GroupMetadataManager#computeDelayedTargetAssignment (4.3.1).
    """
    if group.is_empty:
        return EMPTY_RESULT
    if group.configured_topology is None:
        return EMPTY_RESULT
    result = maybe_update_streams_target_assignment(
        shard, group, group.group_epoch, None, group.configured_topology, group.last_assignment_configs
    )
    return CoordinatorResult(records=result.records)


def streams_group_fence_member_operation(
    shard: GroupMetadataManager,
    group: StreamsGroup,
    deadline: FenceStreamsMember | FenceUnrevokedStreamsMember,
) -> VoidResult:
    """Remove a member whose session or rebalance timed out.

    Source: GroupMetadataManager#streamsGroupFenceMemberOperation (4.3.1).
    """
    member = group.members.get(deadline.member_id)
    if member is None:
        return EMPTY_RESULT
    is_late = isinstance(deadline, FenceStreamsMember) or member.member_epoch == deadline.member_epoch
    if not is_late:
        return EMPTY_RESULT
    return CoordinatorResult(
        records=streams_group_fence_member(shard, group, member),
        append_future=TimerRetried(shard=shard, deadline=deadline),
    )
