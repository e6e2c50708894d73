"""Client scripts for tests: one that any broker carries out as it says, one that says what cannot be."""

from harness.clients.language import RANGE, Feature, Play, assigned, client_script, revoked


@client_script("clients/small/eager", source="ConsumerCoordinator#onJoinPrepare")
def eager(play: Play) -> None:
    """Two consumers share, records come once, and what is committed is seen."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = (play.client(name, assignor=RANGE, auto_offset_reset="earliest") for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(4)]})
    bob.subscribes(orders)
    play.settles(
        {ana: ["orders-0", "orders-1"], bob: ["orders-2", "orders-3"]},
        callbacks={ana: [revoked(4), assigned(2)], bob: [assigned(2)]},
    )
    writer.produces(orders, each=3)
    play.delivers([ana, bob], orders.values())
    bob.commits()
    bob.crashes()
    ana.sees_committed({"orders-0": None, "orders-2": 3})


@client_script("clients/small/impossible", source="RangeAssignor#assign")
def impossible(play: Play) -> None:
    """One consumer is to own three partitions of two."""
    orders = play.topic("orders", partitions=2)
    ana = play.client("ana", assignor=RANGE)

    ana.subscribes(orders)
    play.settles({ana: ["orders-0", "orders-1", "orders-2"]})


@client_script(
    "clients/small/lacking", source="SubscriptionState#setSubscriptionType", uses=[Feature.REFUSES_MIXING]
)
def lacking(play: Play) -> None:
    """Something is wanted that not every library has."""
    orders = play.topic("orders", partitions=1)
    ana = play.client("ana", group=None)

    ana.assigns("orders-0")
    ana.subscribes(orders, refused_as=["ILLEGAL_STATE"])
