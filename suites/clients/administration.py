"""What an admin client reports of a group that has real consumers."""

from harness.clients.language import RANGE, Play, client_script
from suites.clients.assignments import by_range


@client_script("clients/admin/describes-a-group", source="ConsumerGroupCommand#describeGroups")
def describes_a_group(play: Play) -> None:
    """An admin client sees a group's state, assignor, partition owners and committed offsets."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    eve = play.client("eve", group=None)
    ana, bob = (play.client(name, assignor=RANGE, auto_offset_reset="earliest") for name in ("ana", "bob"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    shared = by_range({ana: [orders], bob: [orders]})
    play.settles(shared)
    writer.produces(orders, each=3)
    play.delivers([ana, bob], orders.values())
    ana.commits()
    writer.produces(orders, each=2)

    behind = {"orders-0": (3, 5), "orders-1": (3, 5)}
    eve.sees_group("group", state="STABLE", assignor=RANGE, members=shared, offsets=behind)
    play.delivers([ana, bob], orders.values(since=3))
    ana.closes()
    bob.closes()
    eve.sees_group("group", state="EMPTY", assignor="", members={}, offsets=behind)
