"""The timers of a consumer group's members, and how they are scheduled and cancelled."""

from typing import Final

from typing_extensions import override

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import (
    ConsumerGroupDeadline,
    ConsumerJoinKey,
    ConsumerSyncKey,
    FenceMember,
    FenceUnrevokedMember,
    MemberDeadline,
    RebalanceKey,
    SessionKey,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.runtime.coordinator_result import Continuation

_RETRY_BACKOFF_MS: Final = 500
"""Source: CoordinatorTimerImpl#schedule (4.3.1)."""
_TRANSIENT: Final = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS})


@value
class TimerRetried(Continuation):
    """Runs after the append of the records of an expired timer."""

    shard: GroupMetadataManager
    deadline: MemberDeadline

    @override
    def append_completed(self, error: Errors) -> None:
        """Schedule the deadline again after a failed append, unless the error is transient or it is newer.

        Decided in: CoordinatorTimerImpl#schedule (4.3.1).
        """
        is_newer = self.shard.timers.deadline_of(self.deadline.key) is not None
        if error is not Errors.NONE and error not in _TRANSIENT and not is_newer:
            at_ms = self.shard.now_ms + _RETRY_BACKOFF_MS
            self.shard.timers.schedule(self.deadline.key, at_ms, self.deadline)


def consumer_group_session_timeout_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the session timeout of a group's members.

    Source: GroupMetadataManager#consumerGroupSessionTimeoutMs (4.3.1).
    """
    own = shard.group_config(group_id).consumer_session_timeout_ms
    return Millis(shard.config.group_consumer_session_timeout_ms if own is None else own)


def consumer_group_heartbeat_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the heartbeat interval of a group's members.

    Source: GroupMetadataManager#consumerGroupHeartbeatIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).consumer_heartbeat_interval_ms
    return Millis(shard.config.group_consumer_heartbeat_interval_ms if own is None else own)


def schedule_consumer_group_session_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId, timeout_ms: Millis | None = None
) -> None:
    """Restart a member's session timer.

    Source: GroupMetadataManager#scheduleConsumerGroupSessionTimeout (4.3.1).
    """
    if timeout_ms is None:
        timeout_ms = consumer_group_session_timeout_ms(shard, group_id)
    key = SessionKey(group_id=group_id, member_id=member_id)
    shard.timers.schedule(key, shard.now_ms + timeout_ms, FenceMember(group_id=group_id, key=key))


def schedule_consumer_group_rebalance_timeout(
    shard: GroupMetadataManager, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    """Start the timer within which a member must revoke partitions, its rebalance timeout.

    Source: GroupMetadataManager#scheduleConsumerGroupRebalanceTimeout (4.3.1).
    """
    key = RebalanceKey(group_id=group.group_id, member_id=member.member_id)
    deadline = FenceUnrevokedMember(group_id=group.group_id, key=key, member_epoch=member.member_epoch)
    shard.timers.schedule(key, shard.now_ms + member.rebalance_timeout_ms, deadline)


def cancel_group_rebalance_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId
) -> None:
    """Cancel the timer within which a member must revoke partitions.

    Source: GroupMetadataManager#cancelGroupRebalanceTimeout (4.3.1).
    """
    shard.timers.cancel(RebalanceKey(group_id=group_id, member_id=member_id))


def schedule_consumer_group_join_timeout_if_absent(
    shard: GroupMetadataManager, group_id: GroupId, member: ConsumerGroupMember
) -> None:
    """Start the timer within which a classic member must rejoin, unless it is running.

    Source: GroupMetadataManager#scheduleConsumerGroupJoinTimeoutIfAbsent (4.3.1).
    """
    key = ConsumerJoinKey(group_id=group_id, member_id=member.member_id)
    if shard.timers.deadline_of(key) is None:
        at_ms = shard.now_ms + member.rebalance_timeout_ms
        shard.timers.schedule(key, at_ms, FenceMember(group_id=group_id, key=key))


def cancel_consumer_group_join_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId
) -> None:
    """Cancel the timer within which a classic member must rejoin.

    Source: GroupMetadataManager#cancelConsumerGroupJoinTimeout (4.3.1).
    """
    shard.timers.cancel(ConsumerJoinKey(group_id=group_id, member_id=member_id))


def schedule_consumer_group_sync_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId, rebalance_timeout_ms: Millis
) -> None:
    """Start the timer within which a classic member must sync, its rebalance timeout.

    Source: GroupMetadataManager#scheduleConsumerGroupSyncTimeout (4.3.1).
    """
    key = ConsumerSyncKey(group_id=group_id, member_id=member_id)
    shard.timers.schedule(key, shard.now_ms + rebalance_timeout_ms, FenceMember(group_id=group_id, key=key))


def cancel_consumer_group_sync_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId
) -> None:
    """Cancel the timer within which a classic member must sync.

    Source: GroupMetadataManager#cancelConsumerGroupSyncTimeout (4.3.1).
    """
    shard.timers.cancel(ConsumerSyncKey(group_id=group_id, member_id=member_id))


def cancel_timers(shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId) -> None:
    """Cancel all timers of a member. Source: GroupMetadataManager#cancelTimers (4.3.1)."""
    for key in (SessionKey, RebalanceKey, ConsumerJoinKey, ConsumerSyncKey):
        shard.timers.cancel(key(group_id=group_id, member_id=member_id))


def is_still_due(group: ConsumerGroup, deadline: ConsumerGroupDeadline) -> bool:
    """Return whether the member still exists and, if it had to revoke, is still in that epoch.

    Decided in: GroupMetadataManager#consumerGroupFenceMemberOperation,
    GroupMetadataManager#scheduleConsumerGroupRebalanceTimeout (4.3.1).
    """
    match deadline:
        case FenceMember():
            return deadline.member_id in group.members
        case FenceUnrevokedMember():
            member = group.members.get(deadline.member_id)
            return member is not None and member.member_epoch == deadline.member_epoch
        case _:
            return False
