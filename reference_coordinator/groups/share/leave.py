"""Members of share groups leave or are fenced."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import cancel_group_session_timeout
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.lookups import share_group
from reference_coordinator.groups.share.member import ShareGroupMember
from reference_coordinator.groups.share.record_helpers import (
    member_tombstone_records,
    new_share_group_epoch_records,
    new_share_group_target_assignment_metadata_record,
)
from reference_coordinator.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult


def share_group_leave(
    shard: GroupMetadataManager, request: ShareGroupHeartbeatRequest
) -> CoordinatorResult[ShareGroupHeartbeatResponse]:
    """Handle the heartbeat of a member that leaves.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID.

    Source: GroupMetadataManager#shareGroupLeave (4.3.1).
    """
    group = share_group(shard, request.group_id)
    member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=False)
    response = ShareGroupHeartbeatResponse(
        error_code=Errors.NONE, member_id=request.member_id, member_epoch=request.member_epoch
    )
    return CoordinatorResult(records=share_group_fence_member(shard, group, member), response=response)


def share_group_fence_member(
    shard: GroupMetadataManager, group: ShareGroup, member: ShareGroupMember
) -> tuple[CoordinatorRecord, ...]:
    """Remove a member and bump the group epoch.

    Source: GroupMetadataManager#shareGroupFenceMember (4.3.1).
    """
    group_id, group_epoch = group.group_id, group.group_epoch + 1
    names = group.compute_subscribed_topic_names(member, None)
    metadata = compute_subscription_metadata(names, shard.metadata_image, shard.profile)
    records = [
        *member_tombstone_records(group_id, member.member_id),
        *new_share_group_epoch_records(group_id, group_epoch, metadata, group.subscription_metadata),
    ]
    is_emptied = len(group.members) == 1
    if is_emptied and shard.profile.has(Behaviour.EMPTIED_GROUP_COUNTS_AS_ASSIGNED):
        records.append(
            new_share_group_target_assignment_metadata_record(group_id, group_epoch, Millis(0), shard.profile)
        )
    cancel_group_session_timeout(shard, group_id, member.member_id)
    return tuple(records)
