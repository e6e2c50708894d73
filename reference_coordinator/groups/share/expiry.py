"""Expired sessions of share group members."""

from typing import assert_never

from reference_coordinator.groups.consumer.timers import TimerRetried
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import (
    FenceShareMember,
    InitializeShareState,
    ShareGroupDeadline,
)
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.initializing import request_share_state
from reference_coordinator.groups.share.leave import share_group_fence_member
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    CoordinatorResult,
    VoidResult,
)


def fall_due(shard: GroupMetadataManager, group: ShareGroup, deadline: ShareGroupDeadline) -> VoidResult:
    """Handle an expired deadline of a share group.

    Decided in: GroupMetadataManager#shareGroupFenceMemberOperation,
    GroupCoordinatorService#persisterInitialize (4.3.1).
    """
    match deadline:
        case FenceShareMember():
            return share_group_fence_member_operation(shard, group, deadline)
        case InitializeShareState(key=key):
            offsets = {topic_id: dict(each) for topic_id, each in key.start_offsets}
            return request_share_state(shard, group.group_id, key.state_epoch, offsets)
        case _:
            assert_never(deadline)


def share_group_fence_member_operation(
    shard: GroupMetadataManager, group: ShareGroup, deadline: FenceShareMember
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
