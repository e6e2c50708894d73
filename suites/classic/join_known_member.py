"""JoinGroup with a member id: which ids are known, and which rejoins start a rebalance."""

from harness.scenario import (
    ANY,
    ORDERS,
    SHORT_SESSIONS,
    Conversation,
    ask,
    expect,
    in_any_order,
    scenario,
    subscription,
)

BOTH = (("range", ORDERS), ("roundrobin", ORDERS))
BOTH_TURNED_ROUND = (("roundrobin", ORDERS), ("range", ORDERS))
OTHER_TOPIC = (("range", subscription("payments")),)


@scenario(
    "classic/join/stranger-in-a-stable-group",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-30",),
)
def a_stranger_is_unknown(conversation: Conversation) -> None:
    """A JoinGroup with an id that the coordinator did not create gets UNKNOWN_MEMBER_ID and that id back."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.sends(ask.join_group(member_id="nobody"))
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="nobody", members=()))

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/join/leaver-returns-to-an-empty-group",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-31", "JG-48"),
)
def an_id_is_not_revived_in_an_empty_group(conversation: Conversation) -> None:
    """After the last member has left, a JoinGroup with its id to the Empty group gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario(
    "classic/join/leaver-returns-to-a-rebalance",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-48", "JG-30"),
)
def an_id_is_not_revived_in_a_rebalance(conversation: Conversation) -> None:
    """A member that has left a group of several gets UNKNOWN_MEMBER_ID when it rejoins with its old id."""
    ana, bob = conversation.stable_group("ana", "bob")
    bob.asks(ask.leave_group(), error_code="NONE")

    bob.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=bob.member_id))

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", members=({"member_id": ana.member_id},)))


@scenario(
    "classic/join/unchanged-follower",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-33",),
)
def an_unchanged_follower_is_answered_without_a_rebalance(conversation: Conversation) -> None:
    """A follower that repeats its JoinGroup in a Stable group gets the current generation at once."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.join_group())
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=ana.generation_id,
            protocol_name="range",
            leader=ana.member_id,
            member_id=bob.member_id,
            members=(),
        )
    )

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/join/follower-with-other-metadata",
    source="ClassicGroupMember#matches",
    clauses=("JG-34",),
)
def a_follower_with_other_metadata_starts_a_rebalance(conversation: Conversation) -> None:
    """A follower that rejoins with other metadata is parked until the others have rejoined."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.join_group(protocols=OTHER_TOPIC))
    bob.stays_parked(for_ms=300)
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.sends(ask.join_group())

    ana.receives(
        expect.join_group(
            error_code="NONE",
            members=in_any_order(
                {"member_id": ana.member_id, "metadata": ORDERS},
                {"member_id": bob.member_id, "metadata": subscription("payments")},
            ),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=ana.generation_id))


@scenario(
    "classic/join/follower-with-protocols-reordered",
    source="ClassicGroupMember#matches",
    clauses=("JG-34", "JG-38"),
)
def a_follower_with_protocols_reordered_starts_a_rebalance(conversation: Conversation) -> None:
    """A follower that rejoins with its protocols in another order is parked: the order is a change."""
    ana, bob = conversation.stable_group("ana", "bob", protocols=BOTH)

    bob.sends(ask.join_group(protocols=BOTH_TURNED_ROUND))
    bob.stays_parked(for_ms=300)

    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")


@scenario(
    "classic/join/unchanged-leader",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-35", "LD-02"),
)
def an_unchanged_leader_starts_a_rebalance(conversation: Conversation) -> None:
    """A leader that repeats its JoinGroup in a Stable group is parked, and leads the next generation."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)
    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    bob.sends(ask.join_group())

    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id, members=()))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario(
    "classic/join/lone-leader",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-41",),
)
def a_lone_leader_waits_for_nobody(conversation: Conversation) -> None:
    """A lone member that rejoins a Stable group gets the next generation at once."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))


@scenario(
    "classic/join/again-before-assignments",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-36", "LD-04"),
)
def a_join_may_be_repeated_before_the_assignments(conversation: Conversation) -> None:
    """A JoinGroup repeated while assignments are awaited is answered at once; the leader gets all members."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    ana.sends(ask.join_group())
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.sends(ask.join_group())
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id, members=()))


@scenario(
    "classic/join/changed-before-assignments",
    source="GroupMetadataManager#updateMemberThenRebalanceOrCompleteJoin",
    clauses=("JG-37", "JG-08"),
)
def a_change_before_the_assignments_starts_over(conversation: Conversation) -> None:
    """A member that changes its metadata while assignments are awaited ends the others' parked SyncGroups."""
    ana, bob, carol = conversation.stable_group("ana", "bob", "carol")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    carol.sends(ask.join_group())
    for actor in (ana, bob, carol):
        actor.receives(expect.join_group(error_code="NONE", generation_id=3))
    carol.sends(ask.sync_group())

    bob.sends(ask.join_group(protocols=OTHER_TOPIC))

    carol.receives(expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))
    bob.stays_parked(for_ms=300)


@scenario(
    "classic/join/rejoin-with-a-shorter-session",
    source="ClassicGroup#updateMember",
    clauses=("JG-42",),
    broker_config=SHORT_SESSIONS,
)
def a_rejoin_may_shorten_the_session(conversation: Conversation) -> None:
    """A member may rejoin with a shorter session timeout; it is applied since 3.3.2."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.join_group(session_timeout_ms=500), expect.join_group(error_code="NONE", generation_id=2))
    ana.syncs_as_leader((ana,))
    conversation.elapses(1200)

    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "classic/join/unchanged-follower-with-other-timeouts",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-43",),
    broker_config=SHORT_SESSIONS,
)
def an_unchanged_follower_keeps_its_timeouts(conversation: Conversation) -> None:
    """An unchanged follower that requests a shorter session timeout keeps its former one."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.join_group(session_timeout_ms=500))
    bob.receives(expect.join_group(error_code="NONE", generation_id=ana.generation_id))
    conversation.elapses(1200)

    bob.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/join/joins-keep-no-session-alive",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-44", "HB-12"),
    broker_config=SHORT_SESSIONS,
)
def unchanged_joins_keep_no_session_alive(conversation: Conversation) -> None:
    """A follower that only repeats its JoinGroup is removed when its session times out."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(session_timeout_ms=1500))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))
    ana.syncs_as_leader((ana, bob))
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))

    conversation.elapses(900)
    bob.asks(ask.join_group(session_timeout_ms=1500), expect.join_group(error_code="NONE", generation_id=2))
    conversation.elapses(1100)

    bob.sends(ask.join_group(session_timeout_ms=1500))
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=bob.member_id))
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")


@scenario(
    "classic/join/disconnect-while-parked",
    source="ClassicGroup#completeJoinFuture",
    clauses=("JG-28", "CX-02", "JG-36"),
)
def a_disconnect_while_parked_changes_nothing(conversation: Conversation) -> None:
    """A newcomer whose connection closes while its JoinGroup is parked still becomes a member."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group())
    bob.disconnects()

    ana.sends(ask.join_group())
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=2,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )

    bob.aside.sends(ask.join_group())
    bob.aside.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))
