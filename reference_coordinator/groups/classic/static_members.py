"""Replacement of a static member by a restarted one with the same instance id."""

from typing import Final, assert_never

from typing_extensions import override

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GroupInstanceId, MemberId, Millis, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.answers import (
    complete_join_future,
    complete_sync_future,
    current_classic_group_members,
    join_result,
    new_group_metadata_record,
    permitted_leaders,
    permitted_roles,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.rebalance import (
    maybe_complete_join_phase,
    maybe_prepare_rebalance_or_complete_join,
    prepare_rebalance,
    reschedule_classic_group_member_heartbeat,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import append_group_metadata_error_to_response_error
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    Continuation,
    CoordinatorResult,
    Join,
    VoidResult,
)
from reference_coordinator.runtime.error_responses import join_error, sync_error

_SKIPPING_ASSIGNMENT_SINCE: Final = 9


@value
class StaticMemberStored(Continuation):
    """Runs after the append of a static member's new id. The old values serve to undo the change."""

    shard: GroupMetadataManager
    group: ClassicGroup
    member: ClassicGroupMember
    token: ResponseToken
    group_instance_id: GroupInstanceId
    old_member_id: MemberId
    new_member_id: MemberId
    old_protocols: tuple[JoinGroupRequestProtocol, ...]
    old_rebalance_timeout_ms: Millis
    old_session_timeout_ms: Millis
    current_leader: MemberId | None
    """The leader before the replacement."""
    leader_candidates: tuple[MemberId, ...]
    """The members that may have been the leader before the replacement."""
    supports_skipping_assignment: bool

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer a restarted static member if its new id was written, otherwise undo the replacement.

        Decided in: GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin (4.3.1).
        """
        shard, group = self.shard, self.group
        if error is Errors.NONE:
            _answer_replaced(shard, self)
            return
        group.update_member(
            self.member,
            self.old_protocols,
            rebalance_timeout_ms=self.old_rebalance_timeout_ms,
            session_timeout_ms=self.old_session_timeout_ms,
            awaiting_join=None,
        )
        old_member = replace_static_member(
            shard, group, self.group_instance_id, self.new_member_id, self.old_member_id
        )
        reschedule_classic_group_member_heartbeat(shard, group, old_member)
        response = join_result(
            group,
            UNKNOWN_MEMBER_ID,
            leader=self.current_leader,
            error=append_group_metadata_error_to_response_error(shard, error),
        )
        shard.respond(self.token, response, permitted_leaders(self.leader_candidates))


def update_static_member_then_rebalance_or_complete_join(
    shard: GroupMetadataManager,
    group: ClassicGroup,
    join: Join,
    *,
    old_member_id: MemberId,
    new_member_id: MemberId,
) -> VoidResult:
    """Replace a restarted static member, without a rebalance if a Stable group keeps its protocol.

    Source: GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin (4.3.1),
    GroupCoordinator#updateStaticMemberAndRebalance (3.9.2).
    """
    undo = _replace(shard, group, join, old_member_id=old_member_id, new_member_id=new_member_id)
    match group.state:
        case ClassicGroupState.STABLE:
            return _replace_in_stable(shard, group, undo)
        case ClassicGroupState.COMPLETING_REBALANCE:
            # The leader may be computing an assignment with the old member id, without the new one.
            if shard.profile.has(Behaviour.STATIC_REPLACEMENT_IN_COMPLETING_REBALANCES):
                return prepare_rebalance(shard, group)
            _answer_replaced(shard, undo)
            return EMPTY_RESULT
        case ClassicGroupState.PREPARING_REBALANCE:
            return maybe_complete_join_phase(shard, group)
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            raise IllegalStateError("Group was not supposed to be in this state")
        case _:
            assert_never(group.state)


def _replace(
    shard: GroupMetadataManager,
    group: ClassicGroup,
    join: Join,
    *,
    old_member_id: MemberId,
    new_member_id: MemberId,
) -> StaticMemberStored:
    """Replace the member and park the JoinGroup. Return a continuation that can undo the replacement."""
    request = join.request
    assert request.group_instance_id is not None
    current_leader, leader_candidates = group.leader_id, group.leader_candidates
    member = replace_static_member(shard, group, request.group_instance_id, old_member_id, new_member_id)
    reschedule_classic_group_member_heartbeat(shard, group, member)
    old_protocols = member.supported_protocols
    old_rebalance_timeout_ms = member.rebalance_timeout_ms
    old_session_timeout_ms = member.session_timeout_ms
    group.update_member(
        member,
        request.protocols,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        awaiting_join=join.token,
    )
    if shard.profile.coordinator is CoordinatorFamily.SCALA:
        # Scala saves them after the update, by GroupCoordinator#updateStaticMemberAndRebalance (3.9.2).
        old_protocols = member.supported_protocols
    return StaticMemberStored(
        shard=shard,
        group=group,
        member=member,
        token=join.token,
        group_instance_id=request.group_instance_id,
        old_member_id=old_member_id,
        new_member_id=new_member_id,
        old_protocols=old_protocols,
        old_rebalance_timeout_ms=old_rebalance_timeout_ms,
        old_session_timeout_ms=old_session_timeout_ms,
        current_leader=current_leader,
        leader_candidates=leader_candidates,
        supports_skipping_assignment=join.context.api_version >= _SKIPPING_ASSIGNMENT_SINCE,
    )


def _replace_in_stable(
    shard: GroupMetadataManager, group: ClassicGroup, undo: StaticMemberStored
) -> VoidResult:
    if not shard.profile.has(Behaviour.STATIC_REPLACEMENT_PERSISTED):
        _answer_replaced(shard, undo)
        return EMPTY_RESULT
    if group.protocol_name != group.select_protocol():
        return maybe_prepare_rebalance_or_complete_join(shard, group)
    assignments = {each.member_id: each.assignment for each in group.members.values()}
    records = (new_group_metadata_record(group, assignments),)
    return CoordinatorResult(records=records, append_future=undo, replay_records=False)


def replace_static_member(
    shard: GroupMetadataManager,
    group: ClassicGroup,
    group_instance_id: GroupInstanceId,
    old_member_id: MemberId,
    new_member_id: MemberId,
) -> ClassicGroupMember:
    """Give a static member a new id and fence the parked requests of the old one.

    Source: ClassicGroup#replaceStaticMember (4.3.1).
    """
    fenced = group.members.get(old_member_id)
    if fenced is not None:
        complete_join_future(shard, fenced, join_error(old_member_id, Errors.FENCED_INSTANCE_ID))
        complete_sync_future(shard, fenced, sync_error(Errors.FENCED_INSTANCE_ID))
    return group.replace_static_member(group_instance_id, old_member_id, new_member_id)


def _answer_replaced(shard: GroupMetadataManager, stored: StaticMemberStored) -> None:
    group, member = stored.group, stored.member
    if stored.supports_skipping_assignment:
        _answer_replaced_that_may_skip(shard, group, member)
        return
    # With the old leader id, a restarted leader does not compute an assignment, which a Stable group ignores.
    response = join_result(group, stored.new_member_id, leader=stored.current_leader)
    complete_join_future(shard, member, response, permitted_leaders(stored.leader_candidates))


def _answer_replaced_that_may_skip(
    shard: GroupMetadataManager, group: ClassicGroup, member: ClassicGroupMember
) -> None:
    if not member.is_awaiting_join:
        return
    is_leader = group.is_leader(member.member_id)
    members = current_classic_group_members(group) if is_leader else ()
    response = join_result(
        group,
        member.member_id,
        leader=group.leader_id,
        members=members,
        skip_assignment=is_leader,
    )
    permitted = permitted_roles(group, member.member_id)
    if len(permitted) > 1:
        skips = Permitted(field="skip_assignment", any_of=(False, True), reason=permitted[0].reason)
        permitted = (*permitted, skips)
    complete_join_future(shard, member, response, permitted)
