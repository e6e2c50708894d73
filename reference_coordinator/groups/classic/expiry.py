"""Expired deadlines of classic groups: sessions, join phases and pending syncs."""

from typing import assert_never

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GenerationId, MemberId
from reference_coordinator.groups.classic.deadlines import (
    ClassicGroupDeadline,
    CompleteJoin,
    ExpireMemberHeartbeat,
    ExpirePendingSync,
    HeartbeatKey,
    TryCompleteInitialRebalance,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.rebalance import (
    complete_classic_group_join,
    prepare_rebalance,
    remove_member_and_update_classic_group,
    remove_pending_member_and_update_classic_group,
    try_complete_initial_rebalance_else_schedule,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, VoidResult


def fall_due(shard: GroupMetadataManager, group: ClassicGroup, deadline: ClassicGroupDeadline) -> VoidResult:
    """Handle an expired deadline of a group."""
    match deadline:
        case ExpireMemberHeartbeat():
            return expire_classic_group_member_heartbeat(shard, group, deadline.member_id)
        case TryCompleteInitialRebalance(delay_ms=delay_ms, remaining_ms=remaining_ms):
            return try_complete_initial_rebalance_else_schedule(
                shard, group, delay_ms=delay_ms, remaining_ms=remaining_ms
            )
        case CompleteJoin():
            return complete_classic_group_join(shard, group)
        case ExpirePendingSync():
            return expire_pending_sync(shard, group, deadline.generation_id)
        case _:
            assert_never(deadline)


def expire_classic_group_member_heartbeat(
    shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """Remove a member or pending member whose session expired.

    Source: GroupMetadataManager#expireClassicGroupMemberHeartbeat (4.3.1),
    GroupCoordinator#onExpireHeartbeat (3.9.2).
    """
    if group.state is ClassicGroupState.DEAD:
        return EMPTY_RESULT
    member = group.members.get(member_id)
    if member_id in group.pending_join_members:
        return remove_pending_member_and_update_classic_group(shard, group, member_id)
    if member is not None and not member.has_satisfied_heartbeat:
        return remove_member_and_update_classic_group(shard, group, member)
    return EMPTY_RESULT


def expire_pending_sync(
    shard: GroupMetadataManager, group: ClassicGroup, generation_id: GenerationId
) -> VoidResult:
    """Remove the members that did not send SyncGroup in time and rebalance without them.

    Raises:
        IllegalStateError: one of them is no longer a member. Kafka ignores this exception.

    Source: GroupMetadataManager#expirePendingSync (4.3.1), GroupCoordinator#onExpirePendingSync (3.9.2).
    """
    if group.generation_id != generation_id:
        return EMPTY_RESULT
    awaits_sync = {ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE}
    if group.state not in awaits_sync or group.has_received_sync_from_all_members:
        return EMPTY_RESULT
    throws = shard.profile.has(Behaviour.PENDING_SYNC_OF_REPLACED_MEMBER_THROWS)
    if group.rebalance_timeout_ms <= 0:
        group.removed_at_once = frozenset(group.pending_sync_members)
    for member_id in tuple(group.pending_sync_members):
        if throws and member_id not in group.members:
            raise IllegalStateError(f"{member_id} is not a member")
        group.remove(member_id)
        shard.timers.cancel(HeartbeatKey(group_id=group.group_id, member_id=member_id))
    return prepare_rebalance(shard, group)
