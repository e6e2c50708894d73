"""Lookups of consumer groups among the groups of all types, and checks of their members."""

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId
from reference_coordinator.groups.consumer.current_assignment import OwnedPartitions
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from reference_coordinator.profile.behaviours import Behaviour


def as_consumer_group(group: Group) -> ConsumerGroup:
    """Return the group as a consumer group. Its type must be consumer."""
    assert isinstance(group, ConsumerGroup), f"{group.group_id} is of type {group.type.value}"
    return group


def consumer_group(
    shard: GroupMetadataManager, group_id: GroupId, *, committed: bool = False
) -> ConsumerGroup:
    """Return the consumer group with an id: the newest state, or the committed one that reads use.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, also if a group of another type has the id.

    Source: GroupMetadataManager#consumerGroup (4.3.1).
    """
    group = shard.group(group_id, committed=committed)
    if not isinstance(group, ConsumerGroup):
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def throw_if_consumer_group_is_full(
    shard: GroupMetadataManager,
    group: ConsumerGroup,
    member_id: MemberId,
    instance_id: GroupInstanceId | None,
) -> None:
    """Refuse a new member if the group has reached its maximum size.

    Raises:
        CoordinatorError: GROUP_MAX_SIZE_REACHED.

    Source: GroupMetadataManager#throwIfConsumerGroupIsFull (4.3.1).
    """
    replaces = shard.profile.has(Behaviour.STATIC_REPLACEMENT_FITS_FULL_GROUP)
    if replaces and instance_id in group.static_members:
        return
    max_size = shard.config.group_consumer_max_size
    if len(group.members) >= max_size and member_id not in group.members:
        raise CoordinatorError(
            Errors.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def throw_if_consumer_group_member_epoch_is_invalid(
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    received_member_epoch: int,
    owned_topic_partitions: OwnedPartitions,
) -> None:
    """Refuse an epoch other than the member's current one.

    Its previous epoch is accepted if all partitions that it reports are assigned to it.

    Raises:
        CoordinatorError: FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid (4.3.1).
    """
    may_rejoin = group.profile.has(Behaviour.REJOINING_MEMBER_KEEPS_EPOCH)
    if received_member_epoch == JOIN_GROUP_MEMBER_EPOCH and may_rejoin:
        return
    if received_member_epoch > member.member_epoch:
        raise _fenced_member_epoch("greater", received_member_epoch, member)
    if received_member_epoch < member.member_epoch and (
        received_member_epoch != member.previous_member_epoch or not is_subset(owned_topic_partitions, member)
    ):
        raise _fenced_member_epoch("smaller", received_member_epoch, member)


def _fenced_member_epoch(
    comparison: str, received_member_epoch: int, member: ConsumerGroupMember
) -> CoordinatorError:
    return CoordinatorError(
        Errors.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {comparison} member epoch ({received_member_epoch}) than the one "
        f"known by the group coordinator ({member.member_epoch}). The member must abandon all its partitions "
        "and rejoin.",
    )


def is_subset(owned_topic_partitions: OwnedPartitions, member: ConsumerGroupMember) -> bool:
    """Return whether a member reports its owned partitions and all of them are assigned to it.

    Source: GroupMetadataManager#isSubset (4.3.1).
    """
    if owned_topic_partitions is None:
        return False
    assigned = member.assigned_partitions
    return all(
        topic_id in assigned and all(each in assigned[topic_id] for each in partitions)
        for topic_id, partitions in owned_topic_partitions
    )


def throw_if_instance_id_is_unreleased(
    member: ConsumerGroupMember, received_member_id: MemberId, received_instance_id: GroupInstanceId
) -> None:
    """Refuse to replace a static member that has not left.

    Raises:
        CoordinatorError: UNRELEASED_INSTANCE_ID.

    Source: GroupMetadataManager#throwIfInstanceIdIsUnreleased (4.3.1).
    """
    if member.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise CoordinatorError(
            Errors.UNRELEASED_INSTANCE_ID,
            f"Static member {received_member_id} with instance id {received_instance_id} cannot join the "
            f"group because the instance id is owned by {member.member_id} member.",
        )


def throw_if_instance_id_is_fenced(
    member: ConsumerGroupMember, received_member_id: MemberId, received_instance_id: GroupInstanceId
) -> None:
    """Refuse a member whose instance id belongs to another member.

    Raises:
        CoordinatorError: FENCED_INSTANCE_ID.

    Source: GroupMetadataManager#throwIfInstanceIdIsFenced (4.3.1).
    """
    if member.member_id != received_member_id:
        raise CoordinatorError(
            Errors.FENCED_INSTANCE_ID,
            f"Static member {received_member_id} with instance id {received_instance_id} was fenced by "
            f"member {member.member_id}.",
        )


def static_member_or_throw(
    group: ConsumerGroup, instance_id: GroupInstanceId, received_member_id: MemberId
) -> ConsumerGroupMember:
    """Return the member with an instance id, if its member id is the sender's.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Decided in: GroupMetadataManager#throwIfStaticMemberIsUnknown (4.3.1).
    """
    member = group.static_member(instance_id)
    if member is None:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    throw_if_instance_id_is_fenced(member, received_member_id, instance_id)
    return member
