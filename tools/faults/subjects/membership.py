"""Who is a member of a classic group: identity, joining, leaving, sessions."""

from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.classic import join as joining
from reference_coordinator.groups.classic import rebalance
from reference_coordinator.groups.classic.answers import (
    complete_join_future,
    join_result_of_generation,
    member_left,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, Join, VoidResult

_FIRST_STEP_SINCE = 4


def _as_member(join: Join, member_id: MemberId) -> Join:
    return replace(join, request=replace(join.request, member_id=member_id))


@fault(
    "client-id-is-the-member",
    "groups.classic.join:classic_group_join_new_member",
    source="seaweedfs/seaweedfs#9143",
    saw="two consumers with one client id get one member id, and both read the same partitions",
    red=("classic/identity/one-client-id/v4", "classic/identity/one-client-id/v9"),
)
def client_id_is_the_member(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, join: Join
) -> VoidResult:
    """From v4 on, a first JoinGroup is that of the member with the same client id, if there is one."""
    twins = [each.member_id for each in group.members.values() if each.client_id == join.context.client_id]
    is_static = join.request.group_instance_id is not None
    if not twins or is_static or join.context.api_version < _FIRST_STEP_SINCE:
        return healthy(shard, group, join)
    return joining.classic_group_join_existing_member(shard, group, _as_member(join, twins[0]))


@fault(
    "session-and-client-id-are-the-member",
    "groups.classic.join:classic_group_join_new_member",
    source="seaweedfs/seaweedfs#9143",
    saw="an old client that joins twice with the same client id and session timeout stays one member",
    red=("classic/join/retry-before-v4-makes-a-second-member",),
)
def session_and_client_id_are_the_member(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, join: Join
) -> VoidResult:
    """Below v4, the member is found by its client id, session timeout and protocol type."""
    request = join.request
    wanted = (join.context.client_id, request.session_timeout_ms, request.protocol_type)
    for each in group.members.values():
        known = (each.client_id, each.session_timeout_ms, each.protocol_type)
        if join.context.api_version < _FIRST_STEP_SINCE and known == wanted:
            return joining.classic_group_join_existing_member(shard, group, _as_member(join, each.member_id))
    return healthy(shard, group, join)


@fault(
    "no-first-step",
    "groups.classic.join:classic_group_join_new_dynamic_member",
    source="KAFKA-7610",
    saw="a client that gives up waiting and joins again fills the group with members that nobody is",
    releases="until 2.1",
    red=("classic/join/v4-takes-two-steps",),
)
def no_first_step(
    healthy: Replacement,
    shard: GroupMetadataManager,
    group: ClassicGroup,
    join: Join,
    new_member_id: MemberId,
) -> VoidResult:
    """A dynamic member is admitted at its first JoinGroup, in every version."""
    del healthy
    return joining.add_member_then_rebalance_or_complete_join(shard, group, join, new_member_id)


@fault(
    "rejoin-loses-the-assignment",
    "groups.classic.membership:ClassicGroupMembership.update_member",
    source="seaweedfs/seaweedfs#9143",
    saw="a member that joins again reads nothing until the next rebalance",
    red=("static_membership/restart/inherits-assignment",),
)
def rejoin_loses_the_assignment(
    healthy: Replacement, group: ClassicGroup, member: ClassicGroupMember, *given: object, **named: object
) -> None:
    """A JoinGroup of a known member clears what it was assigned."""
    healthy(group, member, *given, **named)
    member.assignment, member.assignment_orders = b"", ()


@fault(
    "late-joiner-enters-the-running-round",
    "groups.classic.join:add_member_then_rebalance_or_complete_join",
    source="seaweedfs/seaweedfs#9162",
    saw="a member that joins between join and sync is in a generation whose leader does not know it",
    red=("classic/join/newcomer-ends-parked-syncs",),
)
def late_joiner_enters_the_running_round(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, join: Join, member_id: MemberId
) -> VoidResult:
    """A new member of a group that awaits its leader's SyncGroup is answered at once."""
    state, generation = group.state, group.generation_id
    if state is not ClassicGroupState.COMPLETING_REBALANCE:
        return healthy(shard, group, join, member_id)
    request = join.request
    member = ClassicGroupMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=join.context.client_id,
        client_host=join.context.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        supported_protocols=request.protocols,
        awaiting_join=join.token,
    )
    group.add(member)
    assert group.generation_id == generation
    complete_join_future(shard, member, join_result_of_generation(group, member_id))
    rebalance.reschedule_classic_group_member_heartbeat(shard, group, member)
    return EMPTY_RESULT


@fault(
    "no-delay-for-a-group-that-was-there",
    "groups.classic.rebalance:prepare_rebalance",
    source="robot-head/crabka#362",
    saw="the members of a group that was Empty rebalance once for each of them when they start",
    red=("classic/initial-delay/emptied-group",),
)
def no_delay_for_a_group_that_was_there(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup
) -> VoidResult:
    """Only the first generation of a group waits for more members."""
    was_empty = group.state is ClassicGroupState.EMPTY
    result: VoidResult = healthy(shard, group)
    if was_empty and group.generation_id > 0:
        return rebalance.complete_classic_group_join(shard, group)
    return result


@fault(
    "static-members-never-expire",
    "groups.classic.expiry:expire_classic_group_member_heartbeat",
    source="robot-head/crabka#212",
    saw="nobody reads the partitions of a static member that is gone for longer than its session",
    red=("static_membership/restart/after-session-expired",),
)
def static_members_never_expire(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """A static member whose session is over stays."""
    if member_id in group.static_members.values():
        return EMPTY_RESULT
    return healthy(shard, group, member_id)


@fault(
    "commits-do-not-renew-the-session",
    "offsets.commit:_keep_session",
    source="hstreamdb/hstream#1753",
    saw="a member that commits and does not heartbeat is removed, though it is alive",
    red=(
        "offsets/member/keeps-the-session",
        "classic/heartbeat/commits-count",
    ),
)
def commits_do_not_renew_the_session(healthy: Replacement, *given: object) -> None:
    """OffsetCommit of a member does not count as a sign of life."""
    del healthy, given


@fault(
    "no-sync-timeout",
    "groups.classic.expiry:expire_pending_sync",
    source="hstreamdb/hstream#1746",
    saw="a member that never syncs, and goes on with heartbeats, keeps all others waiting",
    red=("classic/deadlines/no-rebalance-time/v3",),
)
def no_sync_timeout(healthy: Replacement, *given: object) -> VoidResult:
    """Members that do not sync in time stay members."""
    del healthy, given
    return EMPTY_RESULT


@fault(
    "disconnected-joiner-holds-the-rebalance-up",
    "groups.classic.expiry:expire_classic_group_member_heartbeat",
    source="KAFKA-9752",
    saw="a rebalance never ends after a member below v4 went away while it joined",
    releases="until 2.4.1",
    red=("classic/join/parked-newcomer-is-removed",),
)
def disconnected_joiner_holds_the_rebalance_up(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId
) -> VoidResult:
    """The limit of five minutes removes no member whose JoinGroup is parked."""
    member = group.members.get(member_id)
    if member is not None and member.is_new and member.is_awaiting_join:
        return EMPTY_RESULT
    return healthy(shard, group, member_id)


@fault(
    "instance-ids-are-ignored",
    "coordinator.service:join_group",
    source="redpanda-data/redpanda#4684",
    saw="the restart of a consumer with group.instance.id makes its group rebalance",
    releases="until 22.1",
    red=("static_membership/restart/follower-keeps-generation",),
)
def instance_ids_are_ignored(healthy: Replacement, shard: CoordinatorShard, join: Join) -> VoidResult:
    """A JoinGroup with an instance id is that of a dynamic member."""
    return healthy(shard, replace(join, request=replace(join.request, group_instance_id=None)))


@fault(
    "restarted-static-member-keeps-its-id",
    "groups.classic.join:classic_group_join_new_static_member",
    source="KAFKA-8715",
    saw="two consumers with one instance id both read its partitions: neither is fenced",
    releases="2.3.0",
    red=("static_membership/fencing/heartbeat",),
)
def restarted_static_member_keeps_its_id(
    healthy: Replacement,
    shard: GroupMetadataManager,
    group: ClassicGroup,
    join: Join,
    new_member_id: MemberId,
) -> VoidResult:
    """A static member's new id is the one before, as it is made of the time at which the group was made."""
    instance_id = join.request.group_instance_id
    known = None if instance_id is None else group.static_members.get(instance_id)
    return healthy(shard, group, join, known or new_member_id)


@fault(
    "second-member-is-unknown",
    "groups.classic.rebalance:_answer_joined_members",
    source="nisshi-io/nisshi#625 (Tansu)",
    saw="a second consumer never gets partitions: UNKNOWN_MEMBER_ID, after the first one gave its up",
    red=("classic/identity/one-client-id-in-one-step/v3",),
)
def second_member_is_unknown(healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """A new member of a group that has members is refused when the join phase ends."""
    if len(group.members) > 1:
        for member in group.members.values():
            if member.is_new:
                member_left(shard, member)
    healthy(shard, group)
