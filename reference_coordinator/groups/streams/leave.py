"""Members leave a streams group, or are fenced."""

from dataclasses import replace

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.timers import cancel_timers
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.joining import static_member_or_throw
from reference_coordinator.groups.streams.lookups import streams_group
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import (
    new_streams_group_current_assignment_record,
    new_streams_group_metadata_record,
    new_streams_group_target_assignment_metadata_record,
    remove_streams_member,
)
from reference_coordinator.groups.streams.tasks import EMPTY_WITH_EPOCHS
from reference_coordinator.messages.consumer_groups import LEAVE_GROUP_STATIC_MEMBER_EPOCH
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult


def streams_group_leave(
    shard: GroupMetadataManager, request: StreamsGroupHeartbeatRequest
) -> CoordinatorResult[StreamsGroupHeartbeatResponse]:
    """Handle the heartbeat of a member that leaves.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Source: GroupMetadataManager#streamsGroupLeave (4.4.0).
    """
    group = streams_group(shard, request.group_id)
    if request.shutdown_application and group.unwritten.shutdown_request_member_id is None:
        group.unwritten.shutdown_request_member_id = request.member_id
    response = StreamsGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        status=(),
    )
    if request.instance_id is None:
        member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=False)
    else:
        member = static_member_or_throw(group, request.instance_id, request.member_id)
        if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
            return streams_group_static_member_group_leave(group, member, response)
    return CoordinatorResult(records=streams_group_fence_member(shard, group, member), response=response)


def streams_group_static_member_group_leave(
    group: StreamsGroup, member: StreamsGroupMember, response: StreamsGroupHeartbeatResponse
) -> CoordinatorResult[StreamsGroupHeartbeatResponse]:
    """Let a static member leave temporarily. It keeps its tasks and no longer has to revoke any.

    Source: GroupMetadataManager#streamsGroupStaticMemberGroupLeave (4.4.0).
    """
    left = replace(
        member, member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH, tasks_pending_revocation=EMPTY_WITH_EPOCHS
    ).reset_assigned_tasks_epochs_to_zero()
    record = new_streams_group_current_assignment_record(group.group_id, left)
    return CoordinatorResult(records=(record,), response=response)


def streams_group_fence_member(
    shard: GroupMetadataManager, group: StreamsGroup, member: StreamsGroupMember
) -> tuple[CoordinatorRecord, ...]:
    """Remove a member and bump the group epoch.

    Source: GroupMetadataManager#streamsGroupFenceMember (4.3.1).
    """
    cancel_timers(shard, group.group_id, member.member_id)
    epoch = new_streams_group_metadata_record(
        group.group_id,
        group.group_epoch + 1,
        metadata_hash=group.metadata_hash,
        validated_topology_epoch=group.validated_topology_epoch,
        assignment_configs=group.last_assignment_configs,
    )
    records: tuple[CoordinatorRecord, ...] = (*remove_streams_member(group.group_id, member.member_id), epoch)
    if len(group.members) > 1 or not shard.profile.has(Behaviour.EMPTIED_GROUP_COUNTS_AS_ASSIGNED):
        return records
    assigned = new_streams_group_target_assignment_metadata_record(
        group.group_id, group.group_epoch + 1, Millis(0), shard.profile
    )
    return (*records, assigned)
