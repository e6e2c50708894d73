"""Actions for consumer groups after their partition has been loaded."""

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.timers import (
    schedule_consumer_group_rebalance_timeout,
    schedule_consumer_group_session_timeout,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager


def on_group_loaded(shard: GroupMetadataManager, group: ConsumerGroup) -> None:
    """Restart every member's session, and the rebalance timer of members that must revoke partitions.

    Decided in: GroupMetadataManager#onLoaded (4.3.1).
    """
    for member in group.members.values():
        schedule_consumer_group_session_timeout(shard, group.group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            schedule_consumer_group_rebalance_timeout(shard, group, member)
