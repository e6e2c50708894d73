"""How a group starts: where its coordinator is, who leads, who owns what, and who is refused."""

from harness.clients.language import RANGE, ROUND_ROBIN, Feature, GroupProtocol, Play, assigned, client_script
from suites.clients.assignments import UNSEEN_ASSIGNMENT, settles_shared


@client_script(
    "clients/discovery/commits-lie-where-the-hash-says",
    source="GroupMetadataManager#partitionFor",
    consumer_source="GroupCoordinatorService#partitionFor",
)
def commits_lie_where_the_hash_says(play: Play) -> None:
    """A group's commits are in the `__consumer_offsets` partition that the hash of its id gives."""
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    ana = play.client("ana", assignor=RANGE, auto_offset_reset="earliest")

    writer.produces(orders, each=3)
    ana.subscribes(orders)
    play.delivers([ana], orders.values())
    ana.commits()

    ana.sees_committed({"orders-0": 3})
    ana.finds_its_commits()


@client_script(
    "clients/group/three-consumers-share",
    source="RangeAssignor#assign",
    consumer_source="UniformHomogeneousAssignmentBuilder#build",
)
def three_consumers_share(play: Play) -> None:
    """Three consumers that join one after the other end with a third of the partitions each."""
    orders = play.topic("orders", partitions=6)
    ana, bob, cid = (play.client(name, assignor=RANGE) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders)
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(6)]})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    cid.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders], cid: [orders]})


@client_script(
    "clients/group/one-member-too-many",
    source="RangeAssignor#assign",
    consumer_source="UniformHomogeneousAssignmentBuilder#build",
)
def one_member_too_many(play: Play) -> None:
    """A third consumer of two partitions owns none, and the other two receive all records."""
    orders = play.topic("orders", partitions=2)
    writer = play.client("writer", group=None)
    ana, bob, cid = (
        play.client(name, assignor=RANGE, auto_offset_reset="earliest") for name in ("ana", "bob", "cid")
    )

    for member in (ana, bob, cid):
        member.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders], cid: [orders]})
    play.allows_extra_callbacks("three join at once: how many rebalances that makes hangs on who is faster")
    if play.protocol is GroupProtocol.CONSUMER:
        play.allows_two_owners(UNSEEN_ASSIGNMENT)
    writer.produces(orders, each=5)

    play.delivers([ana, bob, cid], orders.values())


@client_script(
    "clients/group/first-member-leads",
    source="ConsumerCoordinator#rejoinNeededOrPending",
    uses=[Feature.GROWTH],
)
def first_member_leads(play: Play) -> None:
    """The leader notices that a topic has grown, which the other member would not for five minutes.

    Only the leader of a group compares the topics' partitions with those that it had assigned.
    """
    orders = play.topic("orders", partitions=2)
    ana = play.client("ana", assignor=RANGE, metadata_max_age_ms=1000)
    bob = play.client("bob", assignor=RANGE)

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    play.grows(orders, partitions=4)

    settles_shared(play, {ana: [orders], bob: [orders]})


@client_script("clients/group/no-protocol-in-common", source="GroupCoordinator#doNewMemberJoinGroup")
def no_protocol_in_common(play: Play) -> None:
    """A member without a common protocol gets INCONSISTENT_GROUP_PROTOCOL; the others are not affected."""
    orders = play.topic("orders", partitions=4)
    ana = play.client("ana", assignor=RANGE)
    bob = play.client("bob", assignor=ROUND_ROBIN)

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    bob.notices("INCONSISTENT_GROUP_PROTOCOL")

    play.settles({ana: orders.partitions}, callbacks={ana: [], bob: []})
