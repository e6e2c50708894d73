"""The responses of each API to requests that are refused as a whole."""

from reference_coordinator import messages
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import UNKNOWN_GENERATION_ID, UNKNOWN_MEMBER_ID, GroupId, MemberId
from reference_coordinator.core.map_order import partitions_in_java_hash_map_order
from reference_coordinator.messages.consumer_groups import ConsumerGroupDescribeResponseGroup
from reference_coordinator.messages.streams_groups import StreamsGroupDescribeResponseGroup
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.partition_answers import refused_topics
from reference_coordinator.runtime.share_error_responses import share_error_response


def refusal_response(
    shard: CoordinatorRuntime, request: messages.GroupRequest, refusal: CoordinatorError
) -> messages.GroupResponse:
    """Return the response to a refused request, with a message if the API has a field for it.

    For a failure of the coordinator itself (UNKNOWN_SERVER_ERROR), the client receives no message.

    Decided in: ApiError#fromThrowable, CoordinatorOperationExceptionHelper#handleOperationException (4.3.1).
    """
    message = None if refusal.error is Errors.UNKNOWN_SERVER_ERROR else refusal.message
    if isinstance(request, messages.ConsumerGroupHeartbeatRequest):
        return messages.ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=message)
    if isinstance(request, messages.ShareGroupHeartbeatRequest | messages.ShareGroupAdminRequest):
        return share_error_response(request, refusal.error, message)
    if isinstance(request, messages.StreamsGroupHeartbeatRequest):
        return messages.StreamsGroupHeartbeatResponse(error_code=refusal.error, error_message=message)
    return error_response(shard, request, refusal.error)


def error_response(
    shard: CoordinatorRuntime, request: messages.GroupRequest, error: Errors
) -> messages.GroupResponse:
    """Return the response to a request that is refused as a whole."""
    match request:
        case messages.ConsumerGroupHeartbeatRequest():
            return messages.ConsumerGroupHeartbeatResponse(error_code=error)
        case messages.ShareGroupHeartbeatRequest():
            return share_error_response(request, error)
        case messages.StreamsGroupHeartbeatRequest():
            return messages.StreamsGroupHeartbeatResponse(error_code=error)
        case messages.JoinGroupRequest():
            return join_error(_member_id_in_error(shard, request), error)
        case messages.SyncGroupRequest():
            return sync_error(_sync_error_code(shard, error))
        case messages.HeartbeatRequest():
            # While the group is loading, a member receives no error, so that it does not rejoin.
            is_loading = error is Errors.COORDINATOR_LOAD_IN_PROGRESS
            return messages.HeartbeatResponse(error_code=Errors.NONE if is_loading else error)
        case messages.LeaveGroupRequest():
            return leave_error(error)
        case _:
            return _error_response_of_offsets(shard, request, error)


def _error_response_of_offsets(
    shard: CoordinatorRuntime, request: messages.OffsetsRequest | messages.ManyGroupsRequest, error: Errors
) -> messages.GroupResponse:
    match request:
        case messages.OffsetCommitRequest():
            return commit_error(shard, request, error)
        case messages.TxnOffsetCommitRequest():
            return txn_commit_error(shard, request, error)
        case messages.OffsetDeleteRequest():
            return messages.OffsetDeleteResponse(error_code=error, topics=())
        case _:
            return _error_response_of_many_groups(shard, request, error)


def _error_response_of_many_groups(
    shard: CoordinatorRuntime, request: messages.ManyGroupsRequest, error: Errors
) -> messages.GroupResponse:
    match request:
        case messages.OffsetFetchRequest():
            return messages.OffsetFetchResponse(
                groups=tuple(fetch_error(each, error) for each in request.groups)
            )
        case messages.DescribeGroupsRequest():
            return messages.DescribeGroupsResponse(
                groups=get_error_described_group_list(shard, request, error)
            )
        case messages.ListGroupsRequest():
            # Groups of another coordinator are not listed.
            reported = Errors.NONE if error is Errors.NOT_COORDINATOR else error
            return messages.ListGroupsResponse(error_code=reported, groups=())
        case messages.DeleteGroupsRequest():
            group_ids = dict.fromkeys(request.groups_names)
            results = (messages.DeletableGroupResult(group_id=each, error_code=error) for each in group_ids)
            return messages.DeleteGroupsResponse(results=tuple(results))
        case messages.ConsumerGroupDescribeRequest():
            return consumer_describe_error(request, error)
        case messages.StreamsGroupDescribeRequest():
            return streams_describe_error(request, error)
        case _:
            return share_error_response(request, error)


def _member_id_in_error(shard: CoordinatorRuntime, request: messages.JoinGroupRequest) -> MemberId:
    echoes = shard.profile.has(Behaviour.COORDINATOR_ERRORS_ECHO_MEMBER_ID)
    return request.member_id if echoes else UNKNOWN_MEMBER_ID


def _sync_error_code(shard: CoordinatorRuntime, error: Errors) -> Errors:
    means_rejoin = shard.profile.has(Behaviour.SYNC_WHILE_LOADING_MEANS_REJOIN)
    if error is Errors.COORDINATOR_LOAD_IN_PROGRESS and means_rejoin:
        return Errors.REBALANCE_IN_PROGRESS
    return error


def join_error(member_id: MemberId, error: Errors) -> messages.JoinGroupResponse:
    """Return the response to a refused JoinGroup. Decided in: JoinGroupResult#apply (3.9.2)."""
    return messages.JoinGroupResponse(
        error_code=error,
        generation_id=UNKNOWN_GENERATION_ID,
        protocol_type=None,
        protocol_name=None,
        leader="",
        skip_assignment=False,
        member_id=member_id,
        members=(),
    )


def sync_error(error: Errors) -> messages.SyncGroupResponse:
    """Return the response to a refused SyncGroup. Decided in: SyncGroupResult#apply (3.9.2)."""
    return messages.SyncGroupResponse(
        error_code=error, protocol_type=None, protocol_name=None, assignment=b""
    )


def leave_error(error: Errors) -> messages.LeaveGroupResponse:
    """Return the response to a refused LeaveGroup. Source: GroupCoordinator#leaveError (3.9.2)."""
    return messages.LeaveGroupResponse(error_code=error, members=())


def commit_error(
    shard: CoordinatorRuntime, request: messages.OffsetCommitRequest, error: Errors
) -> messages.OffsetCommitResponse:
    """Return the response to a refused commit, with the error for every partition.

    Decided in: OffsetCommitRequest#getErrorResponse (4.3.1).
    """
    return messages.OffsetCommitResponse(topics=refused_topics(shard.profile, request.topics, error))


def txn_commit_error(
    shard: CoordinatorRuntime, request: messages.TxnOffsetCommitRequest, error: Errors
) -> messages.TxnOffsetCommitResponse:
    """Return the response to a refused transactional commit, with the error for every partition.

    Decided in: TxnOffsetCommitRequest#getErrorResponse (4.3.1).
    """
    return messages.TxnOffsetCommitResponse(topics=refused_topics(shard.profile, request.topics, error))


def fetch_error(
    request: messages.OffsetFetchRequestGroup, error: Errors
) -> messages.OffsetFetchResponseGroup:
    """Return the response to a refused fetch. Decided in: OffsetFetchResponse#groupError (4.3.1)."""
    return messages.OffsetFetchResponseGroup(group_id=request.group_id, topics=(), error_code=error)


def get_error_described_group_list(
    shard: CoordinatorRuntime, request: messages.DescribeGroupsRequest, error: Errors
) -> tuple[messages.DescribedGroup, ...]:
    """Return the refused descriptions of all groups, without a state.

    Source: DescribeGroupsRequest#getErrorDescribedGroupList (4.3.1).
    """
    group_ids = in_answer_order(shard, request.groups)
    return tuple(described_error(shard, each, error) for each in group_ids)


def consumer_describe_error(
    request: messages.ConsumerGroupDescribeRequest, error: Errors
) -> messages.ConsumerGroupDescribeResponse:
    """Return the response to a refused description, with the error for every group.

    Decided in: ConsumerGroupDescribeRequest#getErrorDescribedGroupList (4.3.1).
    """
    described = (
        ConsumerGroupDescribeResponseGroup(error_code=error, group_id=each) for each in request.group_ids
    )
    return messages.ConsumerGroupDescribeResponse(groups=tuple(described))


def streams_describe_error(
    request: messages.StreamsGroupDescribeRequest, error: Errors
) -> messages.StreamsGroupDescribeResponse:
    """Return the response to a refused description, with the error for every group.

    Decided in: StreamsGroupDescribeRequest#getErrorDescribedGroupList (4.3.1).
    """
    described = (
        StreamsGroupDescribeResponseGroup(error_code=error, group_id=each) for each in request.group_ids
    )
    return messages.StreamsGroupDescribeResponse(groups=tuple(described))


def described_error(
    shard: CoordinatorRuntime,
    group_id: GroupId,
    error: Errors,
    *,
    state: str = "",
    message: str | None = None,
    authorized_operations: int | None = None,
) -> messages.DescribedGroup:
    """Return the description of a group that cannot be described.

    Decided in: DescribeGroupsResponse#groupError (4.3.1).
    """
    if authorized_operations is None:
        authorized_operations = operations_not_asked_for(shard)
    return messages.DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=(),
        authorized_operations=authorized_operations,
    )


def operations_not_asked_for(shard: CoordinatorRuntime) -> int:
    """Return the value of `authorized_operations` if the request did not ask for them.

    Decided in: DescribeGroupsResponse#AUTHORIZED_OPERATIONS_OMITTED (4.3.1).
    """
    return (
        messages.AUTHORIZED_OPERATIONS_OMITTED
        if shard.profile.has(Behaviour.AUTHORIZED_OPERATIONS_OMITTED)
        else 0
    )


def in_answer_order(shard: CoordinatorRuntime, group_ids: tuple[GroupId, ...]) -> tuple[GroupId, ...]:
    """Return groups in the order in which they are described.

    Decided in: GroupCoordinatorService#describeGroups (4.3.1), which describes the groups of one partition
    after the other, in the order of a hash map.
    """
    if shard.profile.coordinator is CoordinatorFamily.SCALA:
        return group_ids
    by_partition: dict[int, list[GroupId]] = {}
    for group_id in group_ids:
        by_partition.setdefault(shard.partition_for(group_id), []).append(group_id)
    ordered = partitions_in_java_hash_map_order(by_partition)
    return tuple(group_id for partition in ordered for group_id in by_partition[partition])
