"""The version of a classic member's subscription, in which a consumer group encodes its assignment."""

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.migration.groups import (
    BOTH,
    FIRST,
    SECOND,
    beats,
    classic_consumer,
    join,
    rejoins,
    syncs,
    upgraded,
)

JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"
SYNCS = "GroupMetadataManager#classicGroupSyncToConsumerGroup"


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
