"""The coordinator's front: what every request is checked for, in Kafka's order, and who handles it.

A handler refuses by raising CoordinatorError, or answers by itself. What it refuses with, and what
the checks here refuse with, becomes the answer of the API at hand in `error_response`.
"""

from typing import Final, assert_never

from reference_coordinator.classic.answers import join_error, sync_error
from reference_coordinator.classic.heartbeat import classic_group_heartbeat
from reference_coordinator.classic.join import classic_group_join
from reference_coordinator.classic.leave import classic_group_leave, leave_error
from reference_coordinator.classic.sync import classic_group_sync
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GroupId, MemberId, ResponseToken
from reference_coordinator.group.admin import describe_error, describe_groups, list_groups
from reference_coordinator.group.append_errors import handle_operation_exception
from reference_coordinator.group.parked import Join, Sync
from reference_coordinator.group.removal import delete_groups
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    RequestContext,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from reference_coordinator.offsets.commit import commit_error, commit_offset
from reference_coordinator.offsets.delete import delete_offsets
from reference_coordinator.offsets.fetch import fetch_error, fetch_offsets
from reference_coordinator.offsets.txn_commit import (
    commit_transactional_offset,
    other_verdicts,
    txn_commit_error,
)
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily

_LATE_JOIN_VERSION: Final = 6
_LATE_SYNC_VERSION: Final = 4


def handle(shard: Shard, request: GroupRequest, context: RequestContext, token: ResponseToken) -> None:
    """Answer or park a request; whatever Kafka throws meanwhile is answered too."""
    try:
        _dispatch(shard, request, context, token)
    except CoordinatorError as refusal:
        shard.respond(token, error_response(shard, request, refusal.error))
    except IllegalStateError:
        _handle_unexpected(shard, request, context, token)


def _dispatch(shard: Shard, request: GroupRequest, context: RequestContext, token: ResponseToken) -> None:
    match request:
        case JoinGroupRequest():
            join_group(shard, Join(request=request, context=context, token=token))
        case SyncGroupRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            classic_group_sync(shard, Sync(request=request, token=token))
        case HeartbeatRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            error = classic_group_heartbeat(shard, request)
            shard.respond(token, HeartbeatResponse(error_code=error))
        case LeaveGroupRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            classic_group_leave(shard, request, token)
        case OffsetCommitRequest():
            validate_group_status(shard, request.group_id, allows_empty=True)
            commit_offset(shard, request, api_version=context.api_version, token=token)
        case TxnOffsetCommitRequest():
            txn_offset_commit(shard, request, token, api_version=context.api_version)
        case OffsetDeleteRequest():
            validate_group_status(shard, request.group_id, allows_empty=False)
            delete_offsets(shard, request, token)
        case _:
            _dispatch_to_many_groups(shard, request, context, token)


def _dispatch_to_many_groups(
    shard: Shard,
    request: OffsetFetchRequest | DescribeGroupsRequest | ListGroupsRequest | DeleteGroupsRequest,
    context: RequestContext,
    token: ResponseToken,
) -> None:
    match request:
        case OffsetFetchRequest():
            if not (awaits_writes(shard, request) and shard.hold_fetch(request, token)):
                offset_fetch(shard, request, token)
        case DescribeGroupsRequest():
            described = describe_groups(shard, request, api_version=context.api_version)
            shard.respond(token, DescribeGroupsResponse(groups=described))
        case ListGroupsRequest():
            shard.respond(token, list_groups(shard, request))
        case DeleteGroupsRequest():
            delete_groups(shard, request, token)
        case _:
            assert_never(request)


def awaits_writes(shard: Shard, request: OffsetFetchRequest) -> bool:
    """Whether a fetch is to see what is under way. Source: GroupCoordinatorService#fetchOffsets (4.3.1)."""
    return request.require_stable and shard.profile.coordinator is CoordinatorFamily.JAVA


def offset_fetch(shard: Shard, request: OffsetFetchRequest, token: ResponseToken) -> None:
    """Answer an OffsetFetch group by group. Source: KafkaApis#handleOffsetFetchRequest (4.3.1)."""
    groups = tuple(
        _offset_fetch_of_group(shard, each, require_stable=request.require_stable) for each in request.groups
    )
    shard.respond(token, OffsetFetchResponse(groups=groups))


def _offset_fetch_of_group(
    shard: Shard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    try:
        shard.throw_if_not_active(request.group_id)
    except CoordinatorError as refusal:
        return fetch_error(request, refusal.error)
    return fetch_offsets(shard, request, require_stable=require_stable)


def fetch_written(shard: Shard) -> None:
    """Answer the fetches whose awaited writes are through, be it that nobody coordinates any more."""
    for held in shard.take_ready_fetches():
        offset_fetch(shard, held.request, held.token)


def join_group(shard: Shard, join: Join) -> None:
    """Check a JoinGroup and hand it on.

    The Java coordinator judges the session timeout before it looks whose group it is.

    Raises:
        CoordinatorError: the broker does not coordinate the group.

    Source: GroupCoordinatorService#joinGroup (4.3.1), GroupCoordinator#handleJoinGroup (3.9.2).
    """
    request = join.request
    if not request.group_id:
        shard.respond(join.token, join_error(request.member_id, Errors.INVALID_GROUP_ID))
        return
    if shard.profile.has(Behaviour.SESSION_TIMEOUT_CHECKED_BEFORE_COORDINATOR):
        if not _has_valid_session_timeout(shard, join):
            return
        shard.throw_if_not_active(request.group_id)
    else:
        shard.throw_if_not_active(request.group_id)
        if not _has_valid_session_timeout(shard, join):
            return
    classic_group_join(shard, join)


def txn_offset_commit(
    shard: Shard, request: TxnOffsetCommitRequest, token: ResponseToken, *, api_version: int
) -> None:
    """Check a TxnOffsetCommit, hand it on, and say what else may be told of its transaction.

    Source: GroupCoordinatorService#commitTransactionalOffsets (4.3.1),
    GroupCoordinator#handleTxnCommitOffsets (3.9.2).
    """
    try:
        validate_transaction(shard, request)
        commit_transactional_offset(shard, request, api_version=api_version, token=token)
    except CoordinatorError as refusal:
        response = txn_commit_error(shard, request, refusal.error)
        shard.respond(token, response, other_verdicts(shard, request, refusal.error))


def validate_transaction(shard: Shard, request: TxnOffsetCommitRequest) -> None:
    """Refuse a TxnOffsetCommit for its group's id, its transaction or its coordinator.

    The Java coordinator asks for the transaction before it looks whose group it is; the Scala one asks
    when it has the group.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupCoordinatorService#commitTransactionalOffsets (4.3.1),
    GroupCoordinator#validateGroupStatus (3.9.2).
    """
    if not request.group_id:
        raise CoordinatorError(Errors.INVALID_GROUP_ID)
    is_java = shard.profile.coordinator is CoordinatorFamily.JAVA
    if is_java and request.verification is not Errors.NONE:
        raise CoordinatorError(handle_operation_exception(request.verification))
    shard.throw_if_not_active(request.group_id)


def _has_valid_session_timeout(shard: Shard, join: Join) -> bool:
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


def validate_group_status(shard: Shard, group_id: GroupId, *, allows_empty: bool) -> None:
    """Refuse a request that is not for this coordinator, or not yet.

    Raises:
        CoordinatorError: INVALID_GROUP_ID, COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.

    Source: GroupCoordinator#validateGroupStatus (3.9.2), GroupCoordinatorService#isGroupIdNotEmpty (4.3.1).
    """
    if not allows_empty and not group_id:
        raise CoordinatorError(Errors.INVALID_GROUP_ID)
    shard.throw_if_not_active(group_id)


def _handle_unexpected(
    shard: Shard, request: GroupRequest, context: RequestContext, token: ResponseToken
) -> None:
    """Source: KafkaApis#handleError (3.9.2), CoordinatorOperationExceptionHelper (4.3.1)."""
    version, has = context.api_version, shard.profile.has
    match request:
        case JoinGroupRequest():
            is_unanswered = version >= _LATE_JOIN_VERSION and has(Behaviour.JOIN_V6_INTERNAL_ERROR_UNANSWERED)
        case SyncGroupRequest():
            is_unanswered = version >= _LATE_SYNC_VERSION and has(Behaviour.SYNC_V4_INTERNAL_ERROR_UNANSWERED)
        case _:
            is_unanswered = False
    if is_unanswered:
        shard.fail(token, None)
    elif isinstance(request, JoinGroupRequest):
        shard.fail(token, join_error(UNKNOWN_MEMBER_ID, Errors.UNKNOWN_SERVER_ERROR))
    else:
        shard.fail(token, error_response(shard, request, Errors.UNKNOWN_SERVER_ERROR))


def error_response(shard: Shard, request: GroupRequest, error: Errors) -> GroupResponse:
    """How an API says that a request was refused as a whole."""
    match request:
        case JoinGroupRequest():
            return join_error(_member_id_in_error(shard, request), error)
        case SyncGroupRequest():
            return sync_error(_sync_error_code(shard, error))
        case HeartbeatRequest():
            # While its group is loading, a member is told nothing that could alarm it.
            is_loading = error is Errors.COORDINATOR_LOAD_IN_PROGRESS
            return HeartbeatResponse(error_code=Errors.NONE if is_loading else error)
        case LeaveGroupRequest():
            return leave_error(error)
        case OffsetCommitRequest():
            return commit_error(shard, request, error)
        case TxnOffsetCommitRequest():
            return txn_commit_error(shard, request, error)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=error, topics=())
        case _:
            return _error_response_of_many_groups(shard, request, error)


def _error_response_of_many_groups(
    shard: Shard,
    request: OffsetFetchRequest | DescribeGroupsRequest | ListGroupsRequest | DeleteGroupsRequest,
    error: Errors,
) -> GroupResponse:
    match request:
        case OffsetFetchRequest():
            return OffsetFetchResponse(groups=tuple(fetch_error(each, error) for each in request.groups))
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(groups=describe_error(shard, request, error))
        case ListGroupsRequest():
            # Groups of somebody else are none to list.
            told = Errors.NONE if error is Errors.NOT_COORDINATOR else error
            return ListGroupsResponse(error_code=told, groups=())
        case DeleteGroupsRequest():
            group_ids = dict.fromkeys(request.groups_names)
            results = (DeletableGroupResult(group_id=each, error_code=error) for each in group_ids)
            return DeleteGroupsResponse(results=tuple(results))
        case _:
            assert_never(request)


def _member_id_in_error(shard: Shard, request: JoinGroupRequest) -> MemberId:
    echoes = shard.profile.has(Behaviour.COORDINATOR_ERRORS_ECHO_MEMBER_ID)
    return request.member_id if echoes else UNKNOWN_MEMBER_ID


def _sync_error_code(shard: Shard, error: Errors) -> Errors:
    means_rejoin = shard.profile.has(Behaviour.SYNC_WHILE_LOADING_MEANS_REJOIN)
    if error is Errors.COORDINATOR_LOAD_IN_PROGRESS and means_rejoin:
        return Errors.REBALANCE_IN_PROGRESS
    return error
