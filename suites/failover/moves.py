"""The coordinator moves to another broker while the former one lives on: nothing acknowledged is lost."""

from harness.scenario import ANY, Breakpoint, Capability, Conversation, ask, expect, in_any_order, scenario
from suites.failover.words import (
    LOADS,
    MOVES,
    NOT_OURS,
    UNLOADS,
    WITHIN_MS,
    commits,
    goes_on,
    has_committed,
    lives,
    moved,
    rebalancing,
    serves,
)


@scenario("failover/move/stable", source=LOADS, clauses=("PR-01", "LO-21"), needs=MOVES)
def a_stable_group_moves(conversation: Conversation) -> None:
    """After a move, a Stable group has its generation, members, leader and assignments."""
    ana, bob = conversation.stable_group("ana", "bob")
    moved(conversation, ana, bob)

    lives(ana)
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            group_state="Stable",
            protocol_data="range",
            members=in_any_order(
                {"member_id": ana.member_id, "client_id": "ana", "member_assignment": ana.part},
                {"member_id": bob.member_id, "client_id": "bob", "member_assignment": bob.part},
            ),
        ),
    )
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))


@scenario("failover/move/empty", source=LOADS, clauses=("PR-05",), needs=MOVES)
def an_empty_group_moves(conversation: Conversation) -> None:
    """After a move, an Empty group keeps its protocol type and continues to count generations."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    moved(conversation, ana)

    ana.repeats(
        ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type="consumer")
    )
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))


@scenario("failover/move/preparing-rebalance", source=UNLOADS, clauses=("PR-02", "PR-07"), needs=MOVES)
def a_join_that_is_parked_is_sent_on(conversation: Conversation) -> None:
    """On a move, a parked JoinGroup gets NOT_COORDINATOR; the new coordinator has no rebalance."""
    ana, bob = rebalancing(conversation)
    conversation.moves_coordinator()

    ana.receives(expect.join_group(error_code=NOT_OURS, member_id=ana.member_id))
    goes_on(bob, ana)
    lives(bob, 2)
    lives(ana, 2)


@scenario("failover/move/first-join", source=UNLOADS, clauses=("PR-03", "PR-07"), needs=MOVES)
def a_first_join_that_is_parked_is_sent_on(conversation: Conversation) -> None:
    """On a move, a newcomer's parked JoinGroup gets NOT_COORDINATOR; its id is then UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group())
    bob.stays_parked(for_ms=300)
    conversation.moves_coordinator()

    bob.receives(expect.join_group(error_code=NOT_OURS, member_id=bob.member_id))
    goes_on(ana, bob)
    lives(ana)
    bob.asks(ask.join_group(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "failover/move/completing-rebalance",
    source=UNLOADS,
    clauses=("PR-02", "PR-07", "SG-30"),
    needs=MOVES,
)
def a_sync_that_is_parked_is_sent_on(conversation: Conversation) -> None:
    """On a move, a parked SyncGroup gets NOT_COORDINATOR; the generation without assignments is gone."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.sends(ask.sync_group())
    bob.stays_parked(for_ms=300)
    conversation.moves_coordinator()

    bob.receives(expect.sync_group(error_code=NOT_OURS, assignment=b""))
    goes_on(ana, bob)
    ana.asks(ask.heartbeat(generation_id=3), error_code="ILLEGAL_GENERATION")
    lives(ana, 2)
    bob.asks(ask.sync_group(generation_id=2), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("failover/move/offsets", source="OffsetMetadataManager#replay", clauses=("PE-11",), needs=MOVES)
def offsets_move(conversation: Conversation) -> None:
    """Committed offsets survive each of two moves, and can be replaced in between."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    moved(conversation, ana)
    has_committed(ana, 7)
    commits(ana, 8)
    moved(conversation, ana)

    has_committed(ana, 8)
    lives(ana)


@scenario(
    "failover/move/static",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("ST-11", "PR-06"),
    needs=MOVES,
)
def static_members_move(conversation: Conversation) -> None:
    """After a move, a static member that rejoins with its instance id fences its former self."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    moved(conversation, ana, bob)

    lives(bob)
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.asks(ask.heartbeat(generation_id=2), error_code="FENCED_INSTANCE_ID")
    lives(bob_again)


@scenario(
    "failover/move/static-replacement",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("PR-06", "PE-09"),
    needs=MOVES,
)
def a_static_replacement_moves(conversation: Conversation) -> None:
    """After a move, a static member's successor is known since 2.6.1; before, the former one is."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    moved(conversation, ana, bob, bob_again)

    bob.asks(ask.heartbeat(generation_id=2), error_code=ANY)
    bob_again.asks(ask.heartbeat(generation_id=2), error_code=ANY)
    lives(ana)


@scenario("failover/move/pending-member", source=LOADS, clauses=("PR-04", "PE-08"), needs=MOVES)
def a_pending_member_does_not_move(conversation: Conversation) -> None:
    """After a move, a pending member id gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    moved(conversation, ana, bob)

    bob.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=bob.member_id))
    lives(ana)


@scenario("failover/move/back", source=UNLOADS, clauses=("PR-05",), needs=MOVES)
def a_former_coordinator_has_forgotten_what_it_knew(conversation: Conversation) -> None:
    """A coordinator that becomes one again has the newest state, and nothing of its former one."""
    ana, bob = conversation.stable_group("ana", "bob")
    commits(ana, 7)
    moved(conversation, ana, bob)
    commits(ana, 8)
    for actor in (bob, ana):
        actor.asks(ask.leave_group(), error_code="NONE")
    moved(conversation, ana)
    moved(conversation, ana, bob)

    has_committed(ana, 8)
    bob.asks(ask.heartbeat(generation_id=2), error_code="UNKNOWN_MEMBER_ID")
    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Empty", members=()))


@scenario(
    "failover/move/loading",
    source="CoordinatorRuntime#withActiveContextOrThrow",
    clauses=("LO-06", "CO-13"),
    needs=(Capability.CLUSTER, Capability.PAUSE_AT_LOADING),
)
def the_new_coordinator_loads_while_the_former_has_let_go(conversation: Conversation) -> None:
    """A new coordinator that loads answers COORDINATOR_LOAD_IN_PROGRESS, the former NOT_COORDINATOR."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.moves_coordinator()

    ana.repeats(ask.heartbeat(), until=expect.heartbeat(error_code=NOT_OURS), within_ms=WITHIN_MS)
    ana.disconnects()
    loading = "COORDINATOR_LOAD_IN_PROGRESS"
    ana.repeats(
        ask.offset_commit(topics={"orders": {0: 8}}),
        until=expect.offset_commit({"orders": {0: loading}}),
        within_ms=WITHIN_MS,
    )
    ana.asks(ask.heartbeat(), error_code="NONE")
    conversation.resumes_from(Breakpoint.LOADING)
    serves(ana)
    has_committed(ana, 7)
    lives(ana)
