"""Classic members of a consumer group: their SyncGroup, Heartbeat and LeaveGroup."""

from reference_coordinator import messages
from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GenerationId, GroupInstanceId, MemberId
from reference_coordinator.groups.classic.answers import permitted_assignments
from reference_coordinator.groups.classic.leave import leave_result, left
from reference_coordinator.groups.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    SubscriptionSchemaError,
)
from reference_coordinator.groups.consumer.embedded_protocol import (
    assignment_like,
    assignment_orders,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.leave import consumer_group_fence_members
from reference_coordinator.groups.consumer.lookups import static_member_or_throw
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.partition_epochs import NO_EPOCH
from reference_coordinator.groups.consumer.timers import (
    cancel_consumer_group_sync_timeout,
    schedule_consumer_group_join_timeout_if_absent,
    schedule_consumer_group_session_timeout,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult, Sync, VoidResult


def classic_group_sync_to_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, sync: Sync
) -> CoordinatorResult[messages.SyncGroupResponse]:
    """Return a classic member's assignment, encoded in the classic protocol.

    Raises:
        CoordinatorError: the first check that fails.
        IllegalStateError: the member's subscription is malformed.

    Source: GroupMetadataManager#classicGroupSyncToConsumerGroup (4.3.1).
    """
    request = sync.request
    member = validate_classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    throw_if_classic_protocol_unmatched(member, request)
    throw_if_rebalance_in_progress(shard, group, member)
    assignment = prepare_assignment(shard, member)
    cancel_consumer_group_sync_timeout(shard, group.group_id, member.member_id)
    _keep_session(shard, group, member)
    return CoordinatorResult(
        response=messages.SyncGroupResponse(
            error_code=Errors.NONE,
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment,
        ),
        permitted=permitted_assignments(assignment_orders(assignment)),
    )


def classic_group_heartbeat_to_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, request: messages.HeartbeatRequest
) -> CoordinatorResult[messages.HeartbeatResponse]:
    """Renew a classic member's session and return whether it must rejoin.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupMetadataManager#classicGroupHeartbeatToConsumerGroup (4.3.1).
    """
    member = validate_classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    _keep_session(shard, group, member)
    if not _has_to_rejoin(group, member):
        return CoordinatorResult(response=messages.HeartbeatResponse(error_code=Errors.NONE))
    schedule_consumer_group_join_timeout_if_absent(shard, group.group_id, member)
    return CoordinatorResult(response=messages.HeartbeatResponse(error_code=Errors.REBALANCE_IN_PROGRESS))


def classic_group_leave_to_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, request: messages.LeaveGroupRequest
) -> CoordinatorResult[messages.LeaveGroupResponse]:
    """Remove members of either protocol, and bump the group epoch once.

    Source: GroupMetadataManager#classicGroupLeaveToConsumerGroup (4.3.1).
    """
    responses = []
    leaving: dict[MemberId, ConsumerGroupMember] = {}
    for each in request.members:
        try:
            member = _leaving_member(group, each)
        except CoordinatorError as refusal:
            responses.append(left(each, refusal.error))
        else:
            responses.append(left(each, Errors.NONE))
            leaving[member.member_id] = member
    result: VoidResult = consumer_group_fence_members(shard, group, tuple(leaving.values()))
    return CoordinatorResult(
        records=result.records,
        response=leave_result(tuple(responses)),
        append_future=result.append_future,
        replay_records=result.replay_records,
    )


def _leaving_member(group: ConsumerGroup, leaver: messages.MemberIdentity) -> ConsumerGroupMember:
    if leaver.group_instance_id is None:
        return group.get_or_maybe_create_member(leaver.member_id, create_if_not_exists=False)
    if leaver.member_id != UNKNOWN_MEMBER_ID:
        return static_member_or_throw(group, leaver.group_instance_id, leaver.member_id)
    # An administrator may send only the instance id.
    member = group.static_member(leaver.group_instance_id)
    if member is None:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    return member


def validate_classic_member(
    group: ConsumerGroup,
    member_id: MemberId,
    instance_id: GroupInstanceId | None,
    generation_id: GenerationId,
) -> ConsumerGroupMember:
    """Return a member that uses the classic protocol and is in the given generation.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION.

    Decided in: GroupMetadataManager#validateConsumerGroupMember,
    GroupMetadataManager#throwIfMemberDoesNotUseClassicProtocol,
    GroupMetadataManager#throwIfGenerationIdUnmatched (4.3.1).
    """
    if instance_id is None:
        member = group.get_or_maybe_create_member(member_id, create_if_not_exists=False)
    else:
        member = static_member_or_throw(group, instance_id, member_id)
    if not member.use_classic_protocol:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    if member.member_epoch != generation_id:
        raise CoordinatorError(Errors.ILLEGAL_GENERATION)
    return member


def throw_if_classic_protocol_unmatched(
    member: ConsumerGroupMember, request: messages.SyncGroupRequest
) -> None:
    """Refuse a SyncGroup whose protocol differs from the one in the JoinGroup response.

    Raises:
        CoordinatorError: INCONSISTENT_GROUP_PROTOCOL.

    Source: GroupMetadataManager#throwIfClassicProtocolUnmatched (4.3.1).
    """
    if request.protocol_type not in {None, CONSUMER_PROTOCOL_TYPE}:
        raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL)
    if request.protocol_name not in {None, member.classic_metadata.supported_protocols[0].name}:
        raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL)


def throw_if_rebalance_in_progress(
    shard: GroupMetadataManager, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    """Refuse a SyncGroup of a member that must rejoin first.

    Raises:
        CoordinatorError: REBALANCE_IN_PROGRESS.

    Source: GroupMetadataManager#throwIfRebalanceInProgress (4.3.1).
    """
    is_unrevoked = member.state is MemberState.UNREVOKED_PARTITIONS
    if _followed_epoch(group) > member.member_epoch and not is_unrevoked:
        schedule_consumer_group_join_timeout_if_absent(shard, group.group_id, member)
        raise CoordinatorError(Errors.REBALANCE_IN_PROGRESS)


def prepare_assignment(shard: GroupMetadataManager, member: ConsumerGroupMember) -> bytes:
    """Return a classic member's assignment, encoded in the version of its subscription.

    Raises:
        IllegalStateError: the subscription is malformed.

    Source: GroupMetadataManager#prepareAssignment (4.3.1).
    """
    subscription = member.classic_metadata.supported_protocols[0].metadata
    try:
        return assignment_like(subscription, member.assigned_partitions, shard.metadata_image)
    except SubscriptionSchemaError as failure:
        raise IllegalStateError("Malformed embedded consumer protocol") from failure


def _keep_session(shard: GroupMetadataManager, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    schedule_consumer_group_session_timeout(
        shard, group.group_id, member.member_id, member.classic_metadata.session_timeout_ms
    )


def _followed_epoch(group: ConsumerGroup) -> int:
    """Return the epoch that classic members must reach by rejoining."""
    follows = group.profile.has(Behaviour.CLASSIC_MEMBER_FOLLOWS_ASSIGNMENT_EPOCH)
    return group.assignment_epoch if follows else group.group_epoch


def _has_to_rejoin(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether there is a newer epoch, partitions to revoke, or newly released partitions."""
    return (
        member.member_epoch < _followed_epoch(group)
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS
            and not waiting_on_unreleased_partition(group, member)
        )
    )


def waiting_on_unreleased_partition(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether a partition of the member's target is still owned by another member.

    Source: ConsumerGroup#waitingOnUnreleasedPartition (4.3.1).
    """
    return any(
        partition not in member.assigned_partitions.get(topic_id, {})
        and group.current_partition_epoch(topic_id, partition) != NO_EPOCH
        for topic_id, partitions in group.target_assignment_of(member.member_id).items()
        for partition in partitions
    )
