"""The session timers of a share group's members."""

from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import FenceShareMember, ShareSessionKey


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
