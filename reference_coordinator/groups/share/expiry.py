"""Expired sessions of share group members."""

from reference_coordinator.groups.consumer.timers import TimerRetried
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import ShareGroupDeadline
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.leave import share_group_fence_member
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    CoordinatorResult,
    VoidResult,
)


def share_group_fence_member_operation(
    shard: GroupMetadataManager, group: ShareGroup, deadline: ShareGroupDeadline
) -> VoidResult:
    """Remove a member whose session expired, if it still exists.

    Source: GroupMetadataManager#shareGroupFenceMemberOperation (4.3.1).
    """
    member = group.members.get(deadline.key.member_id)
    if member is None:
        return EMPTY_RESULT
    return CoordinatorResult(
        records=share_group_fence_member(shard, group, member),
        append_future=TimerRetried(shard=shard, deadline=deadline),
    )
