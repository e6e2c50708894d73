"""Partitions that a member must give up: how long it may keep them, and which epochs are accepted."""

from harness.scenario import Answer, Conversation, Member, one_of, scenario
from suites.consumer_groups.reconciliation import INTERVAL_IS_OVER_MS, KEPT, LONG_INTERVAL, two_members
from suites.consumer_groups.sessions import ENDS_REBALANCE, TIMEOUT_MS
from suites.consumer_groups.validation import ALL, BOTH

UPDATES = "CurrentAssignmentBuilder#updateCurrentAssignment"
TAKEN_OR_FENCED = one_of("NONE", "FENCED_MEMBER_EPOCH")


def in_its_second_epoch(conversation: Conversation) -> tuple[Member, Answer]:
    """Return ana, who has two topics since her second epoch, and the answer to her join.

    No assignment is computed in the 5 s that follow, since 4.3.
    """
    ana = conversation.member("ana")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=BOTH)
    return ana, joined


@scenario("consumer_groups/given-up/own-again", source="KAFKA-19449", clauses=("CR-04",))
def what_a_member_gives_up_may_come_back(conversation: Conversation) -> None:
    """A member that is due the partition that it has just given up gets it back in the same answer.

    Before 4.1.2, and in 4.0 before 4.0.2, it had to wait for the next answer.
    """
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    bob.leaves()

    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 2)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 2)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 2, assigned=None)


@scenario("consumer_groups/given-up/dropped-topic-kept", source=UPDATES, clauses=("CR-16",))
def a_dropped_topic_has_to_be_given_up(conversation: Conversation) -> None:
    """A member that still owns a topic that it unsubscribed from stays in its epoch."""
    ana, joined = in_its_second_epoch(conversation)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(owned=BOTH, member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 2, assigned=None)


@scenario("consumer_groups/given-up/dropped-topic-gone", source=UPDATES, clauses=("CR-16",))
def a_dropped_topic_may_be_gone_already(conversation: Conversation) -> None:
    """A member that gives up a topic in the heartbeat that unsubscribes from it need not confirm again."""
    ana, joined = in_its_second_epoch(conversation)

    ana.heartbeats(topics=("orders",), owned=ALL)
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=None)


@scenario("consumer_groups/given-up/previous-epoch", source=UPDATES, clauses=("CR-16",))
def whoever_drops_a_topic_has_no_previous_epoch(conversation: Conversation) -> None:
    """Since 4.3, the previous epoch gets FENCED_MEMBER_EPOCH once the member has dropped a topic."""
    ana, joined = in_its_second_epoch(conversation)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    ana.heartbeats(epoch=joined["member_epoch"], owned=ALL, error_code=TAKEN_OR_FENCED)


@scenario("consumer_groups/given-up/previous-epoch-stays", source=UPDATES, clauses=("CR-17",))
def whoever_adds_a_topic_has_a_previous_epoch(conversation: Conversation) -> None:
    """The previous epoch is still accepted once the member has added a topic."""
    ana, joined = in_its_second_epoch(conversation)

    ana.heartbeats(topics=("orders", "payments", "missing"))
    ana.heartbeats(epoch=joined["member_epoch"], owned=ALL, error_code=TAKEN_OR_FENCED)


@scenario("consumer_groups/given-up/in-time-in-its-epoch", source=ENDS_REBALANCE, clauses=("CR-16", "CR-23"))
def whoever_gives_up_a_dropped_topic_in_time_stays(conversation: Conversation) -> None:
    """A member that gives up a dropped topic within its rebalance timeout is not removed later.

    Since 4.3 it stays in its epoch while no assignment is computed.
    """
    ana = conversation.member("ana")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    ana.enters("orders", "payments", rebalance_timeout_ms=TIMEOUT_MS, assigned=BOTH)

    ana.heartbeats(topics=("orders",), assigned=ALL)
    ana.heartbeats(owned=ALL)
    conversation.elapses(TIMEOUT_MS + 600)
    ana.heartbeats()
