"""Heartbeat: a member renews its session and learns whether it must rejoin."""

from typing import assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.rebalance import reschedule_classic_group_member_heartbeat
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import HeartbeatRequest, HeartbeatResponse
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult


def classic_group_heartbeat_to_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, request: HeartbeatRequest
) -> CoordinatorResult[HeartbeatResponse]:
    """Handle a heartbeat to an existing group.

    Raises:
        CoordinatorError: the heartbeat is refused.

    Source: GroupMetadataManager#classicGroupHeartbeatToClassicGroup (4.3.1).
    """
    validate_classic_group_heartbeat(shard, group, request)
    return CoordinatorResult(response=HeartbeatResponse(error_code=_heartbeat(shard, group, request)))


def _heartbeat(shard: GroupMetadataManager, group: ClassicGroup, request: HeartbeatRequest) -> Errors:
    member = group.members[request.member_id]
    match group.state:
        case ClassicGroupState.EMPTY:
            return Errors.UNKNOWN_MEMBER_ID
        case ClassicGroupState.PREPARING_REBALANCE:
            reschedule_classic_group_member_heartbeat(shard, group, member)
            return Errors.REBALANCE_IN_PROGRESS
        case ClassicGroupState.COMPLETING_REBALANCE:
            if not shard.profile.has(Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE):
                return Errors.REBALANCE_IN_PROGRESS
            reschedule_classic_group_member_heartbeat(shard, group, member)
            return Errors.NONE
        case ClassicGroupState.STABLE:
            reschedule_classic_group_member_heartbeat(shard, group, member)
            return Errors.NONE
        case ClassicGroupState.DEAD:
            raise AssertionError("refused by validate_classic_group_heartbeat")
        case _:
            assert_never(group.state)


def validate_classic_group_heartbeat(
    shard: GroupMetadataManager, group: ClassicGroup, request: HeartbeatRequest
) -> None:
    """Check that the sender is a member and that its generation is current.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupMetadataManager#validateClassicGroupHeartbeat (4.3.1),
    GroupCoordinator#validateHeartbeat (3.9.2).
    """
    if group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(
        request.member_id,
        request.group_instance_id,
        unknown_instance_is_refused=shard.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
    )
    if request.generation_id != group.generation_id:
        raise CoordinatorError(Errors.ILLEGAL_GENERATION)
