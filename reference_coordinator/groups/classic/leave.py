"""LeaveGroup: members leave, or an administrator removes them."""

from typing import assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GroupInstanceId, MemberId
from reference_coordinator.groups.classic.answers import member_left
from reference_coordinator.groups.classic.deadlines import HeartbeatKey
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.rebalance import (
    maybe_complete_join_phase,
    maybe_prepare_rebalance_or_complete_join,
    remove_member_and_update_classic_group,
    remove_pending_member_and_update_classic_group,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult, VoidResult
from reference_coordinator.runtime.error_responses import leave_error


def classic_group_leave_to_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, request: LeaveGroupRequest
) -> CoordinatorResult[LeaveGroupResponse]:
    """Remove members from the group, and check each of them separately.

    The Scala coordinator rebalances and writes after each member that left, the Java one after all of them.

    Source: GroupMetadataManager#classicGroupLeaveToClassicGroup (4.3.1),
    GroupCoordinator#handleLeaveGroup (3.9.2).
    """
    if group.state is ClassicGroupState.DEAD:
        return CoordinatorResult(response=leave_error(Errors.COORDINATOR_NOT_AVAILABLE))
    left_with = [_leave(shard, group, each) for each in request.members]
    members = tuple(member for member, _ in left_with)
    results = [result for _, result in left_with if result.records]
    any_left = any(each.error_code is Errors.NONE for each in members)
    if shard.profile.coordinator is CoordinatorFamily.JAVA and any_left:
        results.append(_unless_written(shard, group, _rebalance_after_leave(shard, group)))
    # Only the transition to Empty is written, and it happens at most once.
    result = results[-1] if results else EMPTY_RESULT
    return CoordinatorResult(
        records=result.records,
        response=leave_result(members),
        append_future=result.append_future,
        replay_records=result.replay_records,
    )


def _unless_written(shard: GroupMetadataManager, group: ClassicGroup, result: VoidResult) -> VoidResult:
    """Return what remains to be written: nothing in Scala, which appends now and answers without waiting."""
    if shard.profile.has(Behaviour.EMPTYING_AWAITS_APPEND):
        return result
    shard.append(group.group_id, result)
    return EMPTY_RESULT


def _leave(
    shard: GroupMetadataManager, group: ClassicGroup, leaver: MemberIdentity
) -> tuple[MemberResponse, VoidResult]:
    member_id, instance_id = leaver.member_id, leaver.group_instance_id
    may_name_instance = shard.profile.has(Behaviour.LEAVING_PENDING_MEMBER_MAY_NAME_INSTANCE)
    try:
        if member_id == UNKNOWN_MEMBER_ID:
            named_id = _member_of_instance(group, instance_id)
            result = remove_current_member_from_classic_group(shard, group, named_id)
        elif member_id in group.pending_join_members and may_name_instance:
            result = remove_pending_member_from_classic_group(shard, group, member_id)
        elif member_id in group.pending_join_members:
            result = _leave_pending_before_3_0(shard, group, leaver)
        else:
            group.validate_member(
                member_id,
                instance_id,
                unknown_instance_is_refused=shard.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
            )
            result = remove_current_member_from_classic_group(shard, group, member_id)
    except CoordinatorError as refusal:
        return left(leaver, refusal.error), EMPTY_RESULT
    return left(leaver, Errors.NONE), result


def _member_of_instance(group: ClassicGroup, instance_id: GroupInstanceId | None) -> MemberId:
    """Return the id of the member with an instance id, for a request without a member id."""
    if instance_id is None or instance_id not in group.static_members:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    return group.static_members[instance_id]


def _leave_pending_before_3_0(
    shard: GroupMetadataManager, group: ClassicGroup, leaver: MemberIdentity
) -> VoidResult:
    """Decided in: GroupCoordinator#handleLeaveGroup (2.8.2)."""
    if leaver.group_instance_id in group.static_members:
        raise CoordinatorError(Errors.FENCED_INSTANCE_ID)
    if leaver.group_instance_id is not None:
        raise IllegalStateError("the static member was not expected to be leaving")
    return remove_pending_member_from_classic_group(shard, group, leaver.member_id)


def remove_pending_member_from_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """Remove a pending member that leaves.

    Decided in: GroupMetadataManager#classicGroupLeaveToClassicGroup (4.3.1),
    GroupCoordinator#handleLeaveGroup (3.9.2).
    """
    shard.timers.cancel(HeartbeatKey(group_id=group.group_id, member_id=member_id))
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            group.remove(member_id)
            return EMPTY_RESULT
        case CoordinatorFamily.SCALA:
            result = remove_pending_member_and_update_classic_group(shard, group, member_id)
            return _unless_written(shard, group, result)


def remove_current_member_from_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """Remove a member that leaves. If its SyncGroup is parked, it is never answered.

    Source: GroupMetadataManager#removeCurrentMemberFromClassicGroup (4.3.1),
    GroupCoordinator#handleLeaveGroup (3.9.2).
    """
    member = group.members[member_id]
    shard.timers.cancel(HeartbeatKey(group_id=group.group_id, member_id=member_id))
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            member_left(shard, member)
            group.remove(member_id)
            return EMPTY_RESULT
        case CoordinatorFamily.SCALA:
            result = remove_member_and_update_classic_group(shard, group, member)
            return _unless_written(shard, group, result)


def _rebalance_after_leave(shard: GroupMetadataManager, group: ClassicGroup) -> VoidResult:
    match group.state:
        case ClassicGroupState.STABLE | ClassicGroupState.COMPLETING_REBALANCE:
            return maybe_prepare_rebalance_or_complete_join(shard, group)
        case ClassicGroupState.PREPARING_REBALANCE:
            return maybe_complete_join_phase(shard, group)
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            return EMPTY_RESULT
        case _:
            assert_never(group.state)


def leave_result(members: tuple[MemberResponse, ...]) -> LeaveGroupResponse:
    """Return a LeaveGroup response without a group error, with the result of each member."""
    return LeaveGroupResponse(error_code=Errors.NONE, members=members)


def left(leaver: MemberIdentity, error: Errors) -> MemberResponse:
    """Return the result for one member of a LeaveGroup request."""
    return MemberResponse(
        member_id=leaver.member_id,
        group_instance_id=leaver.group_instance_id,
        error_code=error,
    )
