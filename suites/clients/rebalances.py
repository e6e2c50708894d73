"""Members join, leave, fall silent and return: which partitions are revoked, and when."""

from collections.abc import Sequence

from harness.clients.language import (
    COOPERATIVE,
    RANGE,
    ExpectedCallback,
    Feature,
    Play,
    assigned,
    client_script,
    revoked,
)
from suites.clients.assignments import settles_shared

_FREE = "whose partitions move is the assignor's choice; how many is not"
_SESSION_MS = 6000


def _takes_over_two(play: Play) -> Sequence[ExpectedCallback]:
    """Return the callbacks of a member that owns two of four partitions and gets all."""
    return play.by_protocol(classic=[revoked(2), assigned(4)], consumer=[assigned(2)])


@client_script("clients/rebalance/eager", source="ConsumerCoordinator#onJoinPrepare")
def eager(play: Play) -> None:
    """With the eager protocol every member gives up all partitions before the join, and is assigned anew."""
    orders = play.topic("orders", partitions=6)
    ana, bob, cid = (play.client(name, assignor=RANGE) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(6)]})
    bob.subscribes(orders)
    settles_shared(
        play,
        {ana: [orders], bob: [orders]},
        callbacks={ana: [revoked(6), assigned(3)], bob: [assigned(3)]},
    )
    cid.subscribes(orders)

    settles_shared(
        play,
        {ana: [orders], bob: [orders], cid: [orders]},
        callbacks={ana: [revoked(3), assigned(2)], bob: [revoked(3), assigned(2)], cid: [assigned(2)]},
    )


@client_script(
    "clients/rebalance/cooperative",
    source="ConsumerCoordinator#onJoinComplete (KIP-429)",
    consumer_source="CurrentAssignmentBuilder#computeNextAssignment",
)
def cooperative(play: Play) -> None:
    """With cooperative rebalancing, only two of six partitions are revoked for a third consumer.

    First each of the two members gives up one partition, then the third gets both. There are no callbacks for
    the other four.
    """
    orders = play.topic("orders", partitions=6)
    ana, bob, cid = (play.client(name, assignor=COOPERATIVE) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(6)]})
    bob.subscribes(orders)
    play.settles_evenly(
        [ana, bob], orders, because=_FREE, moved=3, callbacks={ana: [revoked(3)], bob: [assigned(3)]}
    )
    cid.subscribes(orders)

    play.settles_evenly(
        [ana, bob, cid],
        orders,
        because=_FREE,
        moved=2,
        callbacks={ana: [revoked(1)], bob: [revoked(1)], cid: [assigned(2)]},
    )


@client_script(
    "clients/rebalance/cooperative-while-records-come",
    source="KIP-429",
    consumer_source="CurrentAssignmentBuilder#computeNextAssignment",
)
def cooperative_while_records_come(play: Play) -> None:
    """Partitions that stay with their owner through a rebalance are delivered without a repetition."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = (
        play.client(name, assignor=COOPERATIVE, auto_offset_reset="earliest") for name in ("ana", "bob")
    )

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=5)
    play.delivers([ana], orders.values())
    ana.commits()
    bob.subscribes(orders)
    play.settles_evenly([ana, bob], orders, because=_FREE, moved=2)
    writer.produces(orders, each=5)

    play.delivers([ana, bob], orders.values(since=5))


@client_script("clients/rebalance/leaves-eager", source="ConsumerCoordinator#onJoinPrepare")
def leaves_eager(play: Play) -> None:
    """A consumer that leaves gives up its partitions, and the other gets all of them at once."""
    orders = play.topic("orders", partitions=6)
    ana, bob = (play.client(name, assignor=RANGE) for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.closes()

    play.settles({ana: orders.partitions}, callbacks={ana: [revoked(3), assigned(6)], bob: [revoked(3)]})


@client_script(
    "clients/rebalance/leaves-cooperative",
    source="KIP-429",
    consumer_source="GroupMetadataManager#consumerGroupLeave",
)
def leaves_cooperative(play: Play) -> None:
    """When a consumer leaves under cooperative rebalancing, the remaining one gives up nothing."""
    orders = play.topic("orders", partitions=6)
    ana, bob = (play.client(name, assignor=COOPERATIVE) for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    play.settles_evenly([ana, bob], orders, because=_FREE)
    bob.closes()

    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(3)], bob: [revoked(3)]})


@client_script(
    "clients/rebalance/bounces",
    source="KIP-429",
    consumer_source="GroupMetadataManager#consumerGroupLeave",
)
def bounces(play: Play) -> None:
    """A consumer that leaves and returns is a new member: its partitions move to the other and back."""
    orders = play.topic("orders", partitions=4)
    ana, bob, back = (play.client(name, assignor=COOPERATIVE) for name in ("ana", "bob", "bob-is-back"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    play.settles_evenly([ana, bob], orders, because=_FREE)
    bob.closes()
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(2)], bob: [revoked(2)]})
    back.subscribes(orders)

    play.settles_evenly(
        [ana, back], orders, because=_FREE, moved=2, callbacks={ana: [revoked(2)], back: [assigned(2)]}
    )


@client_script(
    "clients/rebalance/times-out",
    source="GroupCoordinator#onExpireHeartbeat",
    consumer_source="GroupMetadataManager#scheduleConsumerGroupSessionTimeout",
)
def times_out(play: Play) -> None:
    """When the session of a crashed consumer times out, the other gets its partitions."""
    orders = play.topic("orders", partitions=4)
    ana, bob = (play.client(name, assignor=RANGE, session_timeout_ms=_SESSION_MS) for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.crashes()

    play.settles({ana: orders.partitions}, callbacks={ana: _takes_over_two(play), bob: []})


@client_script(
    "clients/rebalance/stalls",
    source="AbstractCoordinator.HeartbeatThread#run (KIP-62)",
    consumer_source="GroupMetadataManager#consumerGroupLeave",
)
def stalls(play: Play) -> None:
    """A consumer that exceeds max.poll.interval.ms leaves, and joins again when it polls.

    While it does not poll it gets no callbacks, so it believes that it owns what another has by now.
    """
    orders = play.topic("orders", partitions=4)
    ana = play.client("ana", assignor=RANGE)
    bob = play.client(
        "bob",
        assignor=RANGE,
        session_timeout_ms=_SESSION_MS,
        max_poll_interval_ms=_SESSION_MS,
    )

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.stands_still()
    play.settles({ana: orders.partitions})
    bob.goes_on()
    bob.notices("lost", "_MAX_POLL_EXCEEDED")

    settles_shared(play, {ana: [orders], bob: [orders]})
    play.allows_two_owners("who does not poll is not told that it lost its partitions")


@client_script(
    "clients/rebalance/partitions-added",
    source="ConsumerCoordinator#rejoinNeededOrPending",
    consumer_source="GroupMetadataManager#onMetadataUpdate",
    uses=[Feature.GROWTH],
)
def partitions_added(play: Play) -> None:
    """A topic that grows triggers a rebalance; with cooperative members no partition is revoked."""
    orders = play.topic("orders", partitions=2)
    ana, bob = (play.client(name, assignor=COOPERATIVE, metadata_max_age_ms=1000) for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    play.settles_evenly([ana, bob], orders, because=_FREE)
    play.grows(orders, partitions=4)

    play.settles_evenly(
        [ana, bob], orders, because=_FREE, moved=0, callbacks={ana: [assigned(1)], bob: [assigned(1)]}
    )
