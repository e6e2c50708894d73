"""Heartbeat responses to members of streams groups."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology, Status
from reference_coordinator.groups.streams.endpoints import build_endpoint_to_partitions
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import task_ids
from reference_coordinator.groups.streams.timers import (
    streams_group_acceptable_recovery_lag,
    streams_group_heartbeat_interval_ms,
    streams_group_task_offset_interval_ms,
)
from reference_coordinator.messages.consumer_groups import JOIN_GROUP_MEMBER_EPOCH
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponseStatus,
)
from reference_coordinator.profile.profiles import Behaviour, Profile

_FIRST_WITH_TAGS: Final = 1


def heartbeat_response(
    shard: GroupMetadataManager,
    group: StreamsGroup,
    request: StreamsGroupHeartbeatRequest,
    *,
    before: StreamsGroupMember,
    member: StreamsGroupMember,
    replaced: StreamsGroupMember | None,
    configured: ConfiguredTopology,
    statuses: tuple[StreamsGroupHeartbeatResponseStatus, ...],
    untagged: tuple[StreamsGroupHeartbeatResponseStatus, ...],
) -> StreamsGroupHeartbeatResponse:
    """Return the response: the member's epoch, its tasks if they changed, and changed endpoints.

    Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
    """
    unwritten, has, profile = group.unwritten, member.assigned_tasks, shard.profile
    is_shown = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH or before.assigned_tasks != has
    if _has_endpoint_news(before, member, profile, joins=request.member_epoch == JOIN_GROUP_MEMBER_EPOCH):
        unwritten.endpoint_information_epoch += 1
    endpoints = None
    if unwritten.endpoint_information_epoch != request.endpoint_information_epoch:
        endpoints = build_endpoint_to_partitions(group, member, configured, shard.metadata_image, replaced)
    # A new group is created again when its records are written, and then has no endpoint epoch.
    is_known = shard.find_group(group.group_id) is not None
    requester = unwritten.shutdown_request_member_id
    shutdown = () if requester is None else (_shutdown(requester),)
    asks_for_offsets = profile.has(Behaviour.STREAMS_TASK_OFFSETS_ASKED_FOR)
    lag = streams_group_acceptable_recovery_lag(shard, group.group_id)
    interval_ms = streams_group_task_offset_interval_ms(shard, group.group_id)
    return StreamsGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=streams_group_heartbeat_interval_ms(shard, group.group_id),
        status=(*statuses, *shutdown, *untagged),
        active_tasks=task_ids(has.active_tasks) if is_shown else None,
        standby_tasks=task_ids(has.standby_tasks) if is_shown else None,
        warmup_tasks=task_ids(has.warmup_tasks) if is_shown else None,
        endpoint_information_epoch=unwritten.endpoint_information_epoch if is_known else 0,
        partitions_by_user_endpoint=endpoints,
        acceptable_recovery_lag=lag if asks_for_offsets else -1,
        task_offset_interval_ms=interval_ms if asks_for_offsets else Millis(0),
        creatable_topics=configured.internal_topics_to_be_created if configured.status is not None else (),
    )


def missing_tags(
    required: tuple[str, ...], member: StreamsGroupMember, api_version: int
) -> tuple[StreamsGroupHeartbeatResponseStatus, ...]:
    """Return the status for a member that lacks required tags, if its request version supports it.

    Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
    """
    missing = ", ".join(each for each in required if each not in member.client_tags)
    if not missing or api_version < _FIRST_WITH_TAGS:
        return ()
    detail = (
        f"Missing required client tags for rack-aware standby assignment: [{missing}]. Configure them via "
        "'client.tag.<tagKey>' in your Streams config."
    )
    return (status(Status.MISSING_CLIENT_TAGS, detail),)


def _has_endpoint_news(
    before: StreamsGroupMember, member: StreamsGroupMember, profile: Profile, *, joins: bool
) -> bool:
    """Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0)."""
    has_other_tasks = before.assigned_tasks != member.assigned_tasks
    if not profile.has(Behaviour.STREAMS_ENDPOINTS_FOLLOW_CHANGES):
        return member.user_endpoint is not None and (joins or has_other_tasks)
    if before.user_endpoint != member.user_endpoint:
        return True
    return member.user_endpoint is not None and has_other_tasks


def status(code: Status, detail: str) -> StreamsGroupHeartbeatResponseStatus:
    """Return a status for a heartbeat response."""
    return StreamsGroupHeartbeatResponseStatus(status_code=code.value, status_detail=detail)


def _shutdown(member_id: str) -> StreamsGroupHeartbeatResponseStatus:
    detail = (
        f"Streams group member {member_id} encountered a fatal error and requested a shutdown for the entire "
        "application."
    )
    return status(Status.SHUTDOWN_APPLICATION, detail)
