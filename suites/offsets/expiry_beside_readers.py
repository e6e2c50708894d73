"""Expiry in consumer, share and streams groups whose members read a topic: its offsets stay, others go."""

from harness.scenario import Actor, Conversation, ask, expect, scenario
from suites.consumer_groups.validation import ALL
from suites.offsets.expiry import FREQUENT_EXPIRY
from suites.streams_groups.membership import ALL as ALL_TASKS

SUBSCRIBED = "ModernGroup#offsetExpirationCondition"
STREAMS = "StreamsGroup#isSubscribedToTopic"
RETENTION_MS, PASSED_MS = 2_000, 3_400


def _commits_for_a_while(zoe: Actor) -> None:
    """Commit an offset of `orders` and one of `payments`, as no member, for a group to come."""
    zoe.sends(
        ask.offset_commit(
            version=4,
            generation_id=-1,
            member_id="",
            retention_time_ms=RETENTION_MS,
            topics={"orders": {0: 7}, "payments": {0: 8}},
        )
    )
    zoe.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}))


def _only_orders_stays(conversation: Conversation, zoe: Actor) -> None:
    conversation.elapses(PASSED_MS)
    both = {"orders": (0,), "payments": (0,)}
    zoe.asks(ask.offset_fetch(topics=both), expect.offset_fetch({"orders": {0: 7}, "payments": {0: -1}}))


@scenario(
    "offsets/expiry/read-by-consumers", source=SUBSCRIBED, clauses=("EX-18",), broker_config=FREQUENT_EXPIRY
)
def a_topic_that_consumers_read_keeps_its_offsets(conversation: Conversation) -> None:
    """While a member of a consumer group reads a topic, its expired offset stays; that of another goes.

    When the last member has left, the other expires too.
    """
    zoe, ana = conversation.actor("zoe"), conversation.member("ana")
    _commits_for_a_while(zoe)
    ana.enters(assigned=ALL)

    _only_orders_stays(conversation, zoe)
    ana.leaves()
    zoe.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))


@scenario("offsets/expiry/read-by-streams", source=STREAMS, clauses=("EX-18",), broker_config=FREQUENT_EXPIRY)
def a_topic_that_streams_read_keeps_its_offsets(conversation: Conversation) -> None:
    """While a streams group has a member, the expired offset of a topic of its topology stays.

    When the last member has left, it expires too.
    """
    zoe, ana = conversation.actor("zoe"), conversation.streams_member("ana")
    _commits_for_a_while(zoe)
    ana.enters(assigned=ALL_TASKS)

    _only_orders_stays(conversation, zoe)
    ana.leaves()
    zoe.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))
