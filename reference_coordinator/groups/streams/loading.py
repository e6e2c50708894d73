"""Actions for streams groups after their partition has been loaded."""

from reference_coordinator.core.streams_records import StreamsMemberState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.timers import (
    schedule_streams_group_rebalance_timeout,
    schedule_streams_group_session_timeout,
)


def on_group_loaded(shard: GroupMetadataManager, group: StreamsGroup) -> None:
    """Restart every member's session, and the rebalance timer of members that must revoke tasks.

    Decided in: GroupMetadataManager#onLoaded (4.3.1).
    """
    for member in group.members.values():
        schedule_streams_group_session_timeout(shard, group.group_id, member.member_id)
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            schedule_streams_group_rebalance_timeout(shard, group.group_id, member)
