"""Classic members that replace static consumers, in groups with other members."""

from harness.scenario import Actor, Capability, Conversation, ask, expect, in_any_order, one_of, scenario
from suites.migration.downgrade import REPLACES
from suites.migration.groups import (
    BOTH,
    FIRST,
    SECOND,
    beats,
    is_classic,
    join,
    parts,
    rejoins,
    syncs,
)

JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"


def replaced(conversation: Conversation) -> tuple[Actor, Actor]:
    """Make a group of bob, a static consumer, and of classic cat. Ana, who is classic, replaces bob."""
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned=BOTH)
    cat = conversation.actor("cat")
    cat.asks(join(version=3), error_code="NONE")
    syncs(cat, {})
    bob.heartbeats(assigned=FIRST)
    bob.heartbeats(owned=FIRST, member_epoch=cat.generation_id, assigned=None)
    rejoins(cat, {})
    syncs(cat, SECOND)

    ana = conversation.actor("ana", group_instance_id="one")
    ana.asks(join(FIRST), expect.join_group(error_code="NONE", generation_id=bob.epoch, leader=""))
    return ana, cat


@scenario("migration/replace/beside-a-classic-one", source=REPLACES, clauses=("MG-26",))
def a_classic_successor_gets_its_own_part(conversation: Conversation) -> None:
    """A classic member that replaces the last consumer gets its partitions, and the others keep theirs."""
    ana, cat = replaced(conversation)

    is_classic(ana, "Stable", protocol_type="consumer")
    ana.asks(ask.sync_group(version=5), parts(FIRST))
    cat.asks(ask.sync_group(version=5), parts(SECOND))
    beats(ana)
    beats(cat)


@scenario("migration/replace/two-topics", source="Utils#toConsumerProtocolAssignment", clauses=("MG-26",))
def a_classic_successor_gets_topics_in_any_order(conversation: Conversation) -> None:
    """The topics of an assignment come in any order if the coordinator translates it for a classic member."""
    topics = ("orders", "payments")
    bob = conversation.member("bob", instance_id="one")
    bob.enters(*topics, assigned={"orders": (0, 1, 2), **BOTH})
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(topics=topics), expect.join_group(error_code="NONE", leader="", members=()))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))
    ana.asks(ask.sync_group(version=5), error_code="NONE")
    beats(ana)


@scenario("migration/replace/former-instance", source="ClassicGroup#fromConsumerGroup", clauses=("MG-26",))
def nobody_replaces_a_consumer_by_the_instance_that_it_gave_up(conversation: Conversation) -> None:
    """JoinGroup by an instance id that a consumer gave up fails until 4.3, and is UNKNOWN_MEMBER_ID since."""
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned=BOTH)
    renamed = ask.consumer_group_heartbeat(
        member_epoch=0,
        instance_id="two",
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=("payments",),
        topic_partitions={},
    )
    bob.asks(renamed, expect.consumer_group_heartbeat(error_code="NONE"))
    ana = conversation.actor("ana", group_instance_id="one")

    refused = one_of("UNKNOWN_SERVER_ERROR", "UNKNOWN_MEMBER_ID")
    ana.asks(join(member_id="member-bob"), expect.join_group(error_code=refused))


@scenario(
    "migration/replace/restart",
    source="ConsumerGroup#createGroupTombstoneRecordsWithReplacedMember",
    clauses=("MG-26", "MG-49"),
    needs=(Capability.RESTART,),
)
def a_group_of_successors_survives_a_restart(conversation: Conversation) -> None:
    """After a restart a group whose last consumer was replaced is classic, with the same members."""
    ana, cat = replaced(conversation)

    conversation.restarts_coordinator()
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Stable"),
        within_ms=20_000,
    )
    is_classic(ana, "Stable", protocol_type="consumer")
    ana.asks(ask.sync_group(version=5), parts(FIRST))
    cat.asks(ask.sync_group(version=5), parts(SECOND))


@scenario("migration/replace/regex-beside-names", source=JOINS, clauses=("MG-41",))
def a_lost_regular_expression_raises_the_epoch(conversation: Conversation) -> None:
    """A classic successor that subscribes to the same names raises the epoch where it loses an expression."""
    bob, dan = conversation.member("bob", instance_id="one"), conversation.member("dan")
    dan.enters("payments", assigned=BOTH)
    bob.enters("payments", regex="missing.*")
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(), expect.join_group(error_code="NONE", leader=""))
    known = expect.group_member(ana.member_id, topics=("payments",), regex=one_of("", "missing.*"))
    other = expect.group_member(dan.member_id, topics=("payments",), regex="")
    described = expect.consumer_group_describe(error_code="NONE", members=in_any_order(known, other))
    dan.asks(ask.consumer_group_describe(), described)
