"""What happens to members that are silent for too long."""

from reference_coordinator.classic.deadlines import (
    ExpireMemberHeartbeat,
    ExpirePendingSync,
    HeartbeatKey,
)
from reference_coordinator.classic.rebalance import (
    prepare_rebalance,
    remove_member_and_update_classic_group,
    remove_pending_member_and_update_classic_group,
)
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.group.shard import Shard


def expire_classic_group_member_heartbeat(shard: Shard, deadline: ExpireMemberHeartbeat) -> None:
    """Drop a member, or forget an id given out, whose session is over.

    Source: GroupMetadataManager#expireClassicGroupMemberHeartbeat (4.3.1),
    GroupCoordinator#onExpireHeartbeat (3.9.2).
    """
    group = shard.group(deadline.group_id)
    if group is None or group.state is ClassicGroupState.DEAD:
        return
    member = group.members.get(deadline.member_id)
    if deadline.member_id in group.pending_join_members:
        remove_pending_member_and_update_classic_group(shard, group, deadline.member_id)
    elif member is not None and not member.has_satisfied_heartbeat:
        remove_member_and_update_classic_group(shard, group, member)


def expire_pending_sync(shard: Shard, deadline: ExpirePendingSync) -> None:
    """Drop the members that did not sync in time and rebalance without them.

    Source: GroupMetadataManager#expirePendingSync (4.3.1), GroupCoordinator#onExpirePendingSync (3.9.2).
    """
    group = shard.group(deadline.group_id)
    if group is None or group.generation_id != deadline.generation_id:
        return
    awaits_sync = {ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE}
    if group.state not in awaits_sync or group.has_received_sync_from_all_members:
        return
    for member_id in tuple(group.pending_sync_members):
        group.remove(member_id)
        shard.timers.cancel(HeartbeatKey(group_id=group.group_id, member_id=member_id))
    prepare_rebalance(shard, group)
