"""A rebalance of a running group: which members it waits for, how long, and what ends it."""

from harness.scenario import SHORT_SESSIONS, Conversation, ask, expect, in_any_order, scenario


@scenario(
    "classic/rebalance/deadline-is-the-longest-timeout",
    source="ClassicGroup#rebalanceTimeoutMs",
    clauses=("RB-10", "RB-12", "JG-07"),
)
def the_deadline_is_the_longest_timeout(conversation: Conversation) -> None:
    """A rebalance waits for the longest rebalance timeout of all its members, the newcomer included."""
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana, rebalance_timeout_ms=500)

    bob.sends(ask.join_group(version=3, rebalance_timeout_ms=2000))
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=2,
            leader=bob.member_id,
            members=({"member_id": bob.member_id},),
        ),
        due_ms=2000,
    )


@scenario(
    "classic/rebalance/later-joiner-does-not-extend",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("RB-11", "RB-12"),
)
def a_later_joiner_does_not_extend_the_deadline(conversation: Conversation) -> None:
    """A newcomer with a long rebalance timeout does not extend a rebalance that has begun."""
    ana, _ = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2000)
    ana.sends(ask.join_group(rebalance_timeout_ms=2000))
    carol = conversation.actor("carol")

    carol.sends(ask.join_group(version=3, rebalance_timeout_ms=20_000))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {}),
        ),
        due_ms=2000,
    )
    carol.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario(
    "classic/rebalance/absent-member-is-dropped",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("RB-12", "RB-13", "LD-02"),
)
def an_absent_member_is_dropped(conversation: Conversation) -> None:
    """A member that has not rejoined by the deadline is removed, and its id gets UNKNOWN_MEMBER_ID."""
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2000)

    ana.sends(ask.join_group(rebalance_timeout_ms=2000))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=ana.member_id,
            members=({"member_id": ana.member_id},),
        ),
        due_ms=2000,
    )

    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    bob.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=bob.member_id))


@scenario(
    "classic/rebalance/pending-id-holds-it",
    source="ClassicGroup#hasAllMembersJoined",
    clauses=("RB-19",),
)
def a_pending_id_delays_the_rebalance(conversation: Conversation) -> None:
    """A rebalance that all members have joined still waits for a pending member to join."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()

    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)
    bob.sends(ask.join_group())

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=2,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))


@scenario(
    "classic/rebalance/pending-id-leaves",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("RB-19", "LV-12"),
)
def a_leaving_pending_id_ends_the_rebalance(conversation: Conversation) -> None:
    """A rebalance that waits only for a pending member completes when that member leaves."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)

    bob.asks(ask.leave_group(), expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},)))

    ana.receives(
        expect.join_group(error_code="NONE", generation_id=2, members=({"member_id": ana.member_id},))
    )


@scenario(
    "classic/rebalance/pending-id-expires",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("RB-19", "JG-09"),
    broker_config=SHORT_SESSIONS,
)
def an_expiring_pending_id_ends_the_rebalance(conversation: Conversation) -> None:
    """A rebalance that waits only for a pending member completes when that member's session times out."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.asks(ask.join_group(session_timeout_ms=2000), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)

    ana.receives(expect.join_group(error_code="NONE", generation_id=2), due_ms=2000)
    bob.asks(ask.join_group(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/rebalance/pending-id-outlives-the-deadline",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("RB-20", "RB-19"),
)
def a_pending_id_outlives_the_deadline(conversation: Conversation) -> None:
    """At the deadline a rebalance completes without a pending member, which may still join later."""
    (ana,) = conversation.stable_group("ana", rebalance_timeout_ms=2000)
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    ana.sends(ask.join_group(rebalance_timeout_ms=2000))
    ana.receives(expect.join_group(error_code="NONE", generation_id=2), due_ms=2000)

    bob.sends(ask.join_group())
    ana.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/rebalance/missing-member-expires",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("RB-21", "HB-12"),
    broker_config=SHORT_SESSIONS,
)
def a_missing_member_expires(conversation: Conversation) -> None:
    """A rebalance that waits for one member completes when that member's session times out."""
    ana, bob = conversation.stable_group("ana", "bob", session_timeout_ms=2000)

    ana.sends(ask.join_group(session_timeout_ms=2000))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, members=({"member_id": ana.member_id},)),
        due_ms=2000,
    )

    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/rebalance/missing-member-leaves",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("RB-22", "LV-19"),
)
def a_missing_member_leaves(conversation: Conversation) -> None:
    """A rebalance that waits for one member completes when that member leaves."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)

    bob.asks(ask.leave_group(), error_code="NONE")

    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, members=({"member_id": ana.member_id},))
    )


@scenario(
    "classic/rebalance/missing-member-heartbeats",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("RB-23", "HB-02"),
    broker_config=SHORT_SESSIONS,
)
def a_missing_member_may_take_its_time(conversation: Conversation) -> None:
    """A rebalance waits beyond the session timeout for a member that sends heartbeats."""
    ana, bob = conversation.stable_group("ana", "bob", session_timeout_ms=1500)
    ana.sends(ask.join_group(session_timeout_ms=1500))

    for _ in range(3):
        conversation.elapses(800)
        bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.stays_parked(for_ms=100)
    bob.sends(ask.join_group(session_timeout_ms=1500))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/rebalance/generation-counts-on",
    source="ClassicGroup#initNextGeneration",
    clauses=("RB-25", "LV-02"),
)
def the_generation_counts_on_over_an_empty_group(conversation: Conversation) -> None:
    """Becoming Empty counts as a generation, and a group that is joined again continues the count."""
    ana, bob = conversation.actors("ana", "bob")
    ana.asks(ask.join_group(version=3), expect.join_group(error_code="NONE", generation_id=1))
    ana.asks(ask.leave_group(), error_code="NONE")

    bob.sends(ask.join_group(version=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=bob.member_id))


@scenario(
    "classic/rebalance/generation-begins-again",
    source="ClassicGroup#initNextGeneration",
    clauses=("RB-25",),
)
def the_generation_begins_again_after_a_deletion(conversation: Conversation) -> None:
    """A group that was deleted and is joined again starts at generation 1."""
    ana, bob = conversation.actors("ana", "bob")
    ana.asks(ask.join_group(version=3), expect.join_group(error_code="NONE", generation_id=1))
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    bob.sends(ask.join_group(version=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=1, leader=bob.member_id))
