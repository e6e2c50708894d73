"""The entry of all requests: check each one, in Kafka's order, and pass it to its handler.

A handler raises CoordinatorError to refuse a request, or returns the records to write and the answer.
`refusal_response` converts an error that a handler or a check raises into the API's answer.
"""

from functools import partial
from typing import Final

from reference_coordinator import messages
from reference_coordinator.coordinator.admin import (
    consumer_group_describe,
    describe_groups,
    list_groups,
)
from reference_coordinator.coordinator.deletion import delete_groups
from reference_coordinator.coordinator.reads import answer_read
from reference_coordinator.coordinator.share_groups import administer_share_groups, hear_share_member
from reference_coordinator.coordinator.streams_groups import hear_streams_member, streams_group_describe
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GroupId, ResponseToken
from reference_coordinator.groups.consumer.heartbeat import consumer_group_heartbeat
from reference_coordinator.groups.consumer.validation import (
    throw_if_consumer_group_heartbeat_request_is_invalid,
)
from reference_coordinator.groups.dispatch import (
    classic_group_heartbeat,
    classic_group_join,
    classic_group_leave,
    classic_group_sync,
)
from reference_coordinator.offsets.commit import commit_offset
from reference_coordinator.offsets.delete import delete_offsets
from reference_coordinator.offsets.fetch import fetch_offsets
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.storing import CommitResponse
from reference_coordinator.offsets.txn_commit import (
    commit_transactional_offset,
    other_verdicts,
    producer_of,
)
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import handle_operation_exception
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    CoordinatorResult,
    Join,
    Sync,
    VoidResult,
)
from reference_coordinator.runtime.error_responses import (
    error_response,
    fetch_error,
    join_error,
    refusal_response,
    txn_commit_error,
)
from reference_coordinator.runtime.write_event import complete_operation

_LATE_JOIN_VERSION: Final = 6
_LATE_SYNC_VERSION: Final = 4


def handle(
    shard: CoordinatorShard,
    request: messages.GroupRequest,
    context: messages.RequestContext,
    token: ResponseToken,
) -> None:
    """Answer or park a request; exceptions that Kafka would throw are answered, too."""
    try:
        result = _dispatch(shard, request, context, token)
        producer = (
            producer_of(shard, request) if isinstance(request, messages.TxnOffsetCommitRequest) else None
        )
        complete_operation(shard, request, token, result, producer=producer)
    except CoordinatorError as refusal:
        shard.respond(token, refusal_response(shard, request, refusal))
    except IllegalStateError:
        _handle_error(shard, request, context, token)


def _dispatch(
    shard: CoordinatorShard,
    request: messages.GroupRequest,
    context: messages.RequestContext,
    token: ResponseToken,
) -> CoordinatorResult[messages.GroupResponse]:
    match request:
        case messages.JoinGroupRequest():
            return join_group(shard, Join(request=request, context=context, token=token))
        case messages.SyncGroupRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            return classic_group_sync(shard, Sync(request=request, token=token))
        case messages.HeartbeatRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            return classic_group_heartbeat(shard, request)
        case messages.LeaveGroupRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            return classic_group_leave(shard, request)
        case messages.ConsumerGroupHeartbeatRequest():
            return hear_consumer(shard, request, context)
        case messages.ShareGroupHeartbeatRequest():
            return hear_share_member(shard, request, context)
        case messages.StreamsGroupHeartbeatRequest():
            return hear_streams_member(shard, request, context)
        case _:
            return _dispatch_offsets(shard, request, context, token)


def _dispatch_offsets(
    shard: CoordinatorShard,
    request: messages.OffsetsRequest | messages.ManyGroupsRequest,
    context: messages.RequestContext,
    token: ResponseToken,
) -> CoordinatorResult[messages.GroupResponse]:
    match request:
        case messages.OffsetCommitRequest():
            validate_group_status(shard, request.group_id, allows_empty=True)
            return commit_offset(shard, request, api_version=context.api_version, token=token)
        case messages.TxnOffsetCommitRequest():
            return commit_transactional_offsets(shard, request, token, api_version=context.api_version)
        case messages.OffsetDeleteRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            return delete_offsets(shard, request)
        case _:
            return _dispatch_to_many_groups(shard, request, context, token)


def _dispatch_to_many_groups(
    shard: CoordinatorShard,
    request: messages.ManyGroupsRequest,
    context: messages.RequestContext,
    token: ResponseToken,
) -> CoordinatorResult[messages.GroupResponse]:
    """Handle requests for several groups; those that only read are answered at once, despite pending writes.

    Decided in: CoordinatorRuntime#scheduleReadOperation (4.3.1).
    """
    match request:
        case messages.DeleteGroupsRequest():
            return delete_groups(shard, request, token)
        case messages.OffsetFetchRequest():
            return _fetch(shard, request, token)
        case messages.DescribeGroupsRequest():
            read = partial(describe_groups, shard, request, api_version=context.api_version)
            answer_read(shard, token, read)
        case messages.ListGroupsRequest():
            answer_read(shard, token, partial(list_groups, shard, request))
        case messages.ConsumerGroupDescribeRequest():
            answer_read(shard, token, partial(consumer_group_describe, shard, request))
        case messages.StreamsGroupDescribeRequest():
            answer_read(shard, token, partial(streams_group_describe, shard, request))
        case _:
            return administer_share_groups(shard, request, token)
    return EMPTY_RESULT


def awaits_writes(shard: CoordinatorShard, request: messages.OffsetFetchRequest) -> bool:
    """Return whether a fetch has to wait for writes in progress.

    Decided in: GroupCoordinatorService#fetchOffsets (4.3.1).
    """
    return request.require_stable and shard.profile.coordinator is CoordinatorFamily.JAVA


def _fetch(
    shard: CoordinatorShard, request: messages.OffsetFetchRequest, token: ResponseToken
) -> CoordinatorResult[messages.GroupResponse]:
    if not request.groups and shard.profile.has(Behaviour.EMPTY_FETCH_UNANSWERED):
        shard.fail(token, None)
    elif not awaits_writes(shard, request):
        answer_read(shard, token, partial(offset_fetch, shard, request))
    elif not shard.park_fetch(request, token):
        return CoordinatorResult(response=offset_fetch(shard, request))
    return EMPTY_RESULT


def offset_fetch(
    shard: CoordinatorShard, request: messages.OffsetFetchRequest
) -> messages.OffsetFetchResponse:
    """Answer an OffsetFetch group by group. Decided in: KafkaApis#handleOffsetFetchRequest (4.3.1)."""
    return messages.OffsetFetchResponse(
        groups=tuple(
            _offset_fetch_of_group(shard, each, require_stable=request.require_stable)
            for each in request.groups
        )
    )


def _offset_fetch_of_group(
    shard: CoordinatorShard, request: messages.OffsetFetchRequestGroup, *, require_stable: bool
) -> messages.OffsetFetchResponseGroup:
    try:
        shard.throw_if_not_active(request.group_id)
    except CoordinatorError as refusal:
        return fetch_error(request, refusal.error)
    return fetch_offsets(shard, request, require_stable=require_stable)


def fetch_written(shard: CoordinatorShard) -> None:
    """Answer the fetches whose awaited writes have ended, also if the partition is no longer owned."""
    for parked in shard.take_ready_fetches():
        shard.respond(parked.token, offset_fetch(shard, parked.request))


def join_group(shard: CoordinatorShard, join: Join) -> VoidResult:
    """Check a JoinGroup and pass it on.

    The Java coordinator checks the session timeout before it checks whether it owns the group.

    Raises:
        CoordinatorError: the broker does not coordinate the group.

    Source: GroupCoordinatorService#joinGroup (4.3.1), GroupCoordinator#handleJoinGroup (3.9.2).
    """
    request = join.request
    if not request.group_id:
        shard.respond(join.token, join_error(request.member_id, Errors.INVALID_GROUP_ID))
        return EMPTY_RESULT
    if shard.profile.has(Behaviour.SESSION_TIMEOUT_CHECKED_BEFORE_COORDINATOR):
        if not _has_valid_session_timeout(shard, join):
            return EMPTY_RESULT
        shard.throw_if_not_active(request.group_id)
    else:
        shard.throw_if_not_active(request.group_id)
        if not _has_valid_session_timeout(shard, join):
            return EMPTY_RESULT
    return classic_group_join(shard, join)


def hear_consumer(
    shard: CoordinatorShard, request: messages.ConsumerGroupHeartbeatRequest, context: messages.RequestContext
) -> CoordinatorResult[messages.ConsumerGroupHeartbeatResponse]:
    """Check a ConsumerGroupHeartbeat and pass it on.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupCoordinatorService#consumerGroupHeartbeat (4.3.1),
    GroupMetadataManager#consumerGroupHeartbeat (4.0.2).
    """
    is_checked_first = shard.profile.has(Behaviour.CONSUMER_HEARTBEAT_VALIDATED_FIRST)
    if not is_checked_first:
        shard.throw_if_not_active(request.group_id)
    throw_if_consumer_group_heartbeat_request_is_invalid(
        request, shard.config, api_version=context.api_version
    )
    if is_checked_first:
        shard.throw_if_not_active(request.group_id)
    return consumer_group_heartbeat(shard, request, context)


def commit_transactional_offsets(
    shard: CoordinatorShard,
    request: messages.TxnOffsetCommitRequest,
    token: ResponseToken,
    *,
    api_version: int,
) -> CoordinatorResult[CommitResponse]:
    """Check a TxnOffsetCommit and pass it on; answer a refusal with the other permitted errors.

    Source: GroupCoordinatorService#commitTransactionalOffsets (4.3.1),
    GroupCoordinator#handleTxnCommitOffsets (3.9.2).
    """
    try:
        validate_transaction(shard, request)
        return commit_transactional_offset(shard, request, api_version=api_version, token=token)
    except CoordinatorError as refusal:
        response = txn_commit_error(shard, request, refusal.error)
        shard.respond(token, response, other_verdicts(shard, request, refusal.error))
        return EMPTY_RESULT


def validate_transaction(shard: CoordinatorShard, request: messages.TxnOffsetCommitRequest) -> None:
    """Check the group id, the transaction and the coordinator of a TxnOffsetCommit.

    The Java coordinator verifies the transaction before it checks whether it owns the group. The Scala one
    verifies it after it has found the group.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupCoordinatorService#commitTransactionalOffsets (4.3.1),
    GroupCoordinator#validateGroupStatus (3.9.2).
    """
    if not request.group_id:
        raise CoordinatorError(Errors.INVALID_GROUP_ID)
    is_java = shard.profile.coordinator is CoordinatorFamily.JAVA
    if is_java and request.verification is not Errors.NONE:
        raise CoordinatorError(handle_operation_exception(request.verification))
    shard.throw_if_not_active(request.group_id)


def _has_valid_session_timeout(shard: CoordinatorShard, join: Join) -> bool:
    config = shard.config
    if (
        config.group_min_session_timeout_ms
        <= join.request.session_timeout_ms
        <= config.group_max_session_timeout_ms
    ):
        return True
    error = join_error(join.request.member_id, Errors.INVALID_SESSION_TIMEOUT)
    shard.respond(join.token, error)
    return False


def validate_group_status(shard: CoordinatorShard, group_id: GroupId, *, allows_empty: bool) -> None:
    """Refuse a request without a group id, or for a group that is not owned or still loading.

    Raises:
        CoordinatorError: INVALID_GROUP_ID, COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.

    Source: GroupCoordinator#validateGroupStatus (3.9.2), GroupCoordinatorService#isGroupIdNotEmpty (4.3.1).
    """
    if not allows_empty and not group_id:
        raise CoordinatorError(Errors.INVALID_GROUP_ID)
    shard.throw_if_not_active(group_id)


def _handle_error(
    shard: CoordinatorShard,
    request: messages.GroupRequest,
    context: messages.RequestContext,
    token: ResponseToken,
) -> None:
    """Source: KafkaApis#handleError (3.9.2), CoordinatorOperationExceptionHelper (4.3.1)."""
    version, has = context.api_version, shard.profile.has
    match request:
        case messages.JoinGroupRequest():
            is_unanswered = version >= _LATE_JOIN_VERSION and has(Behaviour.JOIN_V6_INTERNAL_ERROR_UNANSWERED)
        case messages.SyncGroupRequest():
            is_unanswered = version >= _LATE_SYNC_VERSION and has(Behaviour.SYNC_V4_INTERNAL_ERROR_UNANSWERED)
        case _:
            is_unanswered = False
    if is_unanswered:
        shard.fail(token, None)
    elif isinstance(request, messages.JoinGroupRequest):
        shard.fail(token, join_error(UNKNOWN_MEMBER_ID, Errors.UNKNOWN_SERVER_ERROR))
    else:
        shard.fail(token, error_response(shard, request, Errors.UNKNOWN_SERVER_ERROR))
