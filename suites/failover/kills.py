"""The coordinator's broker is killed and another takes over: nothing acknowledged is lost."""

from harness.scenario import ANY, Capability, Conversation, ask, expect, scenario
from suites.failover.words import KILLS, LOADS, commits, has_committed, killed, lives, rebalancing, serves


@scenario("failover/kill/stable", source=LOADS, clauses=("PR-01",), needs=KILLS)
def a_stable_group_outlives_its_coordinator(conversation: Conversation) -> None:
    """After a kill, members of a Stable group continue with their generation and assignments."""
    ana, bob = conversation.stable_group("ana", "bob")
    killed(conversation, ana)

    lives(ana)
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))


@scenario("failover/kill/empty", source=LOADS, clauses=("PR-05",), needs=KILLS)
def an_empty_group_outlives_its_coordinator(conversation: Conversation) -> None:
    """After a kill, an Empty group continues to count its generations."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    killed(conversation, ana)

    ana.repeats(
        ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type="consumer")
    )
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))


@scenario("failover/kill/preparing-rebalance", source=LOADS, clauses=("PR-02",), needs=KILLS)
def a_prepared_rebalance_dies_with_the_coordinator(conversation: Conversation) -> None:
    """After a kill, a group that prepared a rebalance is Stable in the generation before."""
    ana, bob = rebalancing(conversation)
    killed(conversation, bob)
    ana.disconnects()

    lives(bob, 2)
    lives(ana, 2)


@scenario("failover/kill/completing-rebalance", source=LOADS, clauses=("PR-02",), needs=KILLS)
def an_unassigned_generation_dies_with_the_coordinator(conversation: Conversation) -> None:
    """After a kill, a generation without assignments is gone; the one before it is back."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    killed(conversation, ana)

    ana.asks(ask.heartbeat(generation_id=3), error_code="ILLEGAL_GENERATION")
    lives(ana, 2)
    bob.asks(ask.sync_group(generation_id=2), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("failover/kill/offsets", source="OffsetMetadataManager#replay", clauses=("PE-11",), needs=KILLS)
def offsets_outlive_their_coordinator(conversation: Conversation) -> None:
    """After a kill, the offset that was acknowledged last is still there."""
    (ana,) = conversation.stable_group("ana")
    for offset in range(1, 9):
        commits(ana, offset)
    killed(conversation, ana)

    has_committed(ana, 8)
    lives(ana)


@scenario(
    "failover/kill/static",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-11", "PR-06"),
    needs=KILLS,
)
def static_members_outlive_their_coordinator(conversation: Conversation) -> None:
    """After a kill, a static member can rejoin with its instance id and fences its former self."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    killed(conversation, ana)

    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.asks(ask.heartbeat(generation_id=2), error_code="FENCED_INSTANCE_ID")
    lives(bob_again)


@scenario(
    "failover/kill/static-replacement",
    source="KAFKA-10284",
    clauses=("PR-06", "PE-09"),
    needs=KILLS,
)
def a_static_replacement_outlives_its_coordinator(conversation: Conversation) -> None:
    """After a kill, a static member's successor is still in place since 2.6.1; before, the former one is."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    killed(conversation, ana)

    bob.asks(ask.heartbeat(generation_id=2), error_code=ANY)
    bob_again.asks(ask.heartbeat(generation_id=2), error_code=ANY)
    lives(ana)


@scenario(
    "failover/kill/moved-before",
    source=LOADS,
    clauses=("PR-01",),
    needs=(Capability.CLUSTER, Capability.KILL),
)
def a_group_that_moved_outlives_its_second_coordinator(conversation: Conversation) -> None:
    """What a coordinator and its successor acknowledged survives both a move and a kill."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    conversation.moves_coordinator()
    ana.disconnects()
    serves(ana)
    commits(ana, 8)
    killed(conversation, ana)

    has_committed(ana, 8)
    lives(ana)


@scenario(
    "failover/restart/over-full",
    source="GroupMetadataManager#onLoaded",
    clauses=("PR-08", "MX-11"),
    needs=(Capability.RESTART,),
)
def a_group_that_outgrew_the_limit_rebalances(conversation: Conversation) -> None:
    """A group larger than a group.max.size lowered at a restart rebalances as soon as it is loaded."""
    ana, bob = conversation.stable_group("ana", "bob")
    conversation.restarts_coordinator({"group.max.size": 1})
    serves(ana)

    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    for actor in (ana, bob):
        actor.sends(ask.join_group())
        actor.may_receive(expect.join_group(error_code=ANY), within_ms=500)
