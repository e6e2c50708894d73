"""The phases of a rebalance: prepare, complete the join, propagate the assignment."""

from collections.abc import Mapping
from typing import Final, assert_never

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.groups.classic.answers import (
    complete_join_future,
    complete_sync_future,
    join_result_of_generation,
    member_left,
    new_group_metadata_record,
    permitted_roles,
    sync_result,
)
from reference_coordinator.groups.classic.deadlines import (
    CompleteJoin,
    ExpireMemberHeartbeat,
    ExpirePendingSync,
    HeartbeatKey,
    JoinKey,
    SyncKey,
    TryCompleteInitialRebalance,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult, VoidResult
from reference_coordinator.runtime.error_responses import sync_error

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = Millis(5 * 60 * 1000)
"""How long a new member may be parked. Source: GroupCoordinator.NewMemberJoinTimeoutMs (3.9.2)."""

_TIMER_TICK_MS: Final = Millis(1)


def maybe_prepare_rebalance_or_complete_join(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Start a rebalance, or complete the join phase of the current one if all members have joined.

    Source: GroupMetadataManager#maybePrepareRebalanceOrCompleteJoin (4.3.1),
    GroupCoordinator#maybePrepareRebalance (3.9.2).
    """
    if group.can_rebalance:
        return prepare_rebalance(shard, group)
    return maybe_complete_join_phase(shard, group)


def prepare_rebalance(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Enter PreparingRebalance. From Empty, the initial delay starts.

    Source: GroupMetadataManager#prepareRebalance (4.3.1), GroupCoordinator#prepareRebalance (3.9.2).
    """
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        reset_and_propagate_assignment_with_error(shard, group, Errors.REBALANCE_IN_PROGRESS)
    remove_sync_expiration(shard, group)

    is_initial_rebalance = group.state is ClassicGroupState.EMPTY
    if is_initial_rebalance:
        delay_ms = Millis(shard.config.group_initial_rebalance_delay_ms)
        remaining_ms = Millis(max(group.rebalance_timeout_ms - delay_ms, 0))
        _schedule_initial_rebalance(shard, group, delay_ms=delay_ms, remaining_ms=remaining_ms)

    group.transition_to(ClassicGroupState.PREPARING_REBALANCE, now_ms=shard.now_ms)
    return EMPTY_RESULT if is_initial_rebalance else maybe_complete_join_else_schedule(shard, group)


def maybe_complete_join_phase(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Complete the join phase if all members have joined and this is not the initial delay.

    The Scala coordinator checks its purgatory, which contains a join phase only while it has a deadline.
    Thus a join phase whose completion failed is never completed again.

    Source: GroupMetadataManager#maybeCompleteJoinPhase (4.3.1), GroupCoordinator#tryCompleteJoin (3.9.2).
    """
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            if group.state is not ClassicGroupState.PREPARING_REBALANCE:
                return EMPTY_RESULT
            if group.previous_state is ClassicGroupState.EMPTY:
                return EMPTY_RESULT
        case CoordinatorFamily.SCALA:
            deadline = shard.timers.deadline_of(JoinKey(group_id=group.group_id))
            if not isinstance(deadline, CompleteJoin):
                return EMPTY_RESULT
    return complete_classic_group_join(shard, group) if group.has_all_members_joined else EMPTY_RESULT


def maybe_complete_join_else_schedule(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Complete the join phase if all members have joined, otherwise wait for the rebalance timeout.

    Source: GroupMetadataManager#maybeCompleteJoinElseSchedule (4.3.1).
    """
    if group.has_all_members_joined:
        return complete_classic_group_join(shard, group)
    _schedule_join(shard, group, group.rebalance_timeout_ms)
    return EMPTY_RESULT


def try_complete_initial_rebalance_else_schedule(
    shard: GroupMetadataManager, group: ClassicGroup, *, delay_ms: Millis, remaining_ms: Millis
) -> VoidResult:
    """End the initial delay, or extend it if a member joined, because more may follow.

    Source: GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule (4.3.1),
    InitialDelayedJoin#onComplete (3.9.2).
    """
    if not group.new_member_added or remaining_ms == 0:
        return complete_classic_group_join(shard, group)
    group.new_member_added = False
    _schedule_initial_rebalance(
        shard,
        group,
        delay_ms=Millis(min(shard.config.group_initial_rebalance_delay_ms, remaining_ms)),
        remaining_ms=Millis(max(remaining_ms - delay_ms, 0)),
    )
    return EMPTY_RESULT


def complete_classic_group_join(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Remove dynamic members that did not rejoin and start the next generation.

    Source: GroupMetadataManager#completeClassicGroupJoin (4.3.1), GroupCoordinator#onCompleteJoin (3.9.2).
    """
    shard.timers.cancel(JoinKey(group_id=group.group_id))
    for failed_member in group.not_yet_rejoined_members:
        if not failed_member.is_static_member:
            group.remove(failed_member.member_id)
            shard.timers.cancel(_heartbeat_key(group, failed_member.member_id))

    if group.state is ClassicGroupState.DEAD:
        return EMPTY_RESULT
    if not group.maybe_elect_new_joined_leader() and group.members:
        # Only static members are left and none has rejoined: wait until one does or their sessions end. A
        # timeout of 0 takes one tick of Kafka's timer, but would take no time at all on a virtual clock.
        _schedule_join(shard, group, Millis(max(group.rebalance_timeout_ms, _TIMER_TICK_MS)))
        return EMPTY_RESULT

    group.init_next_generation(now_ms=shard.now_ms)
    if group.state is ClassicGroupState.EMPTY:
        # No request waits for this write. If it fails, the log keeps the old members, whose sessions expire.
        return CoordinatorResult(records=(new_group_metadata_record(group, {}),), replay_records=False)
    _answer_joined_members(shard, group)
    return EMPTY_RESULT


def _answer_joined_members(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    awaits_sync = shard.profile.has(Behaviour.PENDING_SYNC_EXPIRES)
    for member in group.members.values():
        response = join_result_of_generation(group, member.member_id)
        complete_join_future(shard, member, response, permitted_roles(group, member.member_id))
        reschedule_classic_group_member_heartbeat(shard, group, member)
        member.is_new = False
        if awaits_sync:
            group.pending_sync_members[member.member_id] = None
    if awaits_sync:
        schedule_pending_sync(shard, group)


def schedule_pending_sync(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """Schedule the deadline by which every member must sync: the rebalance timeout.

    Source: GroupMetadataManager#schedulePendingSync (4.3.1).
    """
    shard.timers.schedule(
        SyncKey(group_id=group.group_id),
        shard.now_ms + group.rebalance_timeout_ms,
        ExpirePendingSync(group_id=group.group_id, generation_id=group.generation_id),
    )


def remove_sync_expiration(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """Stop waiting for SyncGroups. Source: GroupMetadataManager#removeSyncExpiration (4.3.1)."""
    group.pending_sync_members.clear()
    shard.timers.cancel(SyncKey(group_id=group.group_id))


def reset_and_propagate_assignment_with_error(
    shard: GroupMetadataManager, group: ClassicGroup, error: Errors
) -> None:
    """Clear all assignments and answer every parked SyncGroup with an error.

    Source: GroupMetadataManager#resetAndPropagateAssignmentWithError (4.3.1).
    """
    assert group.state is ClassicGroupState.COMPLETING_REBALANCE
    for member in group.members.values():
        member.assignment, member.assignment_orders = b"", ()
    propagate_assignment(shard, group, error)


def set_and_propagate_assignment(
    shard: GroupMetadataManager, group: ClassicGroup, assignments: Mapping[MemberId, bytes]
) -> None:
    """Store the leader's assignment and answer every parked SyncGroup with it.

    Source: GroupMetadataManager#setAndPropagateAssignment (4.3.1).
    """
    assert group.state is ClassicGroupState.COMPLETING_REBALANCE
    for member in group.members.values():
        member.assignment, member.assignment_orders = assignments.get(member.member_id, b""), ()
    propagate_assignment(shard, group, Errors.NONE)


def propagate_assignment(shard: GroupMetadataManager, group: ClassicGroup, error: Errors) -> None:
    """Answer every parked SyncGroup and restart the session of each member that was answered.

    Source: GroupMetadataManager#propagateAssignment (4.3.1).
    """
    for member in group.members.values():
        response = sync_result(group, member) if error is Errors.NONE else sync_error(error)
        if complete_sync_future(shard, member, response):
            reschedule_classic_group_member_heartbeat(shard, group, member)


def reschedule_classic_group_member_heartbeat(
    shard: GroupMetadataManager,
    group: ClassicGroup,
    member: ClassicGroupMember,
    *,
    timeout_ms: Millis | None = None,
) -> None:
    """Restart a member's session timer, by default with its session timeout.

    Before 2.5, a new member's only timer was the limit for its parked JoinGroup. Any other restart of
    the session cancelled that timer without a replacement.

    Source: GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat (4.3.1),
    GroupCoordinator#completeAndScheduleNextExpiration (3.9.2), MemberMetadata#shouldKeepAlive (2.4.1).
    """
    timeout_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
    key = _heartbeat_key(group, member.member_id)
    heartbeat_counts = shard.profile.has(Behaviour.NEW_MEMBER_HEARTBEAT_COUNTS)
    if member.is_new and not heartbeat_counts and timeout_ms < NEW_MEMBER_JOIN_TIMEOUT_MS:
        shard.timers.cancel(key)
        return
    shard.timers.schedule(
        key,
        shard.now_ms + timeout_ms,
        ExpireMemberHeartbeat(group_id=group.group_id, member_id=member.member_id),
    )


def remove_member_and_update_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, member: ClassicGroupMember
) -> VoidResult:
    """Remove a member and rebalance, or complete the join phase if only this member was missing.

    Source: GroupMetadataManager#removeMemberAndUpdateClassicGroup (4.3.1),
    GroupCoordinator#removeMemberAndUpdateGroup (3.9.2).
    """
    member_left(shard, member)
    group.remove(member.member_id)
    match group.state:
        case ClassicGroupState.STABLE | ClassicGroupState.COMPLETING_REBALANCE:
            return maybe_prepare_rebalance_or_complete_join(shard, group)
        case ClassicGroupState.PREPARING_REBALANCE:
            return complete_join_after_removal(shard, group)
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            return EMPTY_RESULT
        case _:
            assert_never(group.state)


def remove_pending_member_and_update_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """Remove a pending member and complete the join phase if only this member was missing.

    Source: GroupMetadataManager#removePendingMemberAndUpdateClassicGroup (4.3.1),
    GroupCoordinator#removePendingMemberAndUpdateGroup (3.9.2).
    """
    group.remove(member_id)
    group.remove_pending_member(member_id)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return complete_join_after_removal(shard, group)
    return EMPTY_RESULT


def complete_join_after_removal(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    """Complete the join phase if the member that a timer removed was the last one missing.

    The Java coordinator does so even in the initial delay.

    Decided in: GroupMetadataManager#removeMemberAndUpdateClassicGroup (4.3.1).
    """
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            return complete_classic_group_join(shard, group) if group.has_all_members_joined else EMPTY_RESULT
        case CoordinatorFamily.SCALA:
            return maybe_complete_join_phase(shard, group)


def _schedule_initial_rebalance(
    shard: GroupMetadataManager, group: ClassicGroup, *, delay_ms: Millis, remaining_ms: Millis
) -> None:
    shard.timers.schedule(
        JoinKey(group_id=group.group_id),
        shard.now_ms + delay_ms,
        TryCompleteInitialRebalance(group_id=group.group_id, delay_ms=delay_ms, remaining_ms=remaining_ms),
    )


def _schedule_join(shard: GroupMetadataManager, group: ClassicGroup, timeout_ms: Millis) -> None:
    shard.timers.schedule(
        JoinKey(group_id=group.group_id),
        shard.now_ms + timeout_ms,
        CompleteJoin(group_id=group.group_id),
    )


def _heartbeat_key(group: ClassicGroup, member_id: MemberId) -> HeartbeatKey:
    return HeartbeatKey(group_id=group.group_id, member_id=member_id)
