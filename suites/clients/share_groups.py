"""Share groups (KIP-932): several members share a partition, and each record is acknowledged."""

from collections.abc import Callable

from harness.clients.language import Play, TestClient, Topic, again, client_script

_LOCK_MS = 6000
_UNREAD = None
"""The start offset that an admin client sees of a partition whose state nobody has written yet."""


def _from_the_start(play: Play, **config: str | int) -> None:
    play.configures("group", share_auto_offset_reset="earliest", **config)


def _written(play: Play, each: int, *, partitions: int = 1) -> Topic:
    """Write records before anybody subscribes, so that one poll returns a whole partition."""
    orders = play.topic("orders", partitions=partitions)
    play.client("writer", group=None).produces(orders, each=each)
    return orders


def _explicit(play: Play, name: str) -> TestClient:
    return play.client(name, share_acknowledgement_mode="explicit")


@client_script("clients/delivery/three-members-share", share_source="SharePartition#acquire")
def three_members_share(play: Play) -> None:
    """Three members that share one partition receive each record once between them."""
    _from_the_start(play)
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    members = [play.client(name) for name in ("ana", "bob", "cid")]

    for member in members:
        member.subscribes(orders)
    for since in (0, 20, 40):
        writer.produces(orders, each=20)
        play.delivers(members, orders.values(since=since), in_order=False)


@client_script("clients/group/two-members-of-all-partitions", share_source="SimpleAssignor#assign")
def two_members_of_all_partitions(play: Play) -> None:
    """Share group members get all partitions, and a member that closes leaves the group."""
    _from_the_start(play)
    orders = play.topic("orders", partitions=2)
    eve = play.client("eve", group=None)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders)
    eve.sees_share_group("group", state="STABLE", members={ana: orders.partitions}, offsets=_at(_UNREAD, 2))
    ana.closes()
    eve.sees_share_group("group", state="EMPTY", members={}, offsets=_at(_UNREAD, 2))
    bob.subscribes(orders)
    eve.sees_share_group("group", state="STABLE", members={bob: orders.partitions}, offsets=_at(_UNREAD, 2))


def _at(offset: int | None, partition_count: int = 1) -> dict[str, int | None]:
    return {f"orders-{number}": offset for number in range(partition_count)}


@client_script("clients/delivery/accepted-by-a-commit", share_source="ShareConsumerImpl#commitSync")
def accepted_by_a_commit(play: Play) -> None:
    """A commit accepts what the last poll returned: no record of it is delivered again after a crash."""
    _from_the_start(play, share_record_lock_duration_ms=_LOCK_MS)
    orders = _written(play, 5)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders, polls=False)
    ana.takes(5)
    ana.commits()
    ana.crashes()
    bob.subscribes(orders)
    play.elapses(_LOCK_MS)

    play.delivers([ana, bob], orders.values())


@client_script("clients/delivery/accept-release-reject", share_source="SharePartition#acknowledge")
def accept_release_reject(play: Play) -> None:
    """Accepted and rejected records are done; released ones come again with a higher delivery count."""
    _from_the_start(play)
    orders = _written(play, 6)
    eve = play.client("eve", group=None)
    ana = _explicit(play, "ana")

    ana.subscribes(orders, polls=False)
    ana.takes(6)
    play.delivers([ana], orders.values())
    ana.acknowledges("accept", "orders-0#0", "orders-0#1")
    ana.acknowledges("release", "orders-0#2", "orders-0#3")
    ana.acknowledges("reject", "orders-0#4", "orders-0#5")
    ana.commits()
    ana.takes(2)
    play.delivers([ana], again(orders.values(since=2, until=4)))
    ana.acknowledges("accept")
    ana.commits()

    # The start offset moves once the records before it are written; the next write persists it.
    eve.sees_share_group("group", state="STABLE", members={ana: orders.partitions}, offsets=_at(2))


@client_script("clients/delivery/polls-must-be-acknowledged", share_source="ShareConsumerImpl#poll")
def polls_must_be_acknowledged(play: Play) -> None:
    """With explicit acknowledgement, a poll is refused until all records of the last one are acknowledged."""
    _from_the_start(play)
    orders = _written(play, 2)
    ana = _explicit(play, "ana")

    ana.subscribes(orders, polls=False)
    ana.takes(2)
    ana.takes(1, refused_as=["ILLEGAL_STATE", "_STATE"])
    ana.acknowledges("accept")
    ana.commits()


@client_script(
    "clients/delivery/closes-with-records", share_source="SharePartition#releaseAcquiredRecords", since=(4, 2)
)
def closes_with_records(play: Play) -> None:
    """Records that a member has not acknowledged when it closes are delivered to another at once."""
    _from_the_start(play)
    _leaves_with_records(play, TestClient.closes)


@client_script(
    "clients/delivery/crashes-with-records",
    share_source="SharePartition#releaseAcquiredRecords",
    since=(4, 2),
)
def crashes_with_records(play: Play) -> None:
    """Records that a killed member has not acknowledged come again, each with a higher delivery count."""
    _from_the_start(play, share_record_lock_duration_ms=_LOCK_MS)
    _leaves_with_records(play, TestClient.crashes)


def _leaves_with_records(play: Play, leaves: Callable[[TestClient], None]) -> None:
    """Let bob get the records that ana took and did not acknowledge before she left."""
    orders = _written(play, 4)
    ana, bob = _explicit(play, "ana"), _explicit(play, "bob")

    ana.subscribes(orders, polls=False)
    ana.takes(4)
    play.delivers([ana], orders.values())
    ana.acknowledges("accept", "orders-0#0")
    ana.commits()
    leaves(ana)
    bob.subscribes(orders, polls=False)
    bob.takes(3)

    play.delivers([bob], again(orders.values(since=1)))


@client_script(
    "clients/delivery/lock-times-out", share_source="SharePartition#releaseAcquisitionLockOnTimeout"
)
def lock_times_out(play: Play) -> None:
    """A member that keeps records longer than the acquisition lock loses them to another member."""
    _from_the_start(play, share_record_lock_duration_ms=_LOCK_MS)
    orders = _written(play, 3)
    ana, bob = _explicit(play, "ana"), _explicit(play, "bob")

    ana.subscribes(orders, polls=False)
    ana.takes(3)
    play.delivers([ana], orders.values())
    bob.subscribes(orders, polls=False)
    bob.takes(3)

    # Java's client may fetch on behind an application that stands still, so ana may be given them first.
    play.delivers([bob], again(orders.values()), counted=False)


@client_script(
    "clients/delivery/delivered-too-often", share_source="ShareGroupConfig#shareGroupDeliveryCountLimit"
)
def delivered_too_often(play: Play) -> None:
    """A record that was released five times is not delivered again; the next one is."""
    _from_the_start(play)
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    ana = _explicit(play, "ana")

    writer.produces(orders, each=1)
    ana.subscribes(orders, polls=False)
    for delivery in range(1, 6):
        ana.takes(1)
        play.delivers([ana], again(orders.values(), delivery))
        ana.acknowledges("release")
        ana.commits()
    writer.produces(orders, each=1)
    ana.takes(1)

    play.delivers([ana], orders.values(since=1))


@client_script(
    "clients/group/session-ends", share_source="GroupMetadataManager#scheduleShareGroupSessionTimeout"
)
def session_ends(play: Play) -> None:
    """A killed member leaves the share group when its session times out."""
    _from_the_start(play)
    orders = play.topic("orders", partitions=1)
    eve = play.client("eve", group=None)
    ana = play.client("ana", session_timeout_ms=10_000)
    bob = play.client("bob", session_timeout_ms=10_000)

    ana.subscribes(orders)
    bob.subscribes(orders)
    both = {ana: orders.partitions, bob: orders.partitions}
    eve.sees_share_group("group", state="STABLE", members=both, offsets=_at(_UNREAD))
    bob.crashes()

    eve.sees_share_group("group", state="STABLE", members={ana: orders.partitions}, offsets=_at(_UNREAD))


@client_script("clients/admin/deletes", share_source="GroupCoordinatorService#deleteShareGroups")
def deletes(play: Play) -> None:
    """A share group with members is not deleted; an empty one is, and later starts afresh."""
    _from_the_start(play)
    orders = _written(play, 3)
    eve = play.client("eve", group=None)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders)
    play.delivers([ana], orders.values())
    eve.deletes_share_group("group", refused_as=["NON_EMPTY_GROUP"])
    ana.closes()
    eve.deletes_share_group("group")
    bob.subscribes(orders)

    play.delivers([bob], orders.values())


@client_script(
    "clients/admin/rewinds", share_source="GroupMetadataManager#alterShareGroupOffsets", since=(4, 2)
)
def rewinds(play: Play) -> None:
    """The offset of a share group can be reset only when it is empty; its records then come as if new."""
    _from_the_start(play)
    orders = _written(play, 3)
    eve = play.client("eve", group=None)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders)
    play.delivers([ana], orders.values())
    eve.rewinds_share_group("group", "orders-0", offset=1, refused_as=["NON_EMPTY_GROUP"])
    ana.closes()
    eve.rewinds_share_group("group", "orders-0", offset=1)
    eve.sees_share_group("group", state="EMPTY", members={}, offsets=_at(1))
    bob.subscribes(orders)

    play.delivers([bob], orders.values(since=1))


@client_script("clients/coordinator/restarts", share_source="ShareCoordinatorService#readState")
def restarts(play: Play) -> None:
    """After a broker restart, accepted records are not delivered again, but released ones are."""
    _from_the_start(play)
    orders = _written(play, 4)
    ana, bob = _explicit(play, "ana"), play.client("bob")

    ana.subscribes(orders, polls=False)
    ana.takes(4)
    play.delivers([ana], orders.values())
    ana.acknowledges("accept", "orders-0#0", "orders-0#2")
    ana.acknowledges("release")
    ana.commits()
    ana.crashes()
    play.restarts_broker()
    bob.subscribes(orders)

    # As in `lock_times_out`, ana may have been given what she released before she crashes.
    play.delivers([bob], again({"orders-0": ("orders-0#1", "orders-0#3")}), counted=False)
