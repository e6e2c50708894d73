"""Static members in a rebalance: replacement during it, and members that stay without rejoining."""

from harness.scenario import (
    NON_EMPTY,
    Actor,
    Conversation,
    ask,
    expect,
    in_any_order,
    scenario,
    subscription,
)

REPLACES = "GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin"
COMPLETES = "GroupMetadataManager#completeClassicGroupJoin"
CHANGED = (("range", subscription("orders", "payments")),)


def _hasty_group(conversation: Conversation) -> tuple[Actor, Actor]:
    """Form a group of two static members, the first its leader, whose rebalances last at most 1500 ms."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    ana.asks(ask.join_group(rebalance_timeout_ms=1_500), error_code="NONE")
    ana.syncs_as_leader((ana,))
    bob.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.receives(expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))
    ana.syncs_as_leader((ana, bob))
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    return ana, bob


@scenario("static_membership/rebalance/restart-while-syncing", source=REPLACES, clauses=("ST-14", "JG-08"))
def a_parked_sync_is_fenced_by_a_restart(conversation: Conversation) -> None:
    """When a follower restarts while its SyncGroup is parked, that SyncGroup gets FENCED_INSTANCE_ID.

    Since 2.5 the restart also triggers a rebalance; 2.4 answers it at once.
    """
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.sends(ask.sync_group())

    bob_again.sends(ask.join_group())
    bob.receives(expect.sync_group(error_code="FENCED_INSTANCE_ID", assignment=b""))

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", leader=ana.member_id))
    bob_again.receives(expect.join_group(error_code="NONE", leader=ana.member_id, members=()))


@scenario("static_membership/rebalance/restart-while-joining", source=REPLACES, clauses=("ST-15",))
def a_parked_join_is_fenced_by_a_restart(conversation: Conversation) -> None:
    """When a follower restarts while its JoinGroup is parked, the old one is fenced and the new parked."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob.sends(ask.join_group(protocols=CHANGED))
    bob.stays_parked(for_ms=200)

    bob_again.sends(ask.join_group(protocols=CHANGED))
    bob.receives(expect.join_group(error_code="FENCED_INSTANCE_ID", member_id=bob.member_id))
    bob_again.stays_parked(for_ms=300)

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))
    bob_again.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario("static_membership/rebalance/restart-counts-as-rejoining", source=REPLACES, clauses=("ST-16",))
def a_restart_completes_the_join_phase(conversation: Conversation) -> None:
    """A restarted static member counts as rejoined: if only it was missing, the rebalance completes."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)

    bob_again.sends(ask.join_group())
    bob_again.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob_again.member_id}),
        )
    )

    bob.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")


@scenario(
    "static_membership/rebalance/restart-in-initial-delay",
    source=REPLACES,
    clauses=("ST-17", "RB-01"),
    broker_config={"group.initial.rebalance.delay.ms": "2000"},
)
def a_restart_in_the_initial_delay_replaces_the_first_join(conversation: Conversation) -> None:
    """Of two joins with one instance id in the initial rebalance delay, the first is fenced at once."""
    bob = conversation.actor("bob", group_instance_id="seat-b")
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob.sends(ask.join_group())

    bob_again.sends(ask.join_group())
    bob.receives(expect.join_group(error_code="FENCED_INSTANCE_ID", member_id=NON_EMPTY))
    bob_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            leader=bob_again.member_id,
            members=({"member_id": bob_again.member_id, "group_instance_id": "seat-b"},),
        )
    )


@scenario("static_membership/rebalance/absent-follower-is-kept", source=COMPLETES, clauses=("RB-14", "RB-15"))
def an_absent_static_follower_is_kept(conversation: Conversation) -> None:
    """A static member that does not rejoin in time stays, but must use the new generation."""
    ana, bob = _hasty_group(conversation)

    ana.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        ),
        due_ms=1_500,
    )
    ana.syncs_as_leader((ana, bob))

    bob.asks(ask.heartbeat(generation_id=2), error_code="ILLEGAL_GENERATION")
    bob.asks(ask.heartbeat(generation_id=3), error_code="NONE")


@scenario(
    "static_membership/rebalance/absent-follower-may-sync", source=COMPLETES, clauses=("SG-31", "RB-14")
)
def an_absent_static_follower_may_sync(conversation: Conversation) -> None:
    """A static member that did not rejoin can still sync in the new generation."""
    ana, bob = _hasty_group(conversation)
    ana.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3), due_ms=1_500)

    bob.sends(ask.sync_group(generation_id=3))
    bob.stays_parked(for_ms=200)
    ana.syncs_as_leader((ana, bob))
    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("static_membership/rebalance/absent-leader-is-succeeded", source=COMPLETES, clauses=("RB-16",))
def an_absent_static_leader_is_succeeded(conversation: Conversation) -> None:
    """When a static leader does not rejoin in time, another member leads, and it stays a member."""
    ana, bob = _hasty_group(conversation)

    bob.sends(ask.join_group(rebalance_timeout_ms=1_500, protocols=CHANGED))
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=bob.member_id,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        ),
        due_ms=1_500,
    )

    bob.syncs_as_leader((ana, bob))
    ana.asks(ask.sync_group(generation_id=3), expect.sync_group(error_code="NONE", assignment=ana.part))


@scenario(
    "static_membership/rebalance/nobody-rejoined",
    source=COMPLETES,
    clauses=("RB-17", "RB-18", "LV-16"),
)
def a_rebalance_that_nobody_joined_is_prolonged(conversation: Conversation) -> None:
    """If no member rejoins in time, the rebalance continues in the old generation until one does."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    ana_again = conversation.actor("ana-again", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    ana.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))
    bob.sends(ask.join_group(rebalance_timeout_ms=1_500))
    bob.aside.asks(ask.leave_group(members=(("", "seat-b"),)), error_code="NONE")
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=""))

    conversation.elapses(2_500)
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")

    ana_again.sends(ask.join_group(rebalance_timeout_ms=1_500))
    ana_again.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=2,
            leader=ana_again.member_id,
            member_id=NON_EMPTY,
            members=({"member_id": ana_again.member_id},),
        )
    )


@scenario(
    "static_membership/rebalance/restart-in-full-group",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-12", "MX-02"),
    broker_config={"group.max.size": "2"},
)
def a_full_group_lets_no_static_member_restart(conversation: Conversation) -> None:
    """A static member that restarts in a full group gets GROUP_MAX_SIZE_REACHED; its old id stays valid."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")

    bob_again.asks(ask.join_group(), expect.join_group(error_code="GROUP_MAX_SIZE_REACHED", member_id=""))

    bob.asks(ask.heartbeat(), error_code="NONE")
