"""Responses to members of a classic group, and the group's records for the log."""

from collections.abc import Mapping

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import (
    UNKNOWN_MEMBER_ID,
    MemberId,
    Millis,
)
from reference_coordinator.core.records import (
    NO_TIMESTAMP_MS,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)
from reference_coordinator.runtime.error_responses import join_error

MOST_ORDERS = 24
"""How many permitted orders of topics an answer has at most."""
ORDER_REASON = "topics come in the order of a hash map by their ids, which chance chooses"
_LEADER_REASON = "the leader was chosen in the order of a hash map of random member ids"


def join_result(
    group: ClassicGroup,
    member_id: MemberId,
    *,
    leader: MemberId | None,
    members: tuple[JoinGroupResponseMember, ...] = (),
    skip_assignment: bool = False,
    error: Errors = Errors.NONE,
) -> JoinGroupResponse:
    """Return a JoinGroup response with the group's current generation."""
    return JoinGroupResponse(
        error_code=error,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def join_result_of_generation(group: ClassicGroup, member_id: MemberId) -> JoinGroupResponse:
    """Return a member's response after the join phase. The leader's lists all members."""
    members = current_classic_group_members(group) if group.is_leader(member_id) else ()
    return join_result(group, member_id, leader=group.leader_id, members=members)


def permitted_roles(group: ClassicGroup, member_id: MemberId) -> tuple[Permitted, ...]:
    """Return the other permitted values of a member's join response, if the leader was a free choice."""
    permitted = permitted_leaders(group.leader_candidates)
    if not permitted or member_id not in group.leader_candidates:
        return permitted
    everybody = current_classic_group_members(group)
    return (*permitted, Permitted(field="members", any_of=((), everybody), reason=_LEADER_REASON))


def permitted_leaders(candidates: tuple[MemberId, ...]) -> tuple[Permitted, ...]:
    """Return the permitted values of `leader`, or none if there was only one candidate."""
    if len(candidates) <= 1:
        return ()
    return (Permitted(field="leader", any_of=candidates, reason=_LEADER_REASON),)


def current_classic_group_members(group: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    """Return every member with its metadata for the selected protocol.

    Source: ClassicGroup#currentClassicGroupMembers (4.3.1).
    """
    if group.state in {ClassicGroupState.DEAD, ClassicGroupState.PREPARING_REBALANCE}:
        raise IllegalStateError("Cannot obtain classic member metadata for group")
    return tuple(
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members.values()
    )


def sync_result(group: ClassicGroup, member: ClassicGroupMember) -> SyncGroupResponse:
    """Return a SyncGroup response with the member's assignment."""
    return SyncGroupResponse(
        error_code=Errors.NONE,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def permitted_assignments(orders: tuple[bytes, ...]) -> tuple[Permitted, ...]:
    """Return the permitted values of a SyncGroup's assignment, from the permitted orders of its topics.

    Decided in: Utils#toConsumerProtocolAssignment (4.3.1).
    """
    return (Permitted(field="assignment", any_of=orders, reason=ORDER_REASON),) if orders else ()


def complete_join_future(
    shard: GroupMetadataManager,
    member: ClassicGroupMember,
    response: JoinGroupResponse,
    permitted: tuple[Permitted, ...] = (),
) -> None:
    """Answer a member's parked JoinGroup, if there is one.

    Source: ClassicGroup#completeJoinFuture (4.3.1), GroupMetadata#maybeInvokeJoinCallback (3.9.2).
    """
    token, member.awaiting_join = member.awaiting_join, None
    if token is not None:
        shard.respond(token, response, permitted)


def complete_sync_future(
    shard: GroupMetadataManager, member: ClassicGroupMember, response: SyncGroupResponse
) -> bool:
    """Answer a member's parked SyncGroup. Return whether there was one.

    Source: ClassicGroup#completeSyncFuture (4.3.1), GroupMetadata#maybeInvokeSyncCallback (3.9.2).
    """
    token, member.awaiting_sync = member.awaiting_sync, None
    if token is None:
        return False
    shard.respond(token, response)
    return True


def member_left(shard: GroupMetadataManager, member: ClassicGroupMember) -> None:
    """Answer the parked JoinGroup of a member that is being removed, so that its client tries again."""
    complete_join_future(shard, member, join_error(UNKNOWN_MEMBER_ID, Errors.UNKNOWN_MEMBER_ID))


def new_group_metadata_record(
    group: ClassicGroup, assignments: Mapping[MemberId, bytes]
) -> GroupMetadataRecord:
    """Return a record of the group with these assignments. A member without one gets an empty assignment.

    Raises:
        IllegalStateError: a member's client id is null, which the record does not allow.

    Source: GroupCoordinatorRecordHelpers#newGroupMetadataRecord (4.3.1).
    """
    timestamp_ms = group.current_state_timestamp_ms
    return GroupMetadataRecord(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        generation_id=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp_ms=NO_TIMESTAMP_MS if timestamp_ms is None else timestamp_ms,
        members=tuple(
            GroupMetadataRecordMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=_client_id_to_write(member),
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ),
    )


def _client_id_to_write(member: ClassicGroupMember) -> str:
    if member.client_id is None:
        raise IllegalStateError("a client id in the log is never null")
    return member.client_id


def new_empty_group_metadata_record(group: ClassicGroup) -> GroupMetadataRecord:
    """Return the record of a group that a JoinGroup has just created, without members.

    Source: GroupCoordinatorRecordHelpers#newEmptyGroupMetadataRecord (4.3.1).
    """
    return GroupMetadataRecord(
        group_id=group.group_id,
        protocol_type="",
        generation_id=group.generation_id,
        protocol=None,
        leader=None,
        current_state_timestamp_ms=group.current_state_timestamp_ms or Millis(0),
        members=(),
    )
