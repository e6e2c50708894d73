"""The coordinator's broker goes away under a running group and comes back, or another one coordinates."""

from collections.abc import Callable

from harness.clients.language import RANGE, Play, client_script
from suites.clients.assignments import by_range


def _around(play: Play, happens: Callable[[], None]) -> None:
    """Have two members consume and commit before something happens and after it."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = (
        play.client(name, assignor=RANGE, auto_offset_reset="earliest", session_timeout_ms=30_000)
        for name in ("ana", "bob")
    )

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    play.settles(by_range({ana: [orders], bob: [orders]}))
    writer.produces(orders, each=5)
    play.delivers([ana, bob], orders.values())
    ana.commits()
    bob.commits()
    happens()
    ana.sees_committed(dict.fromkeys(orders.partitions, 5))
    writer.produces(orders, each=5)

    play.delivers([ana, bob], orders.values(since=5))
    play.settles(by_range({ana: [orders], bob: [orders]}))
    ana.commits()
    bob.commits()
    ana.sees_committed(dict.fromkeys(orders.partitions, 10))


@client_script("clients/coordinator/restarts", source="GroupMetadataManager#loadGroupsAndOffsets")
def restarts(play: Play) -> None:
    """A restart of the coordinator loses no commit, and no partition has two owners before or after it."""
    _around(play, play.restarts_broker)


@client_script("clients/coordinator/moves", source="GroupMetadataManager#loadGroupsAndOffsets")
def moves(play: Play) -> None:
    """Another broker that comes to coordinate knows every commit, and no partition has two owners."""
    _around(play, play.moves_coordinator)
