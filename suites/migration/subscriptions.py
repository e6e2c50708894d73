"""The version and the content of a classic member's subscription, which a consumer group reads."""

from harness.scenario import Actor, Conversation, Member, ask, expect, in_any_order, one_of, scenario
from suites.migration.groups import (
    BOTH,
    FIRST,
    INCONSISTENT,
    REQUIRED,
    SECOND,
    beats,
    classic_consumer,
    consumer,
    join,
    rejoins,
    syncs,
    upgraded,
)

JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"
ASSIGNS = "UniformHomogeneousAssignmentBuilder#assignRemainingPartitions"
SYNCS = "GroupMetadataManager#classicGroupSyncToConsumerGroup"
WITH_RACK = ask.join_group(protocols=(("range", ask.subscription("payments", version=3, rack="north")),))


def has_rack(ana: Actor, bob: Member, rack: str) -> None:
    """Let bob check the rack of ana, the other member of its group."""
    known = {**expect.group_member(ana.member_id, member_type=0), "rack_id": rack}
    described = expect.consumer_group_describe(
        members=in_any_order(known, expect.group_member(bob.member_id))
    )
    bob.asks(ask.consumer_group_describe(), described)


@scenario("migration/upgrade/subscription-v2", source=SYNCS, clauses=("MG-08",))
def an_assignment_has_the_version_of_the_subscription(conversation: Conversation) -> None:
    """A classic member with a subscription of version 2 gets its assignment in version 2."""
    ana, _ = upgraded(conversation, subscription_version=2)

    rejoins(ana, BOTH, subscription_version=2)
    syncs(ana, FIRST, subscription_version=2)


@scenario("migration/upgrade/subscription-v3", source=SYNCS, clauses=("MG-08",))
def a_subscription_may_have_a_rack(conversation: Conversation) -> None:
    """A classic member with a subscription of version 3 gets its assignment in version 3."""
    ana, _ = upgraded(conversation, subscription_version=3)

    rejoins(ana, BOTH, subscription_version=3)
    syncs(ana, FIRST, subscription_version=3)


@scenario("migration/upgrade/subscription-v9", source=SYNCS, clauses=("MG-43",))
def a_later_version_of_a_subscription_counts_as_the_last_known(conversation: Conversation) -> None:
    """A classic member with a subscription of version 9 gets its assignment in the last known version."""
    ana, _ = upgraded(conversation, subscription_version=9)

    rejoins(ana, BOTH, subscription_version=9)
    syncs(ana, FIRST, subscription_version=3)


@scenario("migration/upgrade/subscription-v0", source=JOINS, clauses=("MG-44",))
def whoever_cannot_say_what_it_owns_owns_nothing(conversation: Conversation) -> None:
    """A classic member with a subscription v0 owns nothing, and joins the new epoch at once."""
    ana, bob = upgraded(conversation, subscription_version=0)

    ana.asks(
        join(subscription_version=0),
        expect.join_group(error_code="NONE", generation_id=bob.epoch, leader=""),
    )
    syncs(ana, FIRST, subscription_version=0)
    beats(ana)
    bob.heartbeats(assigned=SECOND)


@scenario("migration/upgrade/two-topics", source=SYNCS, clauses=("MG-08",))
def an_assignment_may_have_several_topics(conversation: Conversation) -> None:
    """An assignment with two topics may list them in either order."""
    orders, payments = {"orders": (0, 1, 2)}, BOTH
    joining = join({**orders, **payments}, topics=("orders", "payments"))
    everything, reversed_ = (
        ask.assignment_of(each, version=1) for each in ({**orders, **payments}, {**payments, **orders})
    )
    ana = classic_consumer(conversation, request=joining, assignment=everything)
    bob = conversation.member("bob")
    bob.enters(topics=(), assigned={})

    ana.asks(joining, expect.join_group(error_code="NONE", leader="", members=()))
    ana.asks(
        ask.sync_group(version=5),
        expect.sync_group(error_code="NONE", assignment=one_of(everything, reversed_)),
    )
    beats(ana)


@scenario("migration/upgrade/rack", source="ConsumerGroup#fromClassicGroup", clauses=("MG-59",))
def a_rack_survives_an_upgrade(conversation: Conversation) -> None:
    """A classic member has the rack of its subscription after an upgrade."""
    ana = classic_consumer(conversation, request=WITH_RACK)
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})

    has_rack(ana, bob, "north")


@scenario("migration/joins/rack", source=JOINS, clauses=("MG-59",))
def a_rack_stays_known(conversation: Conversation) -> None:
    """A classic member that joins with a rack, and rejoins without, keeps the rack."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    ana.asks(WITH_RACK, error_code=REQUIRED)

    for joining in (WITH_RACK, join(subscription_version=3)):
        ana.asks(joining, expect.join_group(error_code="NONE", generation_id=bob.epoch + 1))
        has_rack(ana, bob, "north")


@scenario(
    "migration/joins/unreadable-version", source="ConsumerProtocol#deserializeVersion", clauses=("MG-22",)
)
def a_subscription_is_as_long_as_its_version_says(conversation: Conversation) -> None:
    """A classic member whose subscription has a negative version, or too few bytes for it, cannot join."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    negative = b"\xff\xff" + ask.subscription("payments")[2:]
    without_generation = ask.subscription("payments", version=2)[:-4]

    ana.asks(join(), error_code=REQUIRED)
    for metadata in (negative, without_generation):
        joining = ask.join_group(protocols=(("range", metadata),))
        ana.asks(joining, error_code=one_of(INCONSISTENT, "UNKNOWN_SERVER_ERROR"))
    bob.heartbeats(assigned=None)


@scenario("migration/upgrade/no-such-partition", source=ASSIGNS, clauses=("CA-11",))
def a_partition_that_does_not_exist_is_left(conversation: Conversation) -> None:
    """A classic member that was assigned a partition that does not exist has none to spare for a consumer."""
    beyond = ask.assignment_of({"payments": (0, 1, 5)}, version=1)
    ana = classic_consumer(conversation, assignment=beyond)
    bob = conversation.member("bob")

    bob.enters("payments", error_code="UNKNOWN_SERVER_ERROR")
    beats(ana)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))
