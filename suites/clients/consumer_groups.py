"""What only consumer groups have (KIP-848): brokers assign and match patterns, and places stay reserved."""

from harness.clients.language import RANGE, UNIFORM, Play, TestClient, Topic, assigned, client_script, revoked
from suites.clients.assignments import UNSEEN_ASSIGNMENT, both_at_rest, by_range, settles_shared

_UNIFORM_IS_FREE = "whose partitions move hangs on ids of members, which are random; how many does not"


@client_script("clients/assignors/uniform", consumer_source="UniformHomogeneousAssignmentBuilder#build")
def uniform(play: Play) -> None:
    """The uniform assignor shares all partitions of all topics evenly, and moves as few as possible."""
    orders = play.topic("orders", partitions=6)
    payments = play.topic("payments", partitions=3)
    ana, bob, cid = (play.client(name, group_remote_assignor=UNIFORM) for name in ("ana", "bob", "cid"))

    ana.subscribes(orders, payments)
    play.settles({ana: [*orders.partitions, *payments.partitions]})
    bob.subscribes(orders, payments)
    play.settles_evenly([ana, bob], orders, payments, because=_UNIFORM_IS_FREE, moved=4)
    cid.subscribes(orders, payments)
    play.settles_evenly([ana, bob, cid], orders, payments, because=_UNIFORM_IS_FREE, moved=3)
    cid.closes()
    play.settles_evenly([ana, bob], orders, payments, because=_UNIFORM_IS_FREE, moved=3)


@client_script("clients/assignors/range", consumer_source="RangeAssignor#assign (server-side)")
def range_(play: Play) -> None:
    """The broker's range assignor gives subscribers consecutive partitions, in order of instance ids."""
    orders = play.topic("orders", partitions=7)
    payments = play.topic("payments", partitions=2)
    ana, bob, cid = (
        play.client(name, group_remote_assignor=RANGE, group_instance_id=instance)
        for name, instance in (("ana", "a"), ("bob", "b"), ("cid", "c"))
    )

    subscriptions = {ana: [orders, payments]}
    ana.subscribes(orders, payments)
    play.settles(by_range(subscriptions))
    subscriptions[bob] = [orders]
    bob.subscribes(orders)
    play.settles(by_range(subscriptions))
    subscriptions[cid] = [orders, payments]
    cid.subscribes(orders, payments)
    play.settles(by_range(subscriptions))


@client_script(
    "clients/group/unknown-assignor-is-refused",
    consumer_source="GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
)
def unknown_assignor_is_refused(play: Play) -> None:
    """A member that requests an unknown assignor gets UNSUPPORTED_ASSIGNOR; the others are not affected."""
    orders = play.topic("orders", partitions=4)
    ana = play.client("ana")
    bob = play.client("bob", group_remote_assignor="sticky")

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    bob.notices("UNSUPPORTED_ASSIGNOR", "_FATAL")

    play.settles({ana: orders.partitions}, callbacks={ana: [], bob: []})


def _static_member(play: Play, name: str, instance: str) -> TestClient:
    return play.client(name, group_remote_assignor=RANGE, group_instance_id=instance, session_timeout_ms=6000)


@client_script(
    "clients/static/newer-is-refused", consumer_source="GroupMetadataManager#throwIfInstanceIdIsUnreleased"
)
def newer_is_refused(play: Play) -> None:
    """Of two clients with one instance id the older stays a member; the newer gets UNRELEASED_INSTANCE_ID."""
    orders = play.topic("orders", partitions=4)
    ana, bob = _static_member(play, "ana", "one"), _static_member(play, "bob", "two")
    twin = _static_member(play, "bob-twin", "two")

    both_at_rest(play, orders, ana, bob)
    twin.subscribes(orders)
    twin.notices("UNRELEASED_INSTANCE_ID", "_FATAL")

    settles_shared(play, {ana: [orders], bob: [orders]}, callbacks={ana: [], bob: [], twin: []})


@client_script(
    "clients/static/crashed-is-not-replaced",
    consumer_source="GroupMetadataManager#throwIfInstanceIdIsUnreleased",
)
def crashed_is_not_replaced(play: Play) -> None:
    """Until a crashed static member's session ends, its successor gets UNRELEASED_INSTANCE_ID."""
    orders = play.topic("orders", partitions=4)
    ana, bob = _static_member(play, "ana", "one"), _static_member(play, "bob", "two")
    back = _static_member(play, "bob-is-back", "two")

    both_at_rest(play, orders, ana, bob)
    bob.crashes()
    back.subscribes(orders)
    back.notices("UNRELEASED_INSTANCE_ID", "_FATAL")

    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(2)], back: []})


@client_script(
    "clients/subscription/topic-comes-later", consumer_source="GroupMetadataManager#onMetadataUpdate"
)
def topic_comes_later(play: Play) -> None:
    """Members that subscribe to a missing topic get its partitions when the topic is created."""
    orders = Topic(name="orders", partition_count=4)
    ana = play.client("ana", metadata_max_age_ms=1000)
    bob = play.client("bob", metadata_max_age_ms=1000)

    ana.subscribes(orders, may_be_told=["UNKNOWN_TOPIC_OR_PART"])
    bob.subscribes(orders, may_be_told=["UNKNOWN_TOPIC_OR_PART"])
    play.elapses(1500)
    play.makes(orders)

    settles_shared(play, {ana: [orders], bob: [orders]})
    play.allows_extra_callbacks("the first may be assigned all before the second has joined")
    play.allows_two_owners(UNSEEN_ASSIGNMENT)


@client_script(
    "clients/subscription/invalid-pattern-is-refused",
    consumer_source="Utils#throwIfRegularExpressionIsInvalid",
)
def invalid_pattern_is_refused(play: Play) -> None:
    """A pattern that is not valid RE2, here one with a back-reference, gets INVALID_REGULAR_EXPRESSION."""
    orders = play.topic("orders", partitions=2)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes_to_pattern(r"(orders)\1")
    bob.notices("INVALID_REGULAR_EXPRESSION", "_FATAL")

    play.settles({ana: orders.partitions}, callbacks={ana: [], bob: []})


@client_script(
    "clients/subscription/taken-up-again", consumer_source="GroupMetadataManager#consumerGroupLeave"
)
def taken_up_again(play: Play) -> None:
    """A member that unsubscribes and subscribes again rejoins and gets its share of the partitions."""
    orders = play.topic("orders", partitions=4)
    ana, bob = play.client("ana"), play.client("bob")

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.unsubscribes()
    play.settles({ana: orders.partitions}, callbacks={ana: [assigned(2)], bob: [revoked(2)]})
    bob.subscribes(orders)

    settles_shared(play, {ana: [orders], bob: [orders]}, callbacks={ana: [revoked(2)], bob: [assigned(2)]})


@client_script("clients/admin/describes-a-group", consumer_source="ConsumerGroup#asDescribedGroup")
def describes_a_group(play: Play) -> None:
    """An admin client sees a group's state, the assignor its members request, and partition owners."""
    orders = play.topic("orders", partitions=3)
    payments = play.topic("payments", partitions=2)
    writer = play.client("writer", group=None)
    eve = play.client("eve", group=None)
    ana, bob = (
        play.client(name, group_remote_assignor=RANGE, auto_offset_reset="earliest")
        for name in ("ana", "bob")
    )

    ana.subscribes(orders)
    bob.subscribes(payments)
    owned = {ana: orders.partitions, bob: payments.partitions}
    play.settles(owned)
    writer.produces(orders, each=3)
    play.delivers([ana], orders.values())
    ana.commits()
    writer.produces(orders, each=2)

    behind = dict.fromkeys(orders.partitions, (3, 5))
    eve.sees_group("group", state="STABLE", assignor=RANGE, members=owned, offsets=behind)
    play.delivers([ana], orders.values(since=3))
    ana.closes()
    bob.closes()
    eve.sees_group("group", state="EMPTY", assignor=UNIFORM, members={}, offsets=behind)
