"""The coordinator's broker loses its network and runs on; another takes over, and the first comes back."""

from harness.scenario import Actor, Capability, Conversation, ask, expect, scenario
from suites.failover.words import (
    DISCONNECTS,
    LOADS,
    NOT_OURS,
    UNLOADS,
    WITHIN_MS,
    commits,
    disconnected,
    has_committed,
    is_answered_alike_by_every_api,
    lives,
    moved,
    rebalancing,
)

_SESSION_MS = 15_000
"""Ends while the broker has no network, but not while it comes back, which may take ten seconds."""


def _reconnected(conversation: Conversation, *actors: Actor) -> None:
    """Reconnect the broker, and let actors wait until it answers that it is no longer the coordinator."""
    conversation.reconnects_coordinator()
    for actor in actors:
        actor.formerly.repeats(
            ask.heartbeat(), until=expect.heartbeat(error_code=NOT_OURS), within_ms=WITHIN_MS
        )


@scenario("failover/disconnect/stable", source=LOADS, clauses=("PR-01", "PE-11"), needs=DISCONNECTS)
def a_stable_group_goes_on_without_its_coordinator(conversation: Conversation) -> None:
    """Members and committed offsets are on the new coordinator, also after the former one is back."""
    ana, bob = conversation.stable_group("ana", "bob")
    commits(ana, 7)
    disconnected(conversation, ana)

    lives(ana)
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    has_committed(ana, 7)
    commits(bob, 8)
    _reconnected(conversation, ana, bob)
    has_committed(ana, 8)
    lives(ana)
    lives(bob)


@scenario(
    "failover/disconnect/static",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-11", "PR-06"),
    needs=DISCONNECTS,
)
def a_static_member_restarts_while_its_coordinator_is_away(conversation: Conversation) -> None:
    """An instance id that a static member took over at the new coordinator stays its own afterwards."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    disconnected(conversation, ana)

    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    _reconnected(conversation, bob, bob_again)
    bob.asks(ask.heartbeat(generation_id=2), error_code="FENCED_INSTANCE_ID")
    lives(bob_again)
    lives(ana)


@scenario("failover/disconnect/preparing-rebalance", source=LOADS, clauses=("PR-02",), needs=DISCONNECTS)
def a_parked_join_stays_behind(conversation: Conversation) -> None:
    """A JoinGroup parked at the lost coordinator is not answered; the new one has no rebalance."""
    ana, bob = rebalancing(conversation)
    disconnected(conversation, bob)
    ana.disconnects()

    lives(bob, 2)
    lives(ana, 2)
    _reconnected(conversation, bob)
    lives(bob, 2)
    lives(ana, 2)
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))


@scenario("failover/disconnect/completing-rebalance", source=LOADS, clauses=("PR-02",), needs=DISCONNECTS)
def a_parked_sync_stays_behind(conversation: Conversation) -> None:
    """The new coordinator does not know a generation that had no assignment yet."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.sends(ask.sync_group())
    bob.stays_parked(for_ms=100)
    disconnected(conversation, ana)
    bob.disconnects()

    ana.asks(ask.heartbeat(generation_id=3), error_code="ILLEGAL_GENERATION")
    lives(bob, 2)
    _reconnected(conversation, ana)
    bob.asks(ask.sync_group(generation_id=2), expect.sync_group(error_code="NONE", assignment=bob.part))
    lives(ana, 2)


@scenario(
    "failover/disconnect/back-again", source=UNLOADS, clauses=("CO-07", "CO-09", "LG-14"), needs=DISCONNECTS
)
def a_coordinator_that_comes_back_has_nothing(conversation: Conversation) -> None:
    """A broker that comes back answers NOT_COORDINATOR to every API, and lists no group."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    disconnected(conversation, ana)
    _reconnected(conversation, ana)

    is_answered_alike_by_every_api(ana.formerly)
    ana.formerly.asks(ask.list_groups(), expect.list_groups(error_code="NONE", groups=()))
    has_committed(ana, 7)
    lives(ana)


@scenario(
    "failover/disconnect/unheard-commit",
    source="UnifiedLog#truncateTo",
    clauses=("PE-11",),
    needs=(*DISCONNECTS, Capability.PAUSE),
)
def what_no_follower_heard_of_is_not_there(conversation: Conversation) -> None:
    """An offset that a coordinator wrote without a network is gone when it is coordinator again."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    conversation.pauses_coordinator()
    ana.sends(ask.offset_commit(topics={"orders": {0: 9}}))
    conversation.disconnects_coordinator()
    conversation.resumes_coordinator()
    ana.disconnects()
    has_committed(ana, 7)
    _reconnected(conversation, ana)

    # From the second broker to the third, and then back to the first.
    moved(conversation, ana)
    moved(conversation, ana)
    has_committed(ana, 7)
    lives(ana)


@scenario("failover/disconnect/expired", source=UNLOADS, clauses=("PR-01", "PE-11"), needs=DISCONNECTS)
def what_expired_without_a_network_did_not_happen(conversation: Conversation) -> None:
    """Sessions that time out at a coordinator without a network have no effect after it is back."""
    (ana,) = conversation.stable_group("ana", session_timeout_ms=_SESSION_MS)
    commits(ana, 7)
    disconnected(conversation, ana)
    for _ in range(3):
        lives(ana)
        conversation.elapses(_SESSION_MS * 2 // 5)

    lives(ana)
    _reconnected(conversation, ana)
    lives(ana)
    has_committed(ana, 7)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))
