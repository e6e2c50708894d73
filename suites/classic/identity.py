"""A member is known by its member id, and by nothing else that members may share or change."""

from harness.scenario import SHORT_SESSIONS, Actor, Conversation, ask, containing, expect, scenario, sweep

JOINS = "GroupMetadataManager#classicGroupJoinNewDynamicMember"
VALIDATES = "ClassicGroup#validateMember"


def _second_joins(first: Actor, second: Actor, version: int) -> None:
    """Let a second member join a Stable group of one, and expect two members with parts of their own."""
    second.sends(ask.join_group(version=version))
    second.stays_parked(for_ms=300)
    first.asks(ask.join_group(version=version), expect.join_group(error_code="NONE", generation_id=2))
    second.receives(expect.join_group(error_code="NONE", generation_id=2, leader=first.member_id))
    second.sends(ask.sync_group())
    first.syncs_as_leader((first, second))
    second.receives(expect.sync_group(error_code="NONE", assignment=second.part))
    first.asks(ask.heartbeat(), error_code="NONE")
    second.asks(ask.heartbeat(), error_code="NONE")


@scenario("classic/identity/one-client-id", source=JOINS, clauses=("JG-49",), sweep=sweep("JoinGroup", 4, 9))
def members_may_share_a_client_id(conversation: Conversation, version: int) -> None:
    """Two dynamic members with one client id are two members (JoinGroup v{version})."""
    ana = conversation.actor("ana", client_id="replica")
    bob = conversation.actor("bob", client_id="replica")
    ana.asks(ask.join_group(version=version), error_code="MEMBER_ID_REQUIRED")
    ana.asks(ask.join_group(version=version), error_code="NONE")
    ana.syncs_as_leader((ana,))

    bob.asks(ask.join_group(version=version), error_code="MEMBER_ID_REQUIRED")
    _second_joins(ana, bob, version)


@scenario(
    "classic/identity/one-client-id-in-one-step",
    source=JOINS,
    clauses=("JG-49",),
    sweep=sweep("JoinGroup", 0, 3),
)
def members_may_share_a_client_id_in_one_step(conversation: Conversation, version: int) -> None:
    """Two dynamic members with one client id that join in one step are two members (JoinGroup v{version})."""
    ana = conversation.actor("ana", client_id="replica")
    bob = conversation.actor("bob", client_id="replica")
    ana.asks(ask.join_group(version=version), error_code="NONE")
    ana.syncs_as_leader((ana,))

    _second_joins(ana, bob, version)


@scenario("classic/identity/another-connection", source=VALIDATES, clauses=("JG-50", "HB-11"))
def a_member_may_speak_on_any_connection(conversation: Conversation) -> None:
    """A member's requests are served on another connection and under another client id.

    So is a LeaveGroup that an administrator sends for it, while the other member stays.
    """
    ana, bob = conversation.stable_group("ana", "bob")
    eve = conversation.actor("eve", client_id="another")
    bobs, generation = bob.member_id, bob.generation_id

    eve.asks(ask.heartbeat(member_id=bobs, generation_id=generation), error_code="NONE")
    eve.asks(
        ask.offset_commit(member_id=bobs, generation_id=generation, topics={"orders": {0: 7}}),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )
    eve.sends(ask.sync_group(member_id=bobs, generation_id=generation))
    eve.receives(expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.disconnects()
    bob.asks(ask.heartbeat(), error_code="NONE")
    eve.asks(ask.leave_group(member_id=bobs), error_code="NONE")
    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")


@scenario("classic/identity/one-seat-in-two-groups", source=VALIDATES, clauses=("JG-51", "ST-30"))
def an_instance_id_is_a_groups_own(conversation: Conversation) -> None:
    """Two groups may have a static member with the same instance id each; neither is fenced.

    A member id of one group is unknown in another.
    """
    ana = conversation.actor("ana", group_instance_id="seat")
    bob = conversation.actor("bob", group_instance_id="seat")
    other = conversation.group("other")
    ana.asks(ask.join_group(), error_code="NONE")
    ana.syncs_as_leader((ana,))
    bob.asks(ask.join_group(group_id=other), error_code="NONE")
    bob.asks(ask.sync_group(group_id=other, assignments=((bob.member_id, bob.part),)), error_code="NONE")

    ana.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.heartbeat(group_id=other), error_code="NONE")
    ana.asks(
        ask.heartbeat(group_id=other, group_instance_id=None, member_id=ana.member_id),
        error_code="UNKNOWN_MEMBER_ID",
    )
    ana.repeats(
        ask.describe_groups(groups=(other,)),
        until=expect.describe_groups(error_code="NONE", members=containing({"member_id": bob.member_id})),
    )


@scenario(
    "classic/identity/one-session-timeout-apart",
    source=JOINS,
    clauses=("JG-49",),
    broker_config=SHORT_SESSIONS,
)
def times_do_not_tell_members(conversation: Conversation) -> None:
    """Two members with one client id, of which one has another session timeout, keep their own times."""
    ana = conversation.actor("ana", client_id="replica")
    bob = conversation.actor("bob", client_id="replica")
    ana.obtains_member_id()
    ana.asks(ask.join_group(session_timeout_ms=30_000), error_code="NONE")
    ana.syncs_as_leader((ana,))
    bob.obtains_member_id()
    bob.sends(ask.join_group(session_timeout_ms=2_000))
    bob.stays_parked(for_ms=300)
    ana.asks(ask.join_group(session_timeout_ms=30_000), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))
    bob.sends(ask.sync_group())
    ana.syncs_as_leader((ana, bob))
    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))

    conversation.elapses(2_600)
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
