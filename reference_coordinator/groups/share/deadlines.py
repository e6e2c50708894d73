"""The timers of a share group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline, MemberKey
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class ShareSessionKey(MemberKey):
    """The timer of a member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class FenceShareMember(MemberDeadline):
    """A member's session expires."""


@value
class ShareInitializationKey(GroupTimerKey):
    """The timer of the share coordinator's reply."""

    state_epoch: int
    start_offsets: tuple[tuple[TopicId, tuple[tuple[int, int], ...]], ...]
    """The offsets to start reading from, by topic and partition."""


@value
class InitializeShareState(GroupDeadline):
    """The share coordinator replies that it has initialized partitions."""

    key: ShareInitializationKey


ShareGroupDeadline = FenceShareMember | InitializeShareState
"""Any deadline of a share group."""


def share_group_session_timeout_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the session timeout of a group's members.

    Source: GroupMetadataManager#shareGroupSessionTimeoutMs (4.3.1).
    """
    own = shard.group_config(group_id).share_session_timeout_ms
    return Millis(shard.config.group_share_session_timeout_ms if own is None else own)


def share_group_heartbeat_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the heartbeat interval of a group's members.

    Source: GroupMetadataManager#shareGroupHeartbeatIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).share_heartbeat_interval_ms
    return Millis(shard.config.group_share_heartbeat_interval_ms if own is None else own)


def schedule_share_group_session_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId
) -> None:
    """Restart a member's session timer.

    Source: GroupMetadataManager#scheduleShareGroupSessionTimeout (4.3.1).
    """
    key = ShareSessionKey(group_id=group_id, member_id=member_id)
    at_ms = shard.now_ms + share_group_session_timeout_ms(shard, group_id)
    shard.timers.schedule(key, at_ms, FenceShareMember(group_id=group_id, key=key))


def cancel_group_session_timeout(shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId) -> None:
    """Cancel a member's session timer.

    Source: GroupMetadataManager#cancelGroupSessionTimeout (4.3.1).
    """
    shard.timers.cancel(ShareSessionKey(group_id=group_id, member_id=member_id))
