"""Requests about streams groups: check each one and pass it to its handler."""

from reference_coordinator.coordinator.admin import authorized_operations
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.parts import between_parts
from reference_coordinator.groups.streams.describing import (
    NOT_REQUESTED,
    NOT_STORED,
    as_described_streams_group,
)
from reference_coordinator.groups.streams.heartbeat import streams_group_heartbeat
from reference_coordinator.groups.streams.lookups import streams_group
from reference_coordinator.groups.streams.validation import (
    throw_if_streams_group_heartbeat_request_is_invalid,
    throw_if_streams_group_heartbeat_request_is_using_unsupported_features,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult
from reference_coordinator.runtime.error_responses import in_answer_order


def hear_streams_member(
    shard: CoordinatorShard, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> CoordinatorResult[StreamsGroupHeartbeatResponse]:
    """Check a StreamsGroupHeartbeat and pass it on.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupCoordinatorService#streamsGroupHeartbeat (4.3.1).
    """
    if shard.profile.has(Behaviour.STREAMS_FIELDS_CHECKED_BEFORE_FEATURES):
        throw_if_streams_group_heartbeat_request_is_invalid(request)
        throw_if_streams_group_heartbeat_request_is_using_unsupported_features(request, shard.profile)
    else:
        throw_if_streams_group_heartbeat_request_is_using_unsupported_features(request, shard.profile)
        throw_if_streams_group_heartbeat_request_is_invalid(request)
    shard.throw_if_not_active(request.group_id)
    return streams_group_heartbeat(shard, request, context)


def streams_group_describe(
    shard: CoordinatorShard, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    """Describe each requested streams group.

    Groups without an id come first, then the others, partition by partition.

    Source: GroupCoordinatorService#streamsGroupDescribe, GroupMetadataManager#streamsGroupDescribe (4.3.1).
    """
    unnamed = tuple(each for each in request.group_ids if not each)
    named = tuple(each for each in request.group_ids if each)
    ordered = (*unnamed, *in_answer_order(shard, named))
    return StreamsGroupDescribeResponse(groups=tuple(_describe(shard, request, each) for each in ordered))


def _describe(
    shard: CoordinatorShard, request: StreamsGroupDescribeRequest, group_id: GroupId
) -> StreamsGroupDescribeResponseGroup:
    between_parts()
    if not group_id:
        return StreamsGroupDescribeResponseGroup(error_code=Errors.INVALID_GROUP_ID, group_id=group_id)
    try:
        shard.throw_if_not_active(group_id)
        group = streams_group(shard, group_id, committed=True)
    except CoordinatorError as refusal:
        return StreamsGroupDescribeResponseGroup(
            error_code=refusal.error, error_message=refusal.message, group_id=group_id
        )
    return as_described_streams_group(
        group,
        authorized_operations=authorized_operations(shard, request),
        topology_description_status=NOT_STORED if request.include_topology_description else NOT_REQUESTED,
    )
