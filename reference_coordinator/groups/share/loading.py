"""Actions for share groups after their partition has been loaded."""

from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import schedule_share_group_session_timeout
from reference_coordinator.groups.share.group import ShareGroup


def on_group_loaded(shard: GroupMetadataManager, group: ShareGroup) -> None:
    """Restart every member's session. Decided in: GroupMetadataManager#onLoaded (4.3.1)."""
    for member_id in group.members:
        schedule_share_group_session_timeout(shard, group.group_id, member_id)
