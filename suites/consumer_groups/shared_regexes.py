"""Members that share a regular expression, and members that give one up."""

from harness.scenario import Conversation, scenario
from suites.consumer_groups.membership import group_is, topic_made
from suites.consumer_groups.regular_expressions import (
    PAYMENTS,
    RESOLVES_MS,
    SUBSCRIBES,
    UPDATES,
    resolved,
    resolved_member,
)
from suites.consumer_groups.validation import ALL

SUBSCRIBES_ALIKE = "ConsumerGroup#subscriptionType"


def _shared_by_three(conversation: Conversation, *, named: bool) -> None:
    """Let three members share a topic that all match by one regular expression, and the last may name too."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=7)
    joined = ana.enters(topics=None, regex=topic, assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1)
    bob.enters(topics=None, regex=topic, member_epoch=joined["member_epoch"] + 2, assigned={})
    conversation.reconciles(ana, bob)

    topics = (topic,) if named else None
    cat.enters(topics=topics, regex=topic, member_epoch=joined["member_epoch"] + 3, assigned={})
    conversation.reconciles(ana, bob, cat)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 3)


@scenario("consumer_groups/regex/shared", source=SUBSCRIBES_ALIKE, clauses=("KX-04",))
def three_members_share_a_match(conversation: Conversation) -> None:
    """Three members with the same regular expression share the topic as members with the same name do."""
    _shared_by_three(conversation, named=False)


@scenario("consumer_groups/regex/shared-and-named", source=SUBSCRIBES_ALIKE, clauses=("KX-03", "KX-04"))
def a_match_that_one_member_names_too_is_shared(conversation: Conversation) -> None:
    """A member that also names a matched topic subscribes unlike the others, which changes who has what."""
    _shared_by_three(conversation, named=True)


@scenario("consumer_groups/regex/one-changes", source=UPDATES, clauses=("KX-04", "KX-14"))
def whoever_gives_up_a_regular_expression_leaves_it_to_another(conversation: Conversation) -> None:
    """A regular expression stays resolved when one of its two members replaces it by a name."""
    ana, joined = resolved_member(conversation)
    bob = conversation.member("bob")
    bob.enters(topics=None, regex="orders", assigned={})
    conversation.reconciles(ana, bob)

    bob.heartbeats(topics=("payments",), regex="")
    conversation.reconciles(ana, bob)
    conversation.elapses(RESOLVES_MS)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 3, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 3)


@scenario("consumer_groups/regex/given-up", source=SUBSCRIBES, clauses=("KX-02", "KX-14"))
def what_a_given_up_regular_expression_matched_is_forgotten(conversation: Conversation) -> None:
    """A regular expression that matches nothing changes nothing when it is resolved."""
    ana, joined = resolved_member(conversation)
    ana.heartbeats(topics=("payments",), regex="missing", assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 2, assigned=PAYMENTS)
    conversation.elapses(RESOLVES_MS)

    ana.heartbeats(owned=PAYMENTS, member_epoch=joined["member_epoch"] + 2, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)
