"""Requests about share groups: check each one and pass it to its handler."""

from functools import partial
from typing import assert_never

from reference_coordinator.coordinator.admin import authorized_operations
from reference_coordinator.coordinator.reads import answer_read
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.core.parts import between_parts
from reference_coordinator.groups.share.describing import as_described_share_group
from reference_coordinator.groups.share.describing_offsets import describe_share_group_offsets
from reference_coordinator.groups.share.heartbeat import (
    share_group_heartbeat,
    throw_if_share_group_heartbeat_request_is_invalid,
)
from reference_coordinator.groups.share.lookups import share_group
from reference_coordinator.groups.share.offsets import (
    alter_share_group_offsets,
    delete_share_group_offsets,
)
from reference_coordinator.messages import GroupResponse, RequestContext
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupAdminRequest,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupDescribeResponseGroup,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult
from reference_coordinator.runtime.error_responses import in_answer_order
from reference_coordinator.runtime.share_error_responses import default_message


def hear_share_member(
    shard: CoordinatorShard, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> CoordinatorResult[ShareGroupHeartbeatResponse]:
    """Check a ShareGroupHeartbeat and pass it on.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupCoordinatorService#shareGroupHeartbeat (4.3.1),
    GroupMetadataManager#shareGroupHeartbeat (4.0.2).
    """
    is_checked_first = shard.profile.has(Behaviour.CONSUMER_HEARTBEAT_VALIDATED_FIRST)
    if not is_checked_first:
        shard.throw_if_not_active(request.group_id)
    throw_if_share_group_heartbeat_request_is_invalid(request)
    if is_checked_first:
        shard.throw_if_not_active(request.group_id)
    return share_group_heartbeat(shard, request, context)


def administer_share_groups(
    shard: CoordinatorShard, request: ShareGroupAdminRequest, token: ResponseToken
) -> CoordinatorResult[GroupResponse]:
    """Describe share groups, or describe, alter or delete their offsets.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupCoordinatorService#alterShareGroupOffsets,
    GroupCoordinatorService#deleteShareGroupOffsets (4.3.1).
    """
    match request:
        case ShareGroupDescribeRequest():
            answer_read(shard, token, partial(share_group_describe, shard, request))
            return EMPTY_RESULT
        case DescribeShareGroupOffsetsRequest():
            shard.respond(token, describe_share_group_offsets(shard, request))
            return EMPTY_RESULT
        case AlterShareGroupOffsetsRequest():
            _throw_if_not_here(shard, request.group_id)
            return alter_share_group_offsets(shard, request, token)
        case DeleteShareGroupOffsetsRequest():
            _throw_if_not_here(shard, request.group_id)
            return delete_share_group_offsets(shard, request, token)
        case _:
            assert_never(request)


def _throw_if_not_here(shard: CoordinatorShard, group_id: GroupId) -> None:
    if not group_id:
        raise CoordinatorError(Errors.INVALID_GROUP_ID)
    shard.throw_if_not_active(group_id)


def share_group_describe(
    shard: CoordinatorShard, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    """Describe each requested share group.

    Groups without an id come first, then the others, partition by partition.

    Source: GroupCoordinatorService#shareGroupDescribe, GroupMetadataManager#shareGroupDescribe (4.3.1).
    """
    unnamed = tuple(each for each in request.group_ids if not each)
    named = tuple(each for each in request.group_ids if each)
    ordered = (*unnamed, *in_answer_order(shard, named))
    return ShareGroupDescribeResponse(groups=tuple(_described(shard, request, each) for each in ordered))


def _described(
    shard: CoordinatorShard, request: ShareGroupDescribeRequest, group_id: GroupId
) -> ShareGroupDescribeResponseGroup:
    """Since 4.1, a coordinator that is not active answers with a message too.

    Decided in: ShareGroupDescribeRequest#getErrorDescribedGroupList (4.0.2, 4.1.0).
    """
    between_parts()
    if not group_id:
        return ShareGroupDescribeResponseGroup(error_code=Errors.INVALID_GROUP_ID, group_id=group_id)
    try:
        shard.throw_if_not_active(group_id)
        group = share_group(shard, group_id, committed=True)
    except CoordinatorError as refusal:
        message = refusal.message
        if message is None and shard.profile.has(Behaviour.SHARE_STATE_INITIALIZED):
            message = default_message(refusal.error)
        return ShareGroupDescribeResponseGroup(
            error_code=refusal.error, error_message=message, group_id=group_id
        )
    operations = authorized_operations(shard, request)
    return as_described_share_group(shard, group, authorized_operations=operations)
