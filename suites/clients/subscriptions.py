"""Topics, patterns and manually assigned partitions, and the position in them."""

from harness.clients.language import RANGE, Feature, Play, assigned, client_script, revoked
from suites.clients.assignments import settles_shared


@client_script(
    "clients/subscription/pattern",
    source="ConsumerCoordinator#updatePatternSubscription",
    consumer_source="TopicRegexResolver#resolveRegularExpressions",
)
def pattern(play: Play) -> None:
    """A pattern subscription covers all topics that match it, and no others."""
    first = play.topic("orders.east", partitions=2)
    second = play.topic("orders.west", partitions=1)
    play.topic("payments", partitions=2)
    ana = play.client("ana", assignor=RANGE)

    ana.subscribes_to_pattern(r"orders\..*")

    play.settles({ana: [*first.partitions, *second.partitions]})


@client_script(
    "clients/subscription/pattern-meets-a-new-topic",
    source="KAFKA-3949",
    consumer_source="GroupMetadataManager#maybeUpdateRegularExpressions",
    uses=[Feature.GROWTH],
)
def pattern_meets_a_new_topic(play: Play) -> None:
    """A new topic that matches a subscribed pattern triggers a rebalance."""
    first = play.topic("orders.east", partitions=2)
    ana = play.client("ana", assignor=RANGE, metadata_max_age_ms=1000)
    bob = play.client("bob", assignor=RANGE, metadata_max_age_ms=1000)

    ana.subscribes_to_pattern(r"orders\..*")
    play.settles({ana: first.partitions})
    bob.subscribes_to_pattern(r"orders\..*")
    settles_shared(play, {ana: [first], bob: [first]})
    second = play.topic("orders.west", partitions=2)

    settles_shared(play, {ana: [first, second], bob: [first, second]})
    play.allows_extra_callbacks("each member finds the new topic in its own time, and rejoins for it")


@client_script(
    "clients/subscription/manual",
    source="KafkaConsumer#assign",
    consumer_source="KafkaConsumer#assign",
)
def manual(play: Play) -> None:
    """A consumer that assigns itself partitions takes part in no rebalance, and may commit."""
    orders = play.topic("orders", partitions=3)
    writer = play.client("writer", group=None)
    ana = play.client("ana", auto_offset_reset="earliest")
    bob = play.client("bob", auto_offset_reset="earliest")

    writer.produces(orders, each=2)
    ana.assigns("orders-0", "orders-2")
    play.delivers([ana], {name: orders.values()[name] for name in ("orders-0", "orders-2")})
    ana.commits()
    bob.assigns("orders-1")
    play.delivers([bob], {"orders-1": orders.values()["orders-1"]})

    bob.sees_committed({"orders-0": 2, "orders-1": None, "orders-2": 2})


@client_script(
    "clients/subscription/mixing-is-refused",
    source="SubscriptionState#setSubscriptionType",
    consumer_source="SubscriptionState#setSubscriptionType",
    uses=[Feature.REFUSES_MIXING],
)
def mixing_is_refused(play: Play) -> None:
    """A consumer may not mix subscription and manual assignment, in either order."""
    orders = play.topic("orders", partitions=2)
    ana = play.client("ana", assignor=RANGE)
    bob = play.client("bob", assignor=RANGE)

    ana.subscribes(orders)
    ana.assigns("orders-0", refused_as=["ILLEGAL_STATE"])
    bob.assigns("orders-0")
    bob.subscribes(orders, refused_as=["ILLEGAL_STATE"])

    play.settles({ana: orders.partitions})


@client_script(
    "clients/subscription/outsider-may-not-commit",
    source="GroupCoordinator#validateOffsetCommit",
    consumer_source="ConsumerGroup#validateOffsetCommit",
)
def outsider_may_not_commit(play: Play) -> None:
    """While a group has members, a consumer with a manual assignment cannot commit for it."""
    orders = play.topic("orders", partitions=2)
    writer = play.client("writer", group=None)
    ana = play.client("ana", assignor=RANGE, auto_offset_reset="earliest")
    bob = play.client("bob", auto_offset_reset="earliest")

    writer.produces(orders, each=1)
    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    play.delivers([ana], orders.values())
    bob.assigns("orders-0")
    play.delivers([bob], {"orders-0": orders.values()["orders-0"]})

    bob.commits(refused_as=["UNKNOWN_MEMBER_ID", "COMMIT_FAILED"])
    ana.sees_committed({"orders-0": None})


@client_script(
    "clients/subscription/change",
    source="ConsumerCoordinator#rejoinNeededOrPending",
    consumer_source="GroupMetadataManager#hasMemberSubscriptionChanged",
)
def change(play: Play) -> None:
    """A member that subscribes to one more topic triggers a rebalance, and owns all of that topic."""
    orders = play.topic("orders", partitions=4)
    payments = play.topic("payments", partitions=2)
    ana = play.client("ana", assignor=RANGE)
    bob = play.client("bob", assignor=RANGE)

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.subscribes(orders, payments)

    settles_shared(play, {ana: [orders], bob: [orders, payments]})
    play.allows_extra_callbacks("a leader that has never heard of the topic makes the group rebalance again")


@client_script(
    "clients/subscription/given-up",
    source="AbstractCoordinator#maybeLeaveGroup",
    consumer_source="GroupMetadataManager#consumerGroupLeave",
)
def given_up(play: Play) -> None:
    """A consumer that unsubscribes leaves the group at once, and the other gets all partitions."""
    orders = play.topic("orders", partitions=4)
    ana = play.client("ana", assignor=RANGE)
    bob = play.client("bob", assignor=RANGE)

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})
    bob.unsubscribes()

    taken_over = play.by_protocol(classic=[revoked(2), assigned(4)], consumer=[assigned(2)])
    play.settles({ana: orders.partitions}, callbacks={ana: taken_over})
    play.allows_two_owners("kafka-python tells no callback of an unsubscription")


@client_script(
    "clients/position/seek",
    source="KafkaConsumer#seek",
    consumer_source="KafkaConsumer#seek",
)
def seek(play: Play) -> None:
    """After a seek, records are delivered from there and the position follows; the commit stays."""
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    ana = play.client("ana", assignor=RANGE, auto_offset_reset="earliest")

    writer.produces(orders, each=6)
    ana.subscribes(orders)
    play.delivers([ana], orders.values())
    ana.is_at({"orders-0": 6})
    ana.commits()
    ana.seeks("orders-0", 4)

    play.delivers([ana], orders.values(since=4))
    ana.is_at({"orders-0": 6})
    ana.sees_committed({"orders-0": 6})


@client_script(
    "clients/position/pause",
    source="KafkaConsumer#pause",
    consumer_source="KafkaConsumer#pause",
)
def pause(play: Play) -> None:
    """A paused partition delivers nothing until it is resumed; others continue, without a rebalance."""
    orders = play.topic("orders", partitions=2)
    writer = play.client("writer", group=None)
    ana = play.client("ana", assignor=RANGE, auto_offset_reset="earliest")

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=2)
    play.delivers([ana], orders.values())
    ana.pauses("orders-0")
    writer.produces(orders, each=2)
    play.delivers([ana], {"orders-1": orders.values(since=2)["orders-1"]})
    play.elapses(1000)
    ana.resumes("orders-0")

    play.delivers([ana], {"orders-0": orders.values(since=2)["orders-0"]})
    play.settles({ana: orders.partitions}, callbacks={ana: []})
