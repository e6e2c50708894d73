"""Members that subscribe by regular expressions: when these are resolved, and what they match."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Answer,
    Conversation,
    Member,
    PinNumber,
    ask,
    expect,
    one_of,
    scenario,
)
from suites.consumer_groups.membership import deletes, group_is, grows, topic_made
from suites.consumer_groups.validation import ALL, BOTH

UPDATES = "GroupMetadataManager#maybeUpdateRegularExpressions"
DELETES = "GroupMetadataManager#maybeDeleteResolvedRegularExpressions"
SUBSCRIBES = "ConsumerGroup#computeSubscribedTopicNames"
PAYMENTS = {"payments": (0, 1)}
EITHER = "orders|payments"
RESOLVES_MS = 500
"""How long a coordinator gets to resolve a regular expression where no answer shows that it has."""
BATCH_IS_OVER_MS = 10_500
"""Regular expressions are resolved again 10 s after the last time, and not before."""


def resolved(actor: Member, epoch: PinNumber) -> None:
    """Wait until the coordinator has resolved a regular expression, which raises the group's epoch."""
    actor.repeats(ask.consumer_group_describe(), until=expect.consumer_group_describe(group_epoch=epoch))


def resolved_member(conversation: Conversation, regex: str = "orders") -> tuple[Member, Answer]:
    """Return ana, who is assigned what a regular expression matches, and the answer to her join.

    By then she is one epoch further.
    """
    ana = conversation.member("ana")
    joined = ana.enters(topics=None, regex=regex, assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1)
    return ana, joined


@scenario("consumer_groups/regex/joins", source=UPDATES, clauses=("KX-01", "KX-02"))
def a_regular_expression_is_resolved_later(conversation: Conversation) -> None:
    """A member that joins by a regular expression gets nothing until the next epoch."""
    ana = conversation.member("ana")
    joined = ana.enters(topics=None, regex=EITHER, assigned={})
    resolved(ana, joined["member_epoch"] + 1)

    group_is(ana, "Assigning", epoch=joined["member_epoch"] + 1, assignment_epoch=joined["member_epoch"])
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=BOTH)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1, assignment_epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/regex/described", source="ConsumerGroup#asDescribedGroup", clauses=("KX-02",))
def a_regular_expression_is_described(conversation: Conversation) -> None:
    """ConsumerGroupDescribe returns a member's regular expression, and not the topics it matches."""
    ana, joined = resolved_member(conversation, EITHER)
    ana.looks_up("orders", "payments")

    known = expect.group_member(
        ana.member_id, epoch=joined["member_epoch"] + 1, owned=BOTH, target=BOTH, topics=(), regex=EITHER
    )
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))


@scenario("consumer_groups/regex/names-too", source=SUBSCRIBES, clauses=("KX-03",))
def names_are_added_to_a_regular_expression(conversation: Conversation) -> None:
    """A member that adds a topic name to its regular expression gets both at once, in the next epoch."""
    ana, joined = resolved_member(conversation)

    ana.heartbeats(
        topics=("payments",), regex="orders", member_epoch=joined["member_epoch"] + 2, assigned=BOTH
    )
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/regex/joins-by-both", source=SUBSCRIBES, clauses=("KX-03",))
def names_need_not_wait_for_a_regular_expression(conversation: Conversation) -> None:
    """A member that joins by a name and a regular expression gets the named topic at once."""
    ana = conversation.member("ana")
    joined = ana.enters("payments", regex="orders", assigned=PAYMENTS)
    resolved(ana, joined["member_epoch"] + 1)

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=BOTH)


@scenario("consumer_groups/regex/named-too", source=SUBSCRIBES, clauses=("KX-03",))
def a_name_and_its_match_are_one_topic(conversation: Conversation) -> None:
    """A topic that a member subscribes to by name and by regular expression is assigned once."""
    ana = conversation.member("ana")
    joined = ana.enters("orders", regex="ord.*s", assigned=ALL)
    resolved(ana, joined["member_epoch"] + 1)

    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/regex/of-another", source=UPDATES, clauses=("KX-04",))
def a_known_regular_expression_is_resolved_already(conversation: Conversation) -> None:
    """A member that joins with another member's regular expression shares its topics at once."""
    ana, joined = resolved_member(conversation)
    bob = conversation.member("bob")

    bob.enters(topics=None, regex="orders", member_epoch=joined["member_epoch"] + 2, assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={"orders": (0, 1)})
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/regex/beside-a-name", source=SUBSCRIBES, clauses=("KX-04",))
def a_name_and_a_regular_expression_compete(conversation: Conversation) -> None:
    """A member subscribed by name and one by regular expression share the topic that both cover."""
    ana, joined = resolved_member(conversation)
    bob = conversation.member("bob")

    bob.enters(member_epoch=joined["member_epoch"] + 2, assigned={})
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/regex/cleared", source=UPDATES, clauses=("KX-05",))
def a_cleared_regular_expression_matches_nothing(conversation: Conversation) -> None:
    """A member that clears its regular expression keeps its names; the epoch rises since 4.1.2."""
    ana = conversation.member("ana")
    joined = ana.enters("payments", regex="orders", assigned=PAYMENTS)
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=BOTH)

    ana.heartbeats(regex="")
    ana.heartbeats(owned=PAYMENTS, assigned=None)
    group_is(ana, one_of("Stable", "Assigning", "Reconciling"))


@scenario("consumer_groups/regex/cleared-alone", source=UPDATES, clauses=("KX-05",))
def whoever_clears_everything_has_nothing(conversation: Conversation) -> None:
    """A member that clears its whole subscription must give up everything, at once since 4.1.2."""
    ana, _ = resolved_member(conversation)

    ana.heartbeats(regex="")
    ana.heartbeats(owned={})
    known = expect.group_member(ana.member_id, topics=(), regex="")
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))


@scenario("consumer_groups/regex/replaced-by-name", source=UPDATES, clauses=("KX-05",))
def a_name_may_replace_a_regular_expression(conversation: Conversation) -> None:
    """A member that replaces its regular expression by the matched topic's name keeps its partitions."""
    ana, joined = resolved_member(conversation)

    ana.heartbeats(
        topics=("orders",), regex="", member_epoch=joined["member_epoch"] + 2, owned=ALL, assigned=None
    )
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/regex/unchanged", source=UPDATES, clauses=("KX-06",))
def what_is_left_out_stays(conversation: Conversation) -> None:
    """A heartbeat without a regular expression, in any version, or with the same one changes nothing."""
    ana, joined = resolved_member(conversation)

    ana.heartbeats(regex=None, member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(regex="orders", member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(version=0, member_epoch=joined["member_epoch"] + 1, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/regex/empty-joins", source=UPDATES, clauses=("KX-06",))
def an_empty_regular_expression_is_a_subscription(conversation: Conversation) -> None:
    """A member may join with an empty regular expression, which subscribes to nothing."""
    ana = conversation.member("ana")

    joined = ana.enters(topics=None, regex="", assigned={})
    conversation.elapses(RESOLVES_MS)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/regex/batched", source=UPDATES, clauses=("KX-07",))
def another_regular_expression_waits(conversation: Conversation) -> None:
    """A new regular expression is resolved no earlier than 10 s after the group's last resolution."""
    _, joined = resolved_member(conversation)
    bob = conversation.member("bob")

    bob.enters(topics=None, regex="payments", assigned={})
    conversation.elapses(RESOLVES_MS)
    bob.heartbeats(assigned=None)
    conversation.elapses(BATCH_IS_OVER_MS)
    bob.heartbeats(assigned=None)
    resolved(bob, joined["member_epoch"] + 2)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=PAYMENTS)


@scenario("consumer_groups/regex/changed", source=UPDATES, clauses=("KX-07",))
def a_changed_regular_expression_is_resolved_at_once(conversation: Conversation) -> None:
    """A sole member that changes its regular expression gives up what the former one matched."""
    ana, _ = resolved_member(conversation)

    ana.heartbeats(topics=(), regex="payments")
    conversation.elapses(BATCH_IS_OVER_MS)
    ana.heartbeats(owned={})
    conversation.elapses(RESOLVES_MS)
    ana.heartbeats(owned={})
    ana.heartbeats(owned=PAYMENTS, assigned=None)
    group_is(ana, "Stable")


@scenario("consumer_groups/regex/topic-created", source=UPDATES, clauses=("KX-08",))
def a_created_topic_is_matched_later(conversation: Conversation) -> None:
    """A new topic is matched by the first heartbeat at least 10 s after the last resolution."""
    ana = conversation.member("ana")
    joined = ana.enters(topics=None, regex=conversation.group("topic"), assigned={})
    conversation.elapses(RESOLVES_MS)
    topic = topic_made(conversation, ana)

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    conversation.elapses(BATCH_IS_OVER_MS)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0, 1, 2)})


@scenario("consumer_groups/regex/partitions-added", source=UPDATES, clauses=("KX-19",))
def added_partitions_need_no_match(conversation: Conversation) -> None:
    """Partitions that are added to a matched topic are assigned with the next heartbeat."""
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana, partitions=1)
    joined = ana.enters(topics=None, regex=topic, assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0,)})

    grows(ana, topic, partitions=3)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned={topic: (0, 1, 2)})
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/regex/topic-deleted", source=UPDATES, clauses=("KX-19",))
def a_deleted_topic_that_was_matched_is_given_up(conversation: Conversation) -> None:
    """A matched topic that is deleted must be given up at once; it stays matched until topics are created.

    A new topic triggers a resolution of all regular expressions, 10 s after the last; a deletion does not.
    """
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana)
    joined = ana.enters(topics=None, regex=topic, assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0, 1, 2)})

    deletes(ana, topic)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 2, assigned=None)
    topic_made(conversation, ana, "another", partitions=1)
    conversation.elapses(BATCH_IS_OVER_MS)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=None)
    resolved(ana, joined["member_epoch"] + 3)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 3, assigned=None)


@scenario(
    "consumer_groups/regex/refreshed",
    source=UPDATES,
    clauses=("KX-09",),
    broker_config={"group.consumer.regex.refresh.interval.ms": 20_000},
)
def a_regular_expression_is_resolved_regularly(conversation: Conversation) -> None:
    """Since 4.1, a deleted topic is dropped by the first heartbeat after the refresh interval.

    Before that, only the creation of a topic triggers a resolution. The drop raises the group's epoch again.
    """
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana)
    joined = ana.enters(topics=None, regex=topic, assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0, 1, 2)})
    deletes(ana, topic)
    ana.heartbeats(assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 2)

    conversation.elapses(BATCH_IS_OVER_MS)
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 2, assigned=None)
    conversation.elapses(BATCH_IS_OVER_MS)
    ana.heartbeats(owned={}, assigned=None)
    conversation.elapses(RESOLVES_MS)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
    ana.heartbeats(owned={}, assigned=None)


@scenario("consumer_groups/regex/last-leaves", source=DELETES, clauses=("KX-14",))
def a_regular_expression_goes_with_its_last_member(conversation: Conversation) -> None:
    """A regular expression whose last member left is resolved anew when a member joins with it."""
    ana, joined = resolved_member(conversation)
    ana.leaves()
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 2)

    again = ana.enters(topics=None, regex="orders", assigned={})
    resolved(ana, again["member_epoch"] + 1)
    ana.heartbeats(member_epoch=again["member_epoch"] + 1, assigned=ALL)


@scenario("consumer_groups/regex/one-leaves", source=DELETES, clauses=("KX-14",))
def a_regular_expression_stays_with_another(conversation: Conversation) -> None:
    """A regular expression stays resolved when one of its two members leaves."""
    ana, joined = resolved_member(conversation)
    bob = conversation.member("bob")
    bob.enters(topics=None, regex="orders", assigned={})
    conversation.reconciles(ana, bob)

    ana.leaves()
    bob.heartbeats(owned=bob.assigned, member_epoch=joined["member_epoch"] + 3, assigned=ALL)
    group_is(bob, "Stable", epoch=joined["member_epoch"] + 3)


@scenario(
    "consumer_groups/regex/static-replaced",
    source="GroupMetadataManager#replaceMember",
    clauses=("KX-15",),
)
def a_successor_has_the_regular_expression(conversation: Conversation) -> None:
    """A static member's successor with the same regular expression gets its partitions at once."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    joined = ana.enters(topics=None, regex="orders", assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=ALL)

    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    bob.enters(topics=None, regex="orders", member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    group_is(bob, "Stable", epoch=joined["member_epoch"] + 1)
