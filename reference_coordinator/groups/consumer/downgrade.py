"""Downgrade of a consumer group to a classic one when its last consumer-protocol member leaves."""

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import GenerationId, MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.classic.answers import new_group_metadata_record
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.rebalance import (
    prepare_rebalance,
    reschedule_classic_group_member_heartbeat,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    SubscriptionSchemaError,
)
from reference_coordinator.groups.consumer.embedded_protocol import assignment_like, assignment_orders
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.record_helpers import group_tombstone_records
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import JoinGroupRequestProtocol


def validate_online_downgrade_with_fenced_members(
    shard: GroupMetadataManager, group: ConsumerGroup, fenced: tuple[ConsumerGroupMember, ...]
) -> bool:
    """Return whether the group becomes classic when these members leave.

    Source: GroupMetadataManager#validateOnlineDowngradeWithFencedMembers (4.3.1),
    ConsumerGroup#allMembersUseClassicProtocolExcept (4.3.1).
    """
    left = len(group.members) - len(fenced)
    classic_left = _num_classic(tuple(group.members.values())) - _num_classic(fenced)
    if classic_left != left or left <= 0:
        return False
    return _may_be_classic(shard, left)


def validate_online_downgrade_with_replaced_member(
    shard: GroupMetadataManager, group: ConsumerGroup, replaced: ConsumerGroupMember
) -> bool:
    """Return whether the group becomes classic when a classic member replaces a static member.

    Source: GroupMetadataManager#validateOnlineDowngradeWithReplacedMember (4.3.1).
    """
    num_classic = _num_classic(tuple(group.members.values()))
    if replaced.use_classic_protocol or num_classic != len(group.members) - 1:
        return False
    return _may_be_classic(shard, len(group.members))


def _num_classic(members: tuple[ConsumerGroupMember, ...]) -> int:
    return sum(each.use_classic_protocol for each in members)


def _may_be_classic(shard: GroupMetadataManager, size: int) -> bool:
    is_enabled = shard.config.group_consumer_migration_policy.is_downgrade_enabled
    return is_enabled and size <= shard.config.group_max_size


def convert_to_classic_group(
    shard: GroupMetadataManager,
    group: ConsumerGroup,
    *,
    leaving: tuple[ConsumerGroupMember, ...] = (),
    joining: ConsumerGroupMember | None = None,
    rebalance: bool,
) -> tuple[CoordinatorRecord, ...]:
    """Convert a consumer group to a classic one in memory. Return the records to write.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, if a member's subscription is malformed.
        IllegalStateError: a member that speaks the consumer protocol is left.

    Source: GroupMetadataManager#convertToClassicGroup (4.3.1).
    """
    replaced = None if joining is None else group.static_member(joining.instance_id)
    members = tuple(
        joining.member_id if joining is not None and each == _id_of(replaced) else each
        for each in group.members
    )
    tombstones = group_tombstone_records(group.group_id, members, group.resolved_regular_expressions)
    try:
        classic = from_consumer_group(shard, group, leaving=leaving, joining=joining)
    except SubscriptionSchemaError as failure:
        message = f"Cannot downgrade the classic group {group.group_id}: {failure}."
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, message) from failure
    assignments = {each.member_id: each.assignment for each in classic.members.values()}
    record = new_group_metadata_record(classic, assignments)
    known = shard.partition_of(group.group_id)
    shard.put_written(group.group_id, classic, record_offset=known.last_written_offset)
    for member in classic.members.values():
        reschedule_classic_group_member_heartbeat(shard, classic, member)
    if rebalance:
        prepare_rebalance(shard, classic)
    return (*tombstones, record)


def _id_of(member: ConsumerGroupMember | None) -> MemberId | None:
    return None if member is None else member.member_id


def from_consumer_group(
    shard: GroupMetadataManager,
    group: ConsumerGroup,
    *,
    leaving: tuple[ConsumerGroupMember, ...],
    joining: ConsumerGroupMember | None,
) -> ClassicGroup:
    """Return a classic group in which the members have their target assignments.

    Raises:
        SubscriptionSchemaError: a member's subscription is malformed.
        IllegalStateError: a member that speaks the consumer protocol is left.

    Source: ClassicGroup#fromConsumerGroup (4.3.1).
    """
    classic = ClassicGroup(
        group_id=group.group_id,
        profile=shard.profile,
        choices=shard.choices,
        current_state_timestamp_ms=shard.now_ms,
        state=ClassicGroupState.STABLE,
        previous_state=ClassicGroupState.EMPTY,
        generation_id=GenerationId(group.group_epoch),
        protocol_type=CONSUMER_PROTOCOL_TYPE,
    )
    gone = {each.member_id for each in leaving}
    replaced = None if joining is None else group.static_member(joining.instance_id)
    # Kafka compares instance ids here, so that a member that gave up this one does not give way.
    taken = None if joining is None else joining.instance_id
    for member in group.members.values():
        if member.member_id not in gone and (taken is None or member.instance_id != taken):
            classic.add(_classic_member(member))
    if joining is not None:
        classic.add(_classic_member(joining))
    # The first member in Kafka's map becomes the leader.
    classic.leader_candidates = tuple(classic.members)
    classic.protocol_name = classic.select_protocol()
    classic.subscribed_topics = classic.compute_subscribed_topics()
    for each in classic.members.values():
        takes_over = joining is not None and each.member_id == joining.member_id and replaced is not None
        source = replaced.member_id if takes_over and replaced is not None else each.member_id
        target = group.target_assignment_of(source)
        each.assignment = assignment_like(each.metadata(classic.protocol_name), target, shard.metadata_image)
        each.assignment_orders = assignment_orders(each.assignment)
    return classic


def _classic_member(member: ConsumerGroupMember) -> ClassicGroupMember:
    metadata = member.classic_member_metadata
    if metadata is None:
        raise IllegalStateError("No value present")
    return ClassicGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=metadata.session_timeout_ms,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        supported_protocols=tuple(
            JoinGroupRequestProtocol(name=each.name, metadata=each.metadata)
            for each in metadata.supported_protocols
        ),
    )
