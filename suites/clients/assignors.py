"""What each assignor gives to members with different topics, and to members that join and leave."""

from harness.clients.language import COOPERATIVE, RANGE, ROUND_ROBIN, STICKY, Feature, Play, client_script
from suites.clients.assignments import by_range, by_round_robin

_AT_ONCE = "three join at once: how many rebalances that makes hangs on who is faster"
_STICKY_IS_FREE = "whose partitions move is the assignor's choice; how many is not"


@client_script("clients/assignors/range", source="RangeAssignor#assign")
def range_(play: Play) -> None:
    """The range assignor gives every subscriber consecutive partitions of each topic."""
    orders = play.topic("orders", partitions=7)
    payments = play.topic("payments", partitions=2)
    ana, bob, cid = (play.client(name, assignor=RANGE) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders, payments)
    bob.subscribes(orders)
    cid.subscribes(orders, payments)

    play.settles(by_range({ana: [orders, payments], bob: [orders], cid: [orders, payments]}))
    play.allows_extra_callbacks(_AT_ONCE)


@client_script("clients/assignors/round-robin", source="RoundRobinAssignor#assign")
def round_robin(play: Play) -> None:
    """The round-robin assignor deals the partitions of all topics out in turn."""
    orders = play.topic("orders", partitions=4)
    payments = play.topic("payments", partitions=3)
    ana, bob, cid = (play.client(name, assignor=ROUND_ROBIN) for name in ("ana", "bob", "cid"))

    for member in (ana, bob, cid):
        member.subscribes(orders, payments)

    play.settles(by_round_robin({ana: [orders, payments], bob: [orders, payments], cid: [orders, payments]}))
    play.allows_extra_callbacks(_AT_ONCE)


@client_script(
    "clients/assignors/round-robin-unequal",
    source="RoundRobinAssignor#assign",
    uses=[Feature.UNEQUAL_ROUND_ROBIN],
)
def round_robin_unequal(play: Play) -> None:
    """The round-robin assignor skips members that are not subscribed to a topic."""
    orders = play.topic("orders", partitions=4)
    payments = play.topic("payments", partitions=3)
    ana, bob, cid = (play.client(name, assignor=ROUND_ROBIN) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders, payments)
    bob.subscribes(orders, payments)
    cid.subscribes(payments)

    play.settles(by_round_robin({ana: [orders, payments], bob: [orders, payments], cid: [payments]}))
    play.allows_extra_callbacks(_AT_ONCE)


@client_script("clients/assignors/sticky", source="StickyAssignor (KIP-54)")
def sticky(play: Play) -> None:
    """The sticky assignor moves as few partitions as it can, and none between members that stay."""
    orders = play.topic("orders", partitions=6)
    ana, bob, cid = (play.client(name, assignor=STICKY) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    play.settles_evenly([ana, bob], orders, because=_STICKY_IS_FREE, moved=3)
    cid.subscribes(orders)
    play.settles_evenly([ana, bob, cid], orders, because=_STICKY_IS_FREE, moved=2)
    cid.closes()
    play.settles_evenly([ana, bob], orders, because=_STICKY_IS_FREE, moved=2)


@client_script(
    "clients/assignors/cooperative-sticky", source="CooperativeStickyAssignor#assignPartitions (KIP-429)"
)
def cooperative_sticky(play: Play) -> None:
    """The cooperative-sticky assignor ends evenly and moves as few partitions as possible, as sticky does."""
    orders = play.topic("orders", partitions=6)
    payments = play.topic("payments", partitions=3)
    ana, bob, cid = (play.client(name, assignor=COOPERATIVE) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders, payments)
    play.settles({ana: [*orders.partitions, *payments.partitions]})
    bob.subscribes(orders, payments)
    play.settles_evenly([ana, bob], orders, payments, because=_STICKY_IS_FREE, moved=4)
    cid.subscribes(orders, payments)
    play.settles_evenly([ana, bob, cid], orders, payments, because=_STICKY_IS_FREE, moved=3)
    cid.closes()
    play.settles_evenly([ana, bob], orders, payments, because=_STICKY_IS_FREE, moved=3)
