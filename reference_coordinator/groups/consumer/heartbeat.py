"""ConsumerGroupHeartbeat: a member joins, sends changes, receives its assignment, or leaves."""

from dataclasses import replace
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.assignors.assignor_helpers import from_record
from reference_coordinator.groups.consumer.current_assignment import OwnedPartitions
from reference_coordinator.groups.consumer.group import ConsumerGroup, new_consumer_group
from reference_coordinator.groups.consumer.joining import Speaker, get_or_maybe_subscribe_member
from reference_coordinator.groups.consumer.leave import consumer_group_leave
from reference_coordinator.groups.consumer.lookups import throw_if_consumer_group_is_full
from reference_coordinator.groups.consumer.member import AssignedPartitions, ConsumerGroupMember
from reference_coordinator.groups.consumer.reconciliation import MemberUpdate
from reference_coordinator.groups.consumer.regular_expressions import (
    UpdateRegularExpressionStatus,
    maybe_update_regular_expressions,
)
from reference_coordinator.groups.consumer.timers import (
    consumer_group_heartbeat_interval_ms,
    schedule_consumer_group_session_timeout,
)
from reference_coordinator.groups.consumer.upgrade import convert_to_consumer_group
from reference_coordinator.groups.group import GroupType
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseAssignment,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult

_NOT_SENT: Final = -1


def consumer_group_heartbeat(
    shard: GroupMetadataManager, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
    """Handle a member's heartbeat.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupMetadataManager#consumerGroupHeartbeat (4.3.1).
    """
    if request.member_epoch in {LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH}:
        return consumer_group_leave(shard, request)
    records: list[CoordinatorRecord] = []
    joins = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
    group = get_or_maybe_create_consumer_group(shard, request.group_id, records, create_if_not_exists=joins)
    throw_if_consumer_group_is_full(shard, group, request.member_id, request.instance_id)
    member_id = request.member_id or shard.choices.uuid()
    owned = owned_topic_partitions(request)
    speaker = Speaker(
        member_id=member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        owned_topic_partitions=owned,
        create_if_not_exists=joins,
        use_classic_protocol=False,
    )
    member, replacement = get_or_maybe_subscribe_member(group, speaker)
    update = MemberUpdate(
        shard=shard,
        group=group,
        member=member,
        updated_member=_updated(member, request, context),
        records=[*records, *replacement],
    )
    has_subscription_changed = _update_subscription(update, context)
    update.update_assignment(has_subscription_changed=has_subscription_changed, owned_topic_partitions=owned)
    schedule_consumer_group_session_timeout(shard, request.group_id, member_id)
    return CoordinatorResult(records=tuple(update.records), response=_response(update, request))


def get_or_maybe_create_consumer_group(
    shard: GroupMetadataManager,
    group_id: GroupId,
    records: list[CoordinatorRecord],
    *,
    create_if_not_exists: bool,
) -> ConsumerGroup:
    """Return the consumer group with an id. Create it, or convert a classic group, if requested.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND.

    Source: GroupMetadataManager#getOrMaybeCreateConsumerGroup (4.3.1).
    """
    group = shard.find_group(group_id)
    if group is None:
        if not create_if_not_exists:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        return new_consumer_group(group_id, shard.profile)
    if isinstance(group, ConsumerGroup):
        return group
    if create_if_not_exists and group.type is GroupType.CLASSIC:
        if group.is_empty:
            records.extend(group.create_group_tombstone_records())
            return new_consumer_group(group_id, shard.profile)
        return convert_to_consumer_group(shard, group, records)
    raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def owned_topic_partitions(request: ConsumerGroupHeartbeatRequest) -> OwnedPartitions:
    """Return the partitions that the member reports as owned."""
    if request.topic_partitions is None:
        return None
    return tuple((each.topic_id, each.partitions) for each in request.topic_partitions)


def _updated(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupMember:
    """Return the member with the values from its heartbeat. It uses the consumer protocol from now on."""
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    regex = request.subscribed_topic_regex
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NOT_SENT else timeout_ms,
        server_assignor_name=request.server_assignor or member.server_assignor_name,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=context.client_id or "",
        client_host=context.client_host,
        classic_member_metadata=None,
    )


def _update_subscription(update: MemberUpdate, context: RequestContext) -> bool:
    """Bump the group epoch if subscription or topics changed. Return whether the subscription changed.

    Decided in: GroupMetadataManager#consumerGroupHeartbeat (4.3.1).
    """
    shard, group = update.shard, update.group
    names_changed = update.has_member_subscription_changed()
    status, records = maybe_update_regular_expressions(
        shard, group, update.member, update.updated_member, context
    )
    update.records += records
    leaves_epoch_zero = group.group_epoch == 0 and not shard.profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE)
    bump_group_epoch = (
        leaves_epoch_zero
        or names_changed
        or status is UpdateRegularExpressionStatus.REGEX_UPDATED_AND_RESOLVED
        or has_preferred_server_assignor_changed(update)
    )
    if bump_group_epoch or group.has_metadata_expired(shard.now_ms):
        update.update_subscription_metadata(bump_group_epoch=bump_group_epoch)
    return names_changed or status.regex_updated


def has_preferred_server_assignor_changed(update: MemberUpdate) -> bool:
    """Return whether the member's vote changes the group's assignor, in releases that check it.

    Source: GroupMetadataManager#hasPreferredServerAssignorChanged (4.4.0).
    """
    if not update.shard.profile.has(Behaviour.PREFERRED_ASSIGNOR_BUMPS_EPOCH):
        return False
    default = update.shard.config.group_consumer_assignors[0]
    before = update.group.preferred_server_assignor() or default
    after = update.group.compute_preferred_server_assignor(update.member, update.updated_member) or default
    return before != after


def _response(update: MemberUpdate, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Return the member's epoch, with its assignment on a join, a full request or a change."""
    member = update.updated_member
    is_full_request = (
        request.rebalance_timeout_ms != _NOT_SENT
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    has_changed = update.member.assigned_partitions != member.assigned_partitions
    is_shown = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH or is_full_request or has_changed
    return ConsumerGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=consumer_group_heartbeat_interval_ms(update.shard, request.group_id),
        assignment=create_assignment(member.assigned_partitions) if is_shown else None,
    )


def create_assignment(assigned: AssignedPartitions) -> ConsumerGroupHeartbeatResponseAssignment:
    """Return an assignment in the form of the heartbeat response.

    Source: ConsumerGroupHeartbeatResponse#createAssignment (4.3.1).
    """
    return ConsumerGroupHeartbeatResponseAssignment(
        topic_partitions=tuple(
            ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in from_record(assigned).items()
        )
    )
