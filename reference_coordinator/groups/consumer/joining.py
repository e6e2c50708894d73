"""The sender of a heartbeat or JoinGroup to a consumer group: a member, or one that becomes a member."""

from dataclasses import replace

from reference_coordinator.core.ids import GroupInstanceId, MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.current_assignment import OwnedPartitions
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.lookups import (
    static_member_or_throw,
    throw_if_consumer_group_member_epoch_is_invalid,
    throw_if_instance_id_is_unreleased,
)
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_member_subscription_record,
    new_consumer_group_target_assignment_record,
    remove_member,
)


@value
class Speaker:
    """The sender of a request, as the request identifies it."""

    member_id: MemberId
    member_epoch: int
    instance_id: GroupInstanceId | None
    owned_topic_partitions: OwnedPartitions
    create_if_not_exists: bool
    use_classic_protocol: bool


def get_or_maybe_subscribe_member(
    group: ConsumerGroup, speaker: Speaker
) -> tuple[ConsumerGroupMember, tuple[CoordinatorRecord, ...]]:
    """Return the member that sends the request, and the records to write if it replaces another one.

    Raises:
        CoordinatorError: the first check that fails.

    Decided in: GroupMetadataManager#consumerGroupHeartbeat (4.3.1).
    """
    if speaker.instance_id is None:
        return get_or_maybe_subscribe_dynamic_consumer_group_member(group, speaker), ()
    return get_or_maybe_subscribe_static_consumer_group_member(group, speaker, speaker.instance_id)


def get_or_maybe_subscribe_dynamic_consumer_group_member(
    group: ConsumerGroup, speaker: Speaker
) -> ConsumerGroupMember:
    """Return the member with the sender's id.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#getOrMaybeSubscribeDynamicConsumerGroupMember (4.3.1).
    """
    member = group.get_or_maybe_create_member(
        speaker.member_id, create_if_not_exists=speaker.create_if_not_exists
    )
    if not speaker.use_classic_protocol:
        throw_if_consumer_group_member_epoch_is_invalid(
            group, member, speaker.member_epoch, speaker.owned_topic_partitions
        )
    return member


def get_or_maybe_subscribe_static_consumer_group_member(
    group: ConsumerGroup, speaker: Speaker, instance_id: GroupInstanceId
) -> tuple[ConsumerGroupMember, tuple[CoordinatorRecord, ...]]:
    """Return the member with an instance id. A sender that joins replaces it.

    Raises:
        CoordinatorError: UNRELEASED_INSTANCE_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or
            FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#getOrMaybeSubscribeStaticConsumerGroupMember (4.3.1).
    """
    if not speaker.create_if_not_exists:
        member = static_member_or_throw(group, instance_id, speaker.member_id)
        if not speaker.use_classic_protocol:
            throw_if_consumer_group_member_epoch_is_invalid(
                group, member, speaker.member_epoch, speaker.owned_topic_partitions
            )
        return member, ()
    existing = group.static_member(instance_id)
    if existing is None:
        return group.get_or_maybe_create_member(speaker.member_id, create_if_not_exists=True), ()
    if not speaker.use_classic_protocol and not existing.use_classic_protocol:
        throw_if_instance_id_is_unreleased(existing, speaker.member_id, instance_id)
    member = replace(existing, member_id=speaker.member_id, member_epoch=0, previous_member_epoch=0)
    return member, replace_member(group, existing, member)


def replace_member(
    group: ConsumerGroup, old_member: ConsumerGroupMember, new_member: ConsumerGroupMember
) -> tuple[CoordinatorRecord, ...]:
    """Return the records that replace a member. Its timers keep running and have no effect.

    Source: GroupMetadataManager#replaceMember (4.3.1).
    """
    group_id = group.group_id
    return (
        *remove_member(group_id, old_member.member_id),
        new_consumer_group_member_subscription_record(group_id, new_member),
        new_consumer_group_target_assignment_record(
            group_id, new_member.member_id, group.target_assignment_of(old_member.member_id)
        ),
        new_consumer_group_current_assignment_record(group_id, new_member, group.profile),
    )
