"""Members leave a streams group, or are fenced."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.timers import cancel_timers
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.lookups import streams_group
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import (
    new_streams_group_metadata_record,
    new_streams_group_target_assignment_metadata_record,
    remove_streams_member,
)
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult


def streams_group_leave(
    shard: GroupMetadataManager, request: StreamsGroupHeartbeatRequest
) -> CoordinatorResult[StreamsGroupHeartbeatResponse]:
    """Let a member leave.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID.

    Source: GroupMetadataManager#streamsGroupLeave (4.3.1).
    """
    group = streams_group(shard, request.group_id)
    if request.shutdown_application and group.unwritten.shutdown_request_member_id is None:
        group.unwritten.shutdown_request_member_id = request.member_id
    member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=False)
    response = StreamsGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        status=(),
    )
    return CoordinatorResult(records=streams_group_fence_member(shard, group, member), response=response)


def streams_group_fence_member(
    shard: GroupMetadataManager, group: StreamsGroup, member: StreamsGroupMember
) -> tuple[CoordinatorRecord, ...]:
    """Drop a member, and raise the group's epoch.

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
