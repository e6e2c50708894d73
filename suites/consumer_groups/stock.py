"""A broker with Kafka's own settings for consumer groups, within the interval between assignments.

Since 4.3 Kafka computes a target assignment at most once a second. Other scenarios configure longer
intervals for their groups, or none for the broker.
"""

from harness.scenario import Conversation, one_of, scenario
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import COMPUTES, DELAYS
from suites.consumer_groups.validation import ALL, BOTH

STOCK = {
    "group.consumer.assignment.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
    "group.consumer.min.session.timeout.ms": "45000",
}
STOCK_INTERVAL_IS_OVER_MS = 1_500


@scenario(
    "consumer_groups/stock/second-member",
    source=DELAYS,
    clauses=("CR-15",),
    broker_config=STOCK,
)
def a_second_member_waits_for_a_second(conversation: Conversation) -> None:
    """Since 4.3, a member that joins within a second of the last assignment waits for the next one."""
    ana, bob = conversation.members("ana", "bob")
    ana.awaits_metadata()
    joined = ana.enters(assigned=ALL)

    bob.enters(assigned={})
    group_is(bob, one_of("Assigning", "Reconciling"), epoch=joined["member_epoch"] + 1)
    ana.heartbeats()
    conversation.elapses(STOCK_INTERVAL_IS_OVER_MS)
    conversation.reconciles(ana, bob)
    group_is(bob, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/stock/dropped-topic", source=COMPUTES, clauses=("CR-16",), broker_config=STOCK)
def a_topic_is_dropped_at_once(conversation: Conversation) -> None:
    """A member that drops a topic within a second of its assignment must give it up at once."""
    ana = conversation.member("ana")
    ana.awaits_metadata()
    joined = ana.enters("orders", "payments", assigned=BOTH)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"], assigned=ALL)
    ana.heartbeats(owned=ALL, assigned=None)
    conversation.elapses(STOCK_INTERVAL_IS_OVER_MS)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/stock/added-topic", source=DELAYS, clauses=("CR-17",), broker_config=STOCK)
def a_topic_is_added_after_a_second(conversation: Conversation) -> None:
    """A topic added within a second of the assignment is assigned later, or at once before 4.3."""
    ana = conversation.member("ana")
    ana.awaits_metadata()
    joined = ana.enters(assigned=ALL)

    ana.heartbeats(topics=("orders", "payments"))
    conversation.elapses(STOCK_INTERVAL_IS_OVER_MS)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/stock/emptied-group", source=DELAYS, clauses=("CH-50",), broker_config=STOCK)
def an_emptied_group_is_joined_within_a_second(conversation: Conversation) -> None:
    """A member that joins an emptied group within a second gets everything, but nothing at first in 4.3."""
    ana = conversation.member("ana")
    ana.awaits_metadata()
    ana.enters(assigned=ALL)
    ana.leaves()

    ana.enters()
    conversation.elapses(STOCK_INTERVAL_IS_OVER_MS)
    ana.heartbeats()
    ana.heartbeats(assigned=None)
