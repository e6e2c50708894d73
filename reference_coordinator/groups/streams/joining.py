"""The sender of a heartbeat: a known member, a new one, or one that replaces a static member."""

from dataclasses import replace

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupInstanceId, MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.lookups import throw_if_streams_group_member_epoch_is_invalid
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import (
    new_streams_group_current_assignment_record,
    new_streams_group_member_record,
    new_streams_group_target_assignment_record,
    remove_streams_member,
)
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from reference_coordinator.messages.streams_groups import StreamsGroupHeartbeatRequest


def get_or_maybe_create_dynamic_streams_group_member(
    group: StreamsGroup, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupMember:
    """Return the member with the sender's id. Create it if the sender joins.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#getOrMaybeCreateDynamicStreamsGroupMember (4.3.1).
    """
    joins = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
    member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=joins)
    throw_if_streams_group_member_epoch_is_invalid(member, request)
    return member


def get_or_maybe_create_static_streams_group_member(
    group: StreamsGroup,
    instance_id: GroupInstanceId,
    request: StreamsGroupHeartbeatRequest,
    records: list[CoordinatorRecord],
) -> StreamsGroupMember:
    """Return the member with an instance id. A sender that joins is created, or replaces one that has left.

    Raises:
        CoordinatorError: UNRELEASED_INSTANCE_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or
            FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#getOrMaybeCreateStaticStreamsGroupMember (4.4.0).
    """
    if request.member_epoch != JOIN_GROUP_MEMBER_EPOCH:
        member = static_member_or_throw(group, instance_id, request.member_id)
        throw_if_streams_group_member_epoch_is_invalid(member, request)
        return member
    existing = group.static_member(instance_id)
    if existing is None:
        return group.get_or_maybe_create_member(request.member_id, create_if_not_exists=True)
    if existing.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise CoordinatorError(
            Errors.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {instance_id} cannot join the group because "
            f"the instance id is owned by {existing.member_id} member.",
        )
    member = replace(existing, member_id=request.member_id, member_epoch=0, previous_member_epoch=0)
    records += replace_streams_member(group, existing, member)
    return member


def static_member_or_throw(
    group: StreamsGroup, instance_id: GroupInstanceId, member_id: MemberId
) -> StreamsGroupMember:
    """Return the member with an instance id, if its member id is the sender's.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Decided in: GroupMetadataManager#throwIfStaticMemberIsUnknown,
    GroupMetadataManager#throwIfInstanceIdIsFenced (4.4.0).
    """
    member = group.static_member(instance_id)
    if member is None:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise CoordinatorError(
            Errors.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}.",
        )
    return member


def replace_streams_member(
    group: StreamsGroup, old: StreamsGroupMember, new: StreamsGroupMember
) -> tuple[CoordinatorRecord, ...]:
    """Return the records that replace a member by another one.

    Source: GroupMetadataManager#replaceStreamsMember (4.4.0).
    """
    target = group.target_assignment_of(old.member_id)
    return (
        *remove_streams_member(group.group_id, old.member_id),
        new_streams_group_member_record(group.group_id, new),
        new_streams_group_target_assignment_record(group.group_id, new.member_id, target),
        new_streams_group_current_assignment_record(group.group_id, new),
    )
