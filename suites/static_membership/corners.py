"""Rare cases of static members: in the initial delay, before assignments, and while absent."""

from harness.scenario import ANY, ORDERS, SHORT_SESSIONS, Conversation, ask, expect, scenario

DELAY = {"group.initial.rebalance.delay.ms": "2000"}


@scenario(
    "static_membership/corner/restart-extends-no-delay",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("RB-06", "ST-17"),
    broker_config=DELAY,
)
def a_restart_does_not_extend_the_initial_delay(conversation: Conversation) -> None:
    """A static member that restarts within the initial rebalance delay does not extend it."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    again = conversation.actor("ana-again", group_instance_id="seat-a")
    ana.sends(ask.join_group())
    conversation.elapses(800)

    again.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="FENCED_INSTANCE_ID"))
    again.receives(
        expect.join_group(error_code="NONE", generation_id=1), not_before_ms=800, not_after_ms=1500
    )


@scenario(
    "static_membership/corner/restart-before-assignments",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-13",),
)
def a_restart_before_the_assignments(conversation: Conversation) -> None:
    """A follower that restarts while assignments are awaited triggers a rebalance since 2.5, not in 2.4."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    again = conversation.actor("bob-again", group_instance_id="seat-b")
    conversation.stable_group(ana, bob)
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    bob.receives(expect.join_group(error_code="NONE"))

    again.sends(ask.join_group())
    conversation.elapses(200)
    ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", leader=ana.member_id))
    again.receives(expect.join_group(error_code="NONE", members=()))


@scenario(
    "static_membership/corner/absent-member-limits-the-choice",
    source="ClassicGroup#selectProtocol",
    clauses=("PV-04", "RB-14"),
    broker_config=SHORT_SESSIONS,
)
def an_absent_member_limits_the_choice(conversation: Conversation) -> None:
    """A static member that misses a rebalance still counts: only a protocol that it supports is selected."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    both = (("roundrobin", ORDERS), ("range", ORDERS))
    conversation.stable_group(ana, bob, rebalance_timeout_ms=2000)

    ana.sends(ask.join_group(protocols=both, rebalance_timeout_ms=2000))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, protocol_name="range", members=({}, {})),
        due_ms=2000,
    )
