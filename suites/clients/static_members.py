"""Members with an instance id of their own (KIP-345)."""

from harness.clients.language import RANGE, Play, TestClient, assigned, client_script, revoked
from suites.clients.assignments import both_at_rest, settles_shared

_LONG_SESSION_MS = 60_000
_SHORT_SESSION_MS = 6000
_HEARTBEATS_MS = 2500
"""Within this time a heartbeat shows a member that it is fenced, or its commit gets another error."""


def _member(play: Play, name: str, instance: str, session_timeout_ms: int = _LONG_SESSION_MS) -> TestClient:
    return play.client(
        name,
        assignor=RANGE,
        auto_offset_reset="earliest",
        group_remote_assignor=RANGE,
        group_instance_id=instance,
        session_timeout_ms=session_timeout_ms,
    )


@client_script("clients/static/crashes-and-returns", source="GroupCoordinator#updateStaticMemberAndRebalance")
def crashes_and_returns(play: Play) -> None:
    """A static member that returns from a crash in time gets its partitions back without a rebalance."""
    orders = play.topic("orders", partitions=4)
    ana, bob = _member(play, "ana", "one"), _member(play, "bob", "two")
    back = _member(play, "bob-is-back", "two")

    both_at_rest(play, orders, ana, bob)
    bob.crashes()
    back.subscribes(orders)

    settles_shared(play, {ana: [orders], back: [orders]}, callbacks={ana: [], back: [assigned(2)]})


@client_script(
    "clients/static/closes-and-returns",
    source="AbstractCoordinator#maybeLeaveGroup (KIP-345)",
    consumer_source="GroupMetadataManager#consumerGroupStaticMemberGroupLeave",
)
def closes_and_returns(play: Play) -> None:
    """A static member that closes does not leave: it gets its partitions back within its session."""
    orders = play.topic("orders", partitions=4)
    ana, bob = _member(play, "ana", "one"), _member(play, "bob", "two")
    back = _member(play, "bob-is-back", "two")

    both_at_rest(play, orders, ana, bob)
    bob.closes()
    back.subscribes(orders)

    settles_shared(play, {ana: [orders], back: [orders]}, callbacks={ana: [], back: [assigned(2)]})


@client_script("clients/static/older-is-fenced", source="GroupCoordinator#updateStaticMemberAndRebalance")
def older_is_fenced(play: Play) -> None:
    """Of two clients with one instance id the newer gets the partitions; the older's commits are refused."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = _member(play, "ana", "one"), _member(play, "bob", "two")
    twin = _member(play, "bob-twin", "two")

    both_at_rest(play, orders, ana, bob)
    writer.produces(orders, each=1)
    play.delivers([ana, bob], orders.values())
    twin.subscribes(orders)
    settles_shared(play, {ana: [orders], twin: [orders]}, callbacks={ana: []})

    play.elapses(_HEARTBEATS_MS)
    bob.commits(refused_as=["FENCED_INSTANCE_ID", "_FATAL", "COMMIT_FAILED"])
    ana.sees_committed(dict.fromkeys(orders.partitions))
    play.allows_two_owners("the older learns that it is fenced from its next heartbeat")


@client_script(
    "clients/static/session-ends",
    source="GroupCoordinator#onExpireHeartbeat",
    consumer_source="GroupMetadataManager#scheduleConsumerGroupSessionTimeout",
)
def session_ends(play: Play) -> None:
    """When the session of a crashed static member times out, it is removed and the group rebalances."""
    orders = play.topic("orders", partitions=4)
    ana = _member(play, "ana", "one")
    bob = _member(play, "bob", "two", _SHORT_SESSION_MS)

    both_at_rest(play, orders, ana, bob)
    bob.crashes()

    taken_over = play.by_protocol(classic=[revoked(2), assigned(4)], consumer=[assigned(2)])
    play.settles({ana: orders.partitions}, callbacks={ana: taken_over})


@client_script("clients/static/leader-returns", source="KIP-345, KIP-814")
def leader_returns(play: Play) -> None:
    """When a crashed static leader returns within its session, no member gives up any partition."""
    orders = play.topic("orders", partitions=4)
    ana, bob = _member(play, "ana", "one"), _member(play, "bob", "two")
    back = _member(play, "ana-is-back", "one")

    both_at_rest(play, orders, ana, bob)
    ana.crashes()
    back.subscribes(orders)

    settles_shared(play, {back: [orders], bob: [orders]}, callbacks={back: [assigned(2)], bob: []})
