"""Restarts of static members in a Stable group: a JoinGroup without member id for a used instance id."""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    ORDERS,
    ROUND_ROBIN,
    SHORT_SESSIONS,
    Conversation,
    ask,
    containing,
    expect,
    in_any_order,
    scenario,
    subscription,
)

REPLACES = "GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin"


@scenario("static_membership/restart/follower-keeps-generation", source=REPLACES, clauses=("ST-01", "ST-20"))
def a_restarted_follower_is_let_in_without_a_rebalance(conversation: Conversation) -> None:
    """A follower that restarts in a Stable group gets a new id in the same generation, without rebalance."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")

    bob_again.sends(ask.join_group())
    bob_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=bob.generation_id,
            protocol_name="range",
            leader=ana.member_id,
            member_id=NON_EMPTY,
            members=(),
        )
    )

    ana.asks(ask.heartbeat(), error_code="NONE")
    bob_again.asks(ask.heartbeat(), error_code="NONE")


@scenario("static_membership/restart/follower-may-not-skip", source="KIP-814", clauses=("ST-04", "LD-05"))
def a_restarted_follower_has_no_assignment_to_skip(conversation: Conversation) -> None:
    """A follower that restarts with JoinGroup v9 gets the current leader and skip_assignment false."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")

    bob_again.sends(ask.join_group(version=9))
    bob_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=bob.generation_id,
            protocol_type="consumer",
            leader=ana.member_id,
            skip_assignment=False,
            members=(),
        )
    )


@scenario("static_membership/restart/leader-is-told-its-dead-id", source=REPLACES, clauses=("ST-02",))
def a_restarted_leader_is_reported_its_dead_id(conversation: Conversation) -> None:
    """A leader that restarts with JoinGroup v5 gets its own former id as leader, and no members."""
    ana, _ = conversation.stable_group(conversation.actor("ana", group_instance_id="seat-a"), "bob")
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")

    ana_again.sends(ask.join_group(version=5))
    ana_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=ana.generation_id,
            leader=ana.member_id,
            member_id=NON_EMPTY,
            members=(),
        )
    )

    ana_again.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=ana.part))


@scenario("static_membership/restart/leader-skips-assignment", source="KIP-814", clauses=("ST-05",))
def a_restarted_leader_skips_the_assignment(conversation: Conversation) -> None:
    """A leader that restarts with JoinGroup v9 leads with its new id, gets all members, skips assigning."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")

    ana_again.sends(ask.join_group(version=9))
    ana_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=ana.generation_id,
            leader=ana_again.member_id,
            skip_assignment=True,
            members=in_any_order(
                {"member_id": ana_again.member_id, "group_instance_id": "seat-a", "metadata": ORDERS},
                {"member_id": bob.member_id, "group_instance_id": "seat-b", "metadata": ORDERS},
            ),
        )
    )

    bob.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/restart/inherits-assignment",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("ST-06",),
)
def a_restarted_leader_inherits_its_assignment(conversation: Conversation) -> None:
    """A restarted leader gets its former assignment; the assignments in its SyncGroup are ignored."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    ana_again.asks(ask.join_group(), error_code="NONE")

    ana_again.sends(
        ask.sync_group(assignments=((ana_again.member_id, b"all of it"), (bob.member_id, b"nothing")))
    )
    ana_again.receives(expect.sync_group(error_code="NONE", assignment=ana.part))

    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("static_membership/restart/changed-subscription", source=REPLACES, clauses=("ST-09",))
def a_changed_subscription_does_not_rebalance(conversation: Conversation) -> None:
    """A follower that restarts with another subscription to the same protocol triggers no rebalance."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    payments = subscription("payments")

    bob_again.sends(ask.join_group(protocols=(("range", payments),)))
    bob_again.receives(expect.join_group(error_code="NONE", generation_id=bob.generation_id))

    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            group_state="Stable",
            members=containing(
                {
                    "member_id": bob_again.member_id,
                    "member_metadata": payments,
                    "member_assignment": bob.part,
                }
            ),
        ),
    )


@scenario("static_membership/restart/changed-protocol", source=REPLACES, clauses=("ST-10",))
def a_restart_that_changes_the_selected_protocol_is_let_in(conversation: Conversation) -> None:
    """A follower whose restart drops the selected protocol is admitted, at the latest when it is alone.

    Since 2.6.1 such a restart triggers a rebalance, which the leader learns from its heartbeat; earlier
    releases answer at once and leave the group as it is.
    """
    both = (("range", ORDERS), ("roundrobin", ORDERS))
    ana, _ = conversation.stable_group(
        "ana", conversation.actor("bob", group_instance_id="seat-b"), protocols=both
    )
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")

    bob_again.sends(ask.join_group(protocols=ROUND_ROBIN))
    ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.leave_group(), error_code="NONE")

    bob_again.receives(expect.join_group(error_code="NONE", member_id=NON_EMPTY))


@scenario("static_membership/restart/twice", source=REPLACES, clauses=("ST-07", "ST-20"))
def every_restart_fences_all_former_ids(conversation: Conversation) -> None:
    """After two restarts of a static member only the latest id is valid; both former ones are fenced."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    second = conversation.actor("bob-second", group_instance_id="seat-b")
    third = conversation.actor("bob-third", group_instance_id="seat-b")
    second.asks(ask.join_group(), error_code="NONE")
    third.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=bob.generation_id))

    bob.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")
    second.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")
    third.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/restart/shorter-session",
    source="ClassicGroup#updateMember",
    clauses=("ST-28",),
    broker_config=SHORT_SESSIONS,
)
def a_restart_may_bring_a_shorter_session(conversation: Conversation) -> None:
    """A follower may restart with a shorter session timeout; since 3.3.2 the new one applies."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")

    bob_again.sends(ask.join_group(session_timeout_ms=1_000))
    bob_again.receives(expect.join_group(error_code="NONE", generation_id=bob.generation_id))
    ana.asks(ask.heartbeat(), error_code="NONE")
    conversation.elapses(1_800)

    bob_again.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "static_membership/restart/after-session-expired",
    source="ClassicGroup#remove",
    clauses=("ST-22", "HB-12"),
    broker_config=SHORT_SESSIONS,
)
def an_expired_static_member_is_unknown_and_not_fenced(conversation: Conversation) -> None:
    """After its session timed out, a static member gets UNKNOWN_MEMBER_ID with and without instance id."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    ana.asks(ask.join_group(session_timeout_ms=2_000), expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))
    ana.asks(ask.heartbeat(), error_code="NONE")

    conversation.elapses(2_600)

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(group_instance_id=None), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "static_membership/restart/into-empty-group",
    source="GroupMetadataManager#classicGroupJoinNewStaticMember",
    clauses=("ST-21", "LV-02"),
)
def a_seat_in_an_empty_group_is_taken_anew(conversation: Conversation) -> None:
    """A static member that left and comes back joins as a new member, two generations later."""
    (ana,) = conversation.stable_group(conversation.actor("ana", group_instance_id="seat-a"))
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana_again.sends(ask.join_group())
    ana_again.receives(
        expect.join_group(error_code="NONE", generation_id=ana.generation_id + 2, leader=ana_again.member_id)
    )

    ana.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")
