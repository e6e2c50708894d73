"""JoinGroup: which members are admitted, and when that starts a rebalance."""

from typing import Final, assert_never

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, MemberId
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.answers import (
    join_result,
    join_result_of_generation,
    new_empty_group_metadata_record,
    permitted_leaders,
    permitted_roles,
)
from reference_coordinator.groups.classic.deadlines import ExpireMemberHeartbeat, HeartbeatKey
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import get_or_maybe_create_classic_group
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.membership import BEFORE_FIRST_GENERATION
from reference_coordinator.groups.classic.rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    maybe_complete_join_phase,
    maybe_prepare_rebalance_or_complete_join,
    reschedule_classic_group_member_heartbeat,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.classic.static_members import (
    update_static_member_then_rebalance_or_complete_join,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import append_group_metadata_error_to_response_error
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    Continuation,
    CoordinatorResult,
    Join,
    VoidResult,
)
from reference_coordinator.runtime.error_responses import join_error

_KNOWN_MEMBER_ID_REQUIRED_SINCE: Final = 4


def classic_group_join_to_classic_group(shard: GroupMetadataManager, join: Join) -> VoidResult:
    """Answer or park a JoinGroup to a classic group, which is created if it does not exist.

    Source: GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1),
    GroupCoordinator#handleJoinGroup (3.9.2).
    """
    request = join.request
    is_unknown_member = request.member_id == UNKNOWN_MEMBER_ID
    is_new_group = shard.find_group(request.group_id) is None
    try:
        group = get_or_maybe_create_classic_group(
            shard, request.group_id, create_if_not_exists=is_unknown_member
        )
    except CoordinatorError:
        shard.respond(join.token, join_error(request.member_id, Errors.UNKNOWN_MEMBER_ID))
        return EMPTY_RESULT

    if not accept_joining_member(shard, group, request.member_id, is_new_group=is_new_group):
        result = _reject(shard, group, join)
    elif is_unknown_member:
        result = classic_group_join_new_member(shard, group, join)
    else:
        result = classic_group_join_existing_member(shard, group, join)
    return result if result.records else _after_join(shard, group, join, is_new_group=is_new_group)


def _after_join(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join, *, is_new_group: bool
) -> VoidResult:
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            if not is_new_group:
                return EMPTY_RESULT
            return CoordinatorResult(
                records=(new_empty_group_metadata_record(group),),
                append_future=GroupCreated(shard=shard, join=join),
                replay_records=False,
            )
        case CoordinatorFamily.SCALA:
            if group.state is ClassicGroupState.PREPARING_REBALANCE:
                return maybe_complete_join_phase(shard, group)
            return EMPTY_RESULT


def accept_joining_member(
    shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId, *, is_new_group: bool
) -> bool:
    """Return whether the group has room for the member.

    Source: GroupMetadataManager#acceptJoiningMember (4.3.1), GroupCoordinator#handleJoinGroup (2.5.1).
    """
    size_max = shard.config.group_max_size
    member = group.members.get(member_id)
    if not shard.profile.has(Behaviour.GROUP_SIZE_LIMITS_PENDING_MEMBERS):
        if member_id == UNKNOWN_MEMBER_ID:
            return is_new_group or len(group.members) < size_max
        has_to_go = member is not None and not member.is_awaiting_join
        return not (len(group.members) > size_max and has_to_go)
    match group.state:
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            return True
        case ClassicGroupState.PREPARING_REBALANCE:
            # The group's size includes members that will be removed. Count parked JoinGroups instead, so that
            # the members that rejoin last are rejected.
            is_in = member is not None and member.is_awaiting_join
            return is_in or group.num_awaiting_join_response < size_max
        case ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.STABLE:
            return member is not None or len(group.members) < size_max
        case _:
            assert_never(group.state)


@value
class GroupCreated(Continuation):
    """Runs after the append of the record of a group that a JoinGroup created."""

    shard: GroupMetadataManager
    join: Join

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer the parked JoinGroup with an error if the group could not be written.

        Decided in: GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1).
        """
        if error is Errors.NONE or not self.shard.is_open(self.join.token):
            return
        reported = append_group_metadata_error_to_response_error(self.shard, error)
        self.shard.fail(self.join.token, join_error(UNKNOWN_MEMBER_ID, reported))


def _reject(shard: GroupMetadataManager, group: ClassicGroup, join: Join) -> VoidResult:
    group.remove(join.request.member_id)
    instance_id = join.request.group_instance_id
    erases = shard.profile.has(Behaviour.REJECTION_ERASES_STATIC_MAPPING)
    if erases and instance_id is not None:
        group.static_members.pop(instance_id, None)
    error = join_error(UNKNOWN_MEMBER_ID, Errors.GROUP_MAX_SIZE_REACHED)
    shard.respond(join.token, error)
    return EMPTY_RESULT


def classic_group_join_new_member(shard: GroupMetadataManager, group: ClassicGroup, join: Join) -> VoidResult:
    """Admit a member that has no member id yet.

    Source: GroupMetadataManager#classicGroupJoinNewMember (4.3.1),
    GroupCoordinator#doNewMemberJoinGroup (3.9.2).
    """
    request = join.request
    if group.state is ClassicGroupState.DEAD:
        error = join_error(UNKNOWN_MEMBER_ID, Errors.COORDINATOR_NOT_AVAILABLE)
        shard.respond(join.token, error)
    elif not group.supports_protocols(request.protocol_type, request.protocols):
        error = join_error(UNKNOWN_MEMBER_ID, Errors.INCONSISTENT_GROUP_PROTOCOL)
        shard.respond(join.token, error)
    elif request.group_instance_id is not None:
        new_member_id = shard.choices.member_id(request.group_instance_id)
        return classic_group_join_new_static_member(shard, group, join, new_member_id)
    else:
        new_member_id = shard.choices.member_id(_client_id_prefix(shard, join.context.client_id))
        return classic_group_join_new_dynamic_member(shard, group, join, new_member_id)
    return EMPTY_RESULT


def _client_id_prefix(shard: GroupMetadataManager, client_id: str | None) -> str:
    if client_id is not None:
        return client_id
    return "" if shard.profile.has(Behaviour.NULL_CLIENT_ID_IS_EMPTY) else "null"


def _client_id(shard: GroupMetadataManager, client_id: str | None) -> str | None:
    return client_id or "" if shard.profile.has(Behaviour.NULL_CLIENT_ID_IS_EMPTY) else client_id


def classic_group_join_new_static_member(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join, new_member_id: MemberId
) -> VoidResult:
    """Admit a static member, replacing the member with the same instance id if there is one.

    Source: GroupMetadataManager#classicGroupJoinNewStaticMember (4.3.1),
    GroupCoordinator#doStaticNewMemberJoinGroup (3.9.2).
    """
    instance_id = join.request.group_instance_id
    assert instance_id is not None
    existing_member_id = group.static_members.get(instance_id)
    if existing_member_id is not None:
        return update_static_member_then_rebalance_or_complete_join(
            shard, group, join, old_member_id=existing_member_id, new_member_id=new_member_id
        )
    return add_member_then_rebalance_or_complete_join(shard, group, join, new_member_id)


def classic_group_join_new_dynamic_member(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join, new_member_id: MemberId
) -> VoidResult:
    """Return the member id that a dynamic member must rejoin with, or admit it before version 4.

    Source: GroupMetadataManager#classicGroupJoinNewDynamicMember (4.3.1),
    GroupCoordinator#doDynamicNewMemberJoinGroup (3.9.2).
    """
    if join.context.api_version >= _KNOWN_MEMBER_ID_REQUIRED_SINCE:
        group.pending_join_members.add(new_member_id)
        shard.timers.schedule(
            HeartbeatKey(group_id=group.group_id, member_id=new_member_id),
            shard.now_ms + join.request.session_timeout_ms,
            ExpireMemberHeartbeat(group_id=group.group_id, member_id=new_member_id),
        )
        shard.respond(join.token, join_error(new_member_id, Errors.MEMBER_ID_REQUIRED))
        return EMPTY_RESULT
    return add_member_then_rebalance_or_complete_join(shard, group, join, new_member_id)


def classic_group_join_existing_member(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join
) -> VoidResult:
    """Handle a JoinGroup with a member id, from a current member or from a pending one.

    Source: GroupMetadataManager#classicGroupJoinExistingMember (4.3.1),
    GroupCoordinator#doCurrentMemberJoinGroup (3.9.2).
    """
    request = join.request
    if group.state is ClassicGroupState.DEAD:
        error = join_error(request.member_id, Errors.COORDINATOR_NOT_AVAILABLE)
        shard.respond(join.token, error)
    elif not group.supports_protocols(request.protocol_type, request.protocols):
        error = join_error(request.member_id, Errors.INCONSISTENT_GROUP_PROTOCOL)
        shard.respond(join.token, error)
    elif request.member_id in group.pending_join_members:
        if request.group_instance_id is not None:
            raise IllegalStateError("Received unexpected JoinGroup with groupInstanceId")
        return add_member_then_rebalance_or_complete_join(shard, group, join, request.member_id)
    else:
        try:
            group.validate_member(
                request.member_id, request.group_instance_id, unknown_instance_is_refused=True
            )
        except CoordinatorError as refusal:
            shard.respond(join.token, join_error(request.member_id, refusal.error))
        else:
            return _join_existing_member_by_state(shard, group, join)
    return EMPTY_RESULT


def _join_existing_member_by_state(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join
) -> VoidResult:
    request = join.request
    member = group.members[request.member_id]
    matches = member.matches(
        request.protocols,
        with_unknown_tags=shard.profile.has(Behaviour.UNKNOWN_TAGS_MAKE_PROTOCOLS_DIFFER),
    )
    match group.state:
        case ClassicGroupState.PREPARING_REBALANCE:
            return update_member_then_rebalance_or_complete_join(shard, group, member, join)
        case ClassicGroupState.COMPLETING_REBALANCE:
            if not matches:
                return update_member_then_rebalance_or_complete_join(shard, group, member, join)
            # The response to the member's previous JoinGroup may have been lost.
            response = join_result_of_generation(group, member.member_id)
            shard.respond(join.token, response, permitted_roles(group, member.member_id))
        case ClassicGroupState.STABLE:
            # A leader may know of changes that the members' metadata does not show, such as new partitions.
            if group.is_leader(member.member_id) or not matches:
                return update_member_then_rebalance_or_complete_join(shard, group, member, join)
            response = join_result(group, member.member_id, leader=group.leader_id)
            shard.respond(join.token, response, permitted_leaders(group.leader_candidates))
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            error = join_error(member.member_id, Errors.UNKNOWN_MEMBER_ID)
            shard.respond(join.token, error)
        case _:
            assert_never(group.state)
    return EMPTY_RESULT


def update_member_then_rebalance_or_complete_join(
    shard: GroupMetadataManager, group: ClassicGroup, member: ClassicGroupMember, join: Join
) -> VoidResult:
    """Park the JoinGroup of a member and rebalance.

    Source: GroupMetadataManager#updateMemberThenRebalanceOrCompleteJoin (4.3.1),
    GroupCoordinator#updateMemberAndRebalance (3.9.2).
    """
    group.update_member(
        member,
        join.request.protocols,
        rebalance_timeout_ms=join.request.rebalance_timeout_ms,
        session_timeout_ms=join.request.session_timeout_ms,
        awaiting_join=join.token,
    )
    return maybe_prepare_rebalance_or_complete_join(shard, group)


def add_member_then_rebalance_or_complete_join(
    shard: GroupMetadataManager, group: ClassicGroup, join: Join, member_id: MemberId
) -> VoidResult:
    """Park the JoinGroup of a new member and rebalance.

    The member cannot send heartbeats before it receives its id, so its session timeout does not apply yet.
    A separate timeout removes it, because otherwise a client that disappeared would stay in the group.

    Source: GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin (4.3.1),
    GroupCoordinator#addMemberAndRebalance (3.9.2).
    """
    request = join.request
    member = ClassicGroupMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=_client_id(shard, join.context.client_id),
        client_host=join.context.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        supported_protocols=request.protocols,
        is_new=True,
        awaiting_join=join.token,
    )
    if _extends_initial_delay(shard, group):
        group.new_member_added = True
    group.add(member)
    reschedule_classic_group_member_heartbeat(shard, group, member, timeout_ms=NEW_MEMBER_JOIN_TIMEOUT_MS)
    return maybe_prepare_rebalance_or_complete_join(shard, group)


def _extends_initial_delay(shard: GroupMetadataManager, group: ClassicGroup) -> bool:
    if group.state is not ClassicGroupState.PREPARING_REBALANCE:
        return False
    if shard.profile.has(Behaviour.ONLY_FIRST_GENERATION_EXTENDS_INITIAL_DELAY):
        return group.generation_id == BEFORE_FIRST_GENERATION
    return group.previous_state is ClassicGroupState.EMPTY
