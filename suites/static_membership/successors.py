"""Static members that restart: what happens afterwards, and to those that are refused."""

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, scenario

REPLACES = "GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin"


@scenario(
    "static_membership/successor/falls-silent",
    source=REPLACES,
    clauses=("HB-12",),
    broker_config=SHORT_SESSIONS,
)
def a_successor_that_falls_silent_is_dropped(conversation: Conversation) -> None:
    """A static member that restarts in a Stable group has a session, and is removed when it times out."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    ana.asks(ask.join_group(session_timeout_ms=1_500), expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))
    ana_again.sends(ask.join_group(session_timeout_ms=1_500))
    ana_again.receives(expect.join_group(error_code="NONE", generation_id=1))

    conversation.elapses(2_400)
    ana_again.sends(ask.describe_groups())
    ana_again.receives(expect.describe_groups(error_code="NONE", group_state="Empty", members=()))


@scenario(
    "static_membership/successor/of-a-new-member",
    source="ClassicGroup#replaceStaticMember",
    clauses=("ST-18",),
    broker_config={"group.initial.rebalance.delay.ms": "2000"} | SHORT_SESSIONS,
)
def the_successor_of_a_new_member(conversation: Conversation) -> None:
    """The session of a static member that restarts during the initial delay may time out meanwhile.

    The Scala coordinator runs a new member's session while its JoinGroup is parked, and treats the
    successor as new like its predecessor; the Java one does not.
    """
    ana = conversation.actor("ana", group_instance_id="seat-a")
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    ana.sends(ask.join_group(session_timeout_ms=400))

    ana_again.sends(ask.join_group(session_timeout_ms=400))
    ana.receives(expect.join_group(error_code="FENCED_INSTANCE_ID"))
    ana_again.receives(expect.join_group(error_code=ANY))

    conversation.elapses(2_500)
    ana_again.sends(ask.describe_groups())
    ana_again.receives(expect.describe_groups(error_code="NONE", group_state=ANY, members=ANY))


@scenario(
    "static_membership/successor/nobody-rejoined-twice",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("RB-17",),
)
def a_rebalance_is_prolonged_by_its_timeout(conversation: Conversation) -> None:
    """A rebalance that no member joined continues for one more rebalance timeout."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    conversation.stable_group(ana, bob, rebalance_timeout_ms=1_500)
    carol = conversation.actor("carol")
    carol.obtains_member_id()
    carol.sends(ask.join_group(rebalance_timeout_ms=1_500))
    carol.aside.asks(ask.leave_group(), error_code="NONE")
    carol.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID"))

    conversation.elapses(1_900)
    ana.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.receives(
        expect.join_group(error_code="NONE", leader=ana.member_id), not_before_ms=600, not_after_ms=1_450
    )


@scenario(
    "static_membership/successor/refused-for-the-size",
    source="GroupCoordinator#handleJoinGroup",
    clauses=("MX-02", "MX-03"),
    broker_config={"group.max.size": "2"},
)
def a_refused_restart_and_the_seat(conversation: Conversation) -> None:
    """A static member whose restart a full group refuses stays since 2.8.0, not before."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    conversation.stable_group(ana, "bob")
    ana_again.asks(ask.join_group(), error_code="GROUP_MAX_SIZE_REACHED")

    ana.asks(ask.leave_group(members=(("", "seat-a"),)), error_code="NONE")
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", members=ANY))


@scenario(
    "static_membership/successor/pending-id-leaves-another-seat",
    source="GroupCoordinator#handleLeaveGroup",
    clauses=("LV-13",),
)
def a_pending_id_leaves_with_the_seat_of_another(conversation: Conversation) -> None:
    """A pending member may leave with another's instance id since 3.0; before, it was fenced."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    eve = conversation.actor("eve")
    conversation.stable_group(ana)
    eve.obtains_member_id()

    eve.asks(ask.leave_group(members=((eve.member_id, "seat-a"),)), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "static_membership/successor/pending-id-with-instance-v7",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-13",),
)
def a_pending_id_may_not_become_static_in_v7(conversation: Conversation) -> None:
    """A pending member that sends an instance id in JoinGroup v7 gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(version=7), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group(version=7, group_instance_id="seat-a"))
    ana.receives(expect.join_group(error_code="UNKNOWN_SERVER_ERROR", member_id=""))


@scenario(
    "static_membership/successor/syncs-in-vain",
    source="GroupMetadataManager#expirePendingSync",
    clauses=("SG-23", "ST-29"),
)
def a_successor_that_syncs_in_vain(conversation: Conversation) -> None:
    """A static member that restarts before it has synced is awaited under its old id, which nobody has.

    So a rebalance starts at the sync deadline, although all have synced. This is so since 2.8.1.
    """
    ana = conversation.actor("ana")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    conversation.stable_group(ana, bob, rebalance_timeout_ms=3_000)
    ana.sends(ask.join_group(rebalance_timeout_ms=3_000))
    bob.sends(ask.join_group(rebalance_timeout_ms=3_000))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.syncs_as_leader((ana, bob))

    bob_again.asks(
        ask.join_group(rebalance_timeout_ms=3_000), expect.join_group(error_code="NONE", generation_id=3)
    )
    bob_again.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    conversation.elapses(1_700)
    ana.asks(ask.heartbeat(), error_code="NONE")
    conversation.elapses(1_600)

    ana.asks(ask.heartbeat(), error_code=ANY)
    bob_again.asks(ask.heartbeat(), error_code=ANY)
