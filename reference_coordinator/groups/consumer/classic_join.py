"""JoinGroup of classic members to a consumer group."""

from collections import Counter
from dataclasses import replace
from typing import Final

from typing_extensions import override

from reference_coordinator.core.consumer_records import ClassicMemberMetadata, ClassicProtocol
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GenerationId, MemberId
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.join import classic_group_join_to_classic_group
from reference_coordinator.groups.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    SubscriptionSchemaError,
)
from reference_coordinator.groups.consumer.downgrade import (
    convert_to_classic_group,
    validate_online_downgrade_with_replaced_member,
)
from reference_coordinator.groups.consumer.embedded_protocol import (
    ConsumerProtocolSubscription,
    deserialize_consumer_protocol_subscription,
    to_topic_partitions,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.joining import Speaker, get_or_maybe_subscribe_member
from reference_coordinator.groups.consumer.lookups import throw_if_consumer_group_is_full
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.reconciliation import MemberUpdate
from reference_coordinator.groups.consumer.regular_expressions import maybe_update_regular_expressions
from reference_coordinator.groups.consumer.timers import (
    cancel_consumer_group_join_timeout,
    schedule_consumer_group_session_timeout,
    schedule_consumer_group_sync_timeout,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import JoinGroupRequest, JoinGroupResponse, RequestContext
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.properties import ConsumerGroupMigrationPolicy
from reference_coordinator.runtime.append_errors import handle_operation_exception
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    Continuation,
    CoordinatorResult,
    Join,
    VoidResult,
)
from reference_coordinator.runtime.error_responses import join_error

_KNOWN_MEMBER_ID_REQUIRED_SINCE: Final = 4
_NOT_SENT: Final = -1


@value
class JoinedConsumerGroup(Continuation):
    """Runs after the append of a classic member's JoinGroup to a consumer group."""

    shard: GroupMetadataManager
    join: Join
    response: JoinGroupResponse
    is_downgrade: bool

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer the member and start the timer within which it must sync, its rebalance timeout.

        Decided in: GroupMetadataManager#classicGroupJoinToConsumerGroup (4.3.1).
        """
        if error is not Errors.NONE:
            reported = join_error(UNKNOWN_MEMBER_ID, handle_operation_exception(error))
            self.shard.fail(self.join.token, reported)
            return
        request, member_id = self.join.request, self.response.member_id
        cancel_consumer_group_join_timeout(self.shard, request.group_id, member_id)
        if not self.is_downgrade:
            schedule_consumer_group_session_timeout(
                self.shard, request.group_id, member_id, request.session_timeout_ms
            )
            schedule_consumer_group_sync_timeout(
                self.shard, request.group_id, member_id, request.rebalance_timeout_ms
            )
        self.shard.respond(self.join.token, self.response)


def join_instead_of_empty_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, join: Join
) -> VoidResult:
    """Handle a JoinGroup as if there were no group. The empty group is removed even if the join is refused.

    Decided in: GroupMetadataManager#maybeDeleteEmptyConsumerGroup (4.3.1).
    """
    known = shard.partition_of(group.group_id)
    shard.put_written(group.group_id, None, record_offset=known.last_written_offset)
    result = classic_group_join_to_classic_group(shard, join)
    if not result.records:
        return result
    return replace(result, records=(*group.create_group_tombstone_records(), *result.records))


def classic_group_join_to_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, join: Join
) -> VoidResult:
    """Admit a classic member to a consumer group. The group is downgraded if it replaces the last consumer.

    Raises:
        CoordinatorError: the first check that fails.
        IllegalStateError: the member's subscription is malformed.

    Source: GroupMetadataManager#classicGroupJoinToConsumerGroup (4.3.1).
    """
    request = join.request
    throw_if_classic_member_cannot_join_consumer_group(shard)
    throw_if_consumer_group_is_full(shard, group, request.member_id, request.group_instance_id)
    throw_if_classic_protocol_is_not_supported(group, request)
    # Kafka chooses the id before it refuses. Who is refused is not told, so the next one may have it.
    member_id = request.member_id or shard.choices.uuid()
    if _requires_known_member_id(join):
        shard.respond(join.token, join_error(member_id, Errors.MEMBER_ID_REQUIRED))
        return EMPTY_RESULT
    member, replacement = get_or_maybe_subscribe_member(group, _speaker(request, member_id))
    subscription = deserialize_subscription(shard, request)
    update = MemberUpdate(
        shard=shard,
        group=group,
        member=member,
        updated_member=_updated(shard, member, join, subscription),
        records=list(replacement),
    )
    bumps = _update_subscription(update, join.context)
    static_member = group.static_member(request.group_instance_id)
    is_downgrade = static_member is not None and validate_online_downgrade_with_replaced_member(
        shard, group, static_member
    )
    owned = to_topic_partitions(subscription.owned_partitions, shard.metadata_image)
    if not is_downgrade:
        update.update_assignment(has_subscription_changed=bumps, owned_topic_partitions=owned)
    elif not shard.profile.has(Behaviour.STATIC_DOWNGRADE_REBALANCES):
        update.update_assignment(has_subscription_changed=bumps, owned_topic_partitions=owned)
        update.records += convert_to_classic_group(
            shard, group, joining=update.updated_member, rebalance=False
        )
    else:
        _downgrade(update, subscription, bumps=bumps)
    return _result(update, join, is_downgrade=is_downgrade)


def _downgrade(update: MemberUpdate, subscription: ConsumerProtocolSubscription, *, bumps: bool) -> None:
    """Convert to a classic group that rebalances, or where the member gets its predecessor's target."""
    shard, group = update.shard, update.group
    follows = shard.profile.has(Behaviour.STATIC_DOWNGRADE_FOLLOWS_ASSIGNMENT)
    rebalance = group.assignment_epoch < update.group_epoch if follows else bumps
    if not rebalance:
        joining = update.updated_member
        update.maybe_reconcile(
            group.assignment_epoch,
            group.target_assignment_of(joining.member_id, joining.instance_id),
            has_subscription_changed=bumps,
            owned_topic_partitions=to_topic_partitions(subscription.owned_partitions, shard.metadata_image),
        )
    update.records += convert_to_classic_group(
        shard, group, joining=update.updated_member, rebalance=rebalance
    )


def _result(update: MemberUpdate, join: Join, *, is_downgrade: bool) -> VoidResult:
    member = update.updated_member
    response = JoinGroupResponse(
        error_code=Errors.NONE,
        generation_id=GenerationId(member.member_epoch),
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=member.classic_metadata.supported_protocols[0].name,
        leader="",
        skip_assignment=False,
        member_id=member.member_id,
        members=(),
    )
    joined = JoinedConsumerGroup(shard=update.shard, join=join, response=response, is_downgrade=is_downgrade)
    if not update.records:
        joined.append_completed(Errors.NONE)
        return EMPTY_RESULT
    return CoordinatorResult(
        records=tuple(update.records), append_future=joined, replay_records=not is_downgrade
    )


def throw_if_classic_member_cannot_join_consumer_group(shard: GroupMetadataManager) -> None:
    """Refuse classic members if the migration policy disables the conversion of groups.

    Raises:
        CoordinatorError: INCONSISTENT_GROUP_PROTOCOL.

    Source: GroupMetadataManager#throwIfClassicMemberCannotJoinConsumerGroup (4.3.1).
    """
    refuses = shard.profile.has(Behaviour.DISABLED_MIGRATION_REFUSES_CLASSIC_MEMBERS)
    is_disabled = shard.config.group_consumer_migration_policy is ConsumerGroupMigrationPolicy.DISABLED
    if refuses and is_disabled:
        raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL)


def throw_if_classic_protocol_is_not_supported(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """Refuse a classic member that has no protocol in common with the group's classic members.

    Raises:
        CoordinatorError: INCONSISTENT_GROUP_PROTOCOL.

    Source: GroupMetadataManager#throwIfClassicProtocolIsNotSupported,
    ConsumerGroup#supportsClassicProtocols (4.3.1).
    """
    classic = [each.classic_metadata for each in group.members.values() if each.use_classic_protocol]
    counts = Counter(protocol.name for each in classic for protocol in each.supported_protocols)
    is_known = any(counts[each.name] == len(classic) for each in request.protocols)
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not is_known:
        raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL)


def deserialize_subscription(
    shard: GroupMetadataManager, request: JoinGroupRequest
) -> ConsumerProtocolSubscription:
    """Parse the subscription of a member's first protocol.

    Raises:
        CoordinatorError: INCONSISTENT_GROUP_PROTOCOL for a malformed subscription, in some releases.
        IllegalStateError: the subscription is malformed, in the other releases.

    Source: GroupMetadataManager#deserializeSubscription (4.3.1).
    """
    try:
        return deserialize_consumer_protocol_subscription(request.protocols[0].metadata, shard.profile)
    except SubscriptionSchemaError as failure:
        if shard.profile.has(Behaviour.MALFORMED_CLASSIC_SUBSCRIPTION_INCONSISTENT):
            raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL) from failure
        raise IllegalStateError("Malformed embedded consumer protocol") from failure


def _requires_known_member_id(join: Join) -> bool:
    """Source: JoinGroupRequest#requiresKnownMemberId (4.3.1)."""
    request = join.request
    is_new = request.member_id == UNKNOWN_MEMBER_ID and request.group_instance_id is None
    return is_new and join.context.api_version >= _KNOWN_MEMBER_ID_REQUIRED_SINCE


def _speaker(request: JoinGroupRequest, member_id: MemberId) -> Speaker:
    """Return the sender of a JoinGroup. It has no epoch, and replaces a static member only without an id."""
    is_static = request.group_instance_id is not None
    return Speaker(
        member_id=member_id,
        member_epoch=_NOT_SENT,
        instance_id=request.group_instance_id,
        owned_topic_partitions=(),
        create_if_not_exists=not is_static or request.member_id == UNKNOWN_MEMBER_ID,
        use_classic_protocol=True,
    )


def _updated(
    shard: GroupMetadataManager,
    member: ConsumerGroupMember,
    join: Join,
    subscription: ConsumerProtocolSubscription,
) -> ConsumerGroupMember:
    """Return the member with the values from its JoinGroup. It uses the classic protocol from now on."""
    request = join.request
    clears_regex = shard.profile.has(Behaviour.CLASSIC_MEMBER_CLEARS_REGEX)
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NOT_SENT else timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="" if clears_regex else member.subscribed_topic_regex,
        client_id=join.context.client_id or "",
        client_host=join.context.client_host,
        classic_member_metadata=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=tuple(
                ClassicProtocol(name=each.name, metadata=each.metadata) for each in request.protocols
            ),
        ),
    )


def _update_subscription(update: MemberUpdate, context: RequestContext) -> bool:
    """Bump the group epoch if subscription or topics changed. Return whether the subscription changed."""
    shard, group = update.shard, update.group
    bumps = update.has_member_subscription_changed()
    if shard.profile.has(Behaviour.CLASSIC_MEMBER_CLEARS_REGEX):
        status, records = maybe_update_regular_expressions(
            shard, group, update.member, update.updated_member, context
        )
        update.records += records
        bumps |= status.regex_updated
    if bumps or group.has_metadata_expired(shard.now_ms):
        update.update_subscription_metadata(bump_group_epoch=bumps)
    return bumps
