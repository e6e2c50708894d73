"""What a member of a streams group is told."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology, Status
from reference_coordinator.groups.streams.endpoints import build_endpoint_to_partitions
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import task_ids
from reference_coordinator.groups.streams.timers import streams_group_heartbeat_interval_ms
from reference_coordinator.messages.consumer_groups import JOIN_GROUP_MEMBER_EPOCH
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponseStatus,
)
from reference_coordinator.profile.behaviours import Behaviour

_ACCEPTABLE_RECOVERY_LAG: Final = 10_000
_TASK_OFFSET_INTERVAL_MS: Final = Millis(60_000)


def heartbeat_response(
    shard: GroupMetadataManager,
    group: StreamsGroup,
    request: StreamsGroupHeartbeatRequest,
    *,
    before: StreamsGroupMember,
    member: StreamsGroupMember,
    configured: ConfiguredTopology,
    statuses: tuple[StreamsGroupHeartbeatResponseStatus, ...],
) -> StreamsGroupHeartbeatResponse:
    """The member's epoch, its tasks if they have changed, and where others can be asked.

    Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.3.1).
    """
    unwritten, has = group.unwritten, member.assigned_tasks
    is_shown = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH or before.assigned_tasks != has
    if is_shown and member.user_endpoint is not None:
        unwritten.endpoint_information_epoch += 1
    endpoints = None
    if unwritten.endpoint_information_epoch != request.endpoint_information_epoch:
        endpoints = build_endpoint_to_partitions(group, member, configured, shard.metadata_image)
    # A group that is new is made again when its records are written, and then has no such epoch.
    is_known = shard.find_group(group.group_id) is not None
    requester = unwritten.shutdown_request_member_id
    shutdown = () if requester is None else (_shutdown(requester),)
    asks_for_offsets = shard.profile.has(Behaviour.STREAMS_TASK_OFFSETS_ASKED_FOR)
    return StreamsGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=streams_group_heartbeat_interval_ms(shard, group.group_id),
        status=(*statuses, *shutdown),
        active_tasks=task_ids(has.active_tasks) if is_shown else None,
        standby_tasks=task_ids(has.standby_tasks) if is_shown else None,
        warmup_tasks=task_ids(has.warmup_tasks) if is_shown else None,
        endpoint_information_epoch=unwritten.endpoint_information_epoch if is_known else 0,
        partitions_by_user_endpoint=endpoints,
        acceptable_recovery_lag=_ACCEPTABLE_RECOVERY_LAG if asks_for_offsets else -1,
        task_offset_interval_ms=_TASK_OFFSET_INTERVAL_MS if asks_for_offsets else Millis(0),
        creatable_topics=configured.internal_topics_to_be_created if configured.status is not None else (),
    )


def status(code: Status, detail: str) -> StreamsGroupHeartbeatResponseStatus:
    """One thing that a member is told."""
    return StreamsGroupHeartbeatResponseStatus(status_code=code.value, status_detail=detail)


def _shutdown(member_id: str) -> StreamsGroupHeartbeatResponseStatus:
    detail = (
        f"Streams group member {member_id} encountered a fatal error and requested a shutdown for the entire "
        "application."
    )
    return status(Status.SHUTDOWN_APPLICATION, detail)
