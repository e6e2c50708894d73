"""Which assignor a group uses, and what the assignors do with topics of the scenario's own."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from harness.scenario import Conversation, GroupRef, Member, ask, expect, scenario
from suites.consumer_groups.membership import deletes, group_is, grows, topic_made
from suites.consumer_groups.validation import ALL, BOTH, sole_member

CHOOSES = "ConsumerGroup#preferredServerAssignor"
VOTES = "ConsumerGroup#computePreferredServerAssignor"
CHANGES = "GroupMetadataManager#hasPreferredServerAssignorChanged"
BY_RANGE = "RangeAssignor#assign"
KEEPS = "UniformHomogeneousAssignmentBuilder#maybeRevokePartitions"
BY_UNIFORM = "UniformHomogeneousAssignmentBuilder#build"
BY_UNIFORM_APART = "UniformHeterogeneousAssignmentBuilder#build"
NOTICES_TOPICS = "GroupMetadataManager#onMetadataUpdate"
Parts: TypeAlias = Mapping[str | GroupRef, Sequence[int]]
"""Partitions of topics, including topics of the scenario's own."""
ROUNDS = 6
"""How often each of three members heartbeats until nobody's assignment changes any more."""


def shares(actor: Member, *parts: tuple[Member, Parts]) -> None:
    """Let an actor check which member has which partitions, in a Stable group."""
    members = tuple(expect.group_member(member.member_id, owned=part, target=part) for member, part in parts)
    described = expect.consumer_group_describe(error_code="NONE", group_state="Stable", members=members)
    actor.asks(ask.consumer_group_describe(), described)


def assignor_is(actor: Member, name: str) -> None:
    """Let an actor check which assignor the group has."""
    actor.asks(ask.consumer_group_describe(), expect.consumer_group_describe(assignor_name=name))


@scenario("consumer_groups/assignors/most-votes", source=CHOOSES, clauses=("CA-01", "CA-03"))
def the_assignor_with_most_votes_assigns(conversation: Conversation) -> None:
    """A group uses the assignor with most member votes, and the broker's first one without a vote."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")

    ana.enters(assigned=ALL)
    assignor_is(ana, "uniform")
    bob.enters(assignor="range")
    assignor_is(ana, "range")
    ana.heartbeats(assignor="uniform")
    cat.enters(assignor="uniform")
    assignor_is(ana, "uniform")
    bob.leaves()
    ana.leaves()
    cat.leaves()
    assignor_is(ana, "uniform")


@scenario("consumer_groups/assignors/tie", source=CHOOSES, clauses=("CA-08",))
def of_equal_votes_uniform_is_described(conversation: Conversation) -> None:
    """With one vote each for range and uniform, ConsumerGroupDescribe returns uniform, in either order."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=2)
    ana.enters(topic, assignor="range", assigned={topic: (0, 1)})
    bob.enters(topic, assignor="uniform", assigned={})
    assignor_is(ana, "uniform")

    ana.leaves()
    # With two partitions no member gets an extra one, which would depend on the members' ids.
    ana.enters(topic, assignor="range")
    assignor_is(ana, "uniform")


@scenario("consumer_groups/assignors/tie-of-last-vote", source=VOTES, clauses=("CA-08", "CA-10"))
def of_equal_votes_the_last_assigns(conversation: Conversation) -> None:
    """With one vote each for uniform and range, the later vote assigns, though uniform is described."""
    bob, ana = conversation.members("bob", "ana")
    topic = topic_made(conversation, bob, partitions=5)
    bob.enters(topic, assignor="uniform", assigned={topic: (0, 1, 2, 3, 4)})

    ana.enters(topic, assignor="range", assigned={})
    assignor_is(ana, "uniform")
    bob.heartbeats(assigned={topic: (3, 4)})


@scenario("consumer_groups/assignors/tie-of-subscriber", source=VOTES, clauses=("CA-10",))
def of_equal_votes_that_of_who_changes_assigns(conversation: Conversation) -> None:
    """With equal votes, that of the member that subscribes anew is counted last, and assigns."""
    bob, ana = conversation.members("bob", "ana")
    topic = topic_made(conversation, bob, partitions=5)
    ana.enters(topic, assignor="range", assigned={topic: (0, 1, 2, 3, 4)})
    bob.enters(topic, assignor="uniform", assigned={})
    ana.heartbeats(assigned={topic: (0, 1, 2)})
    ana.heartbeats(owned={topic: (0, 1, 2)}, assigned=None)
    bob.heartbeats(owned={}, assigned={topic: (3, 4)})

    bob.heartbeats(topics=(topic, "missing"), assigned=None)
    ana.heartbeats(topics=(topic, "missing"), assigned=None)
    assignor_is(ana, "uniform")


@scenario("consumer_groups/assignors/tie-at-rest", source=CHANGES, clauses=("CA-04", "CA-10"))
def equal_votes_do_not_rest(conversation: Conversation) -> None:
    """Since 4.4, a member voting for range in a tie with uniform raises the epoch with each heartbeat."""
    bob, ana = conversation.members("bob", "ana")
    topic = topic_made(conversation, bob, partitions=5)
    bob.enters(topic, assignor="uniform", assigned={topic: (0, 1, 2, 3, 4)})
    ana.enters(topic, assignor="range", assigned={})
    bob.heartbeats(assigned={topic: (3, 4)})
    bob.heartbeats(owned={topic: (3, 4)}, assigned=None)
    ana.heartbeats(owned={}, assigned={topic: (0, 1, 2)})

    ana.heartbeats(assigned=None)
    ana.heartbeats(assigned=None)
    bob.heartbeats(assigned=None)
    bob.heartbeats(assigned=None)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(assignor_name="uniform"))


@scenario("consumer_groups/assignors/other-vote", source=CHOOSES, clauses=("CA-04",))
def another_vote_is_taken(conversation: Conversation) -> None:
    """A sole member's vote for another assignor is accepted; since 4.4 it raises the epoch."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(assignor="range", assigned=None)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
    ana.heartbeats(assigned=None)
    ana.heartbeats(topics=("orders", "payments"), assigned=BOTH)
    assignor_is(ana, "range")
    ana.heartbeats(epoch=joined["member_epoch"] + 7, error_code="FENCED_MEMBER_EPOCH")


@scenario("consumer_groups/assignors/range", source=BY_RANGE, clauses=("CA-02",))
def range_assigns_in_the_order_of_ids(conversation: Conversation) -> None:
    """The range assignor gives members contiguous ranges, in the order of their member ids."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=5)
    bob.enters(topic, assignor="range", assigned={topic: (0, 1, 2, 3, 4)})
    ana.enters(topic, assignor="range", assigned={})

    conversation.reconciles(bob, ana)
    assignor_is(ana, "range")
    shares(ana, (ana, {topic: (0, 1, 2)}), (bob, {topic: (3, 4)}))


@scenario("consumer_groups/assignors/range-instances", source=BY_RANGE, clauses=("CA-02",))
def range_begins_with_instances(conversation: Conversation) -> None:
    """The range assignor starts with static members, in the order of their instance ids."""
    ana = conversation.member("ana")
    bob = conversation.member("bob", instance_id="two")
    cat = conversation.member("cat", instance_id="one")
    topic = topic_made(conversation, ana, partitions=5)
    ana.enters(topic, assignor="range", assigned={topic: (0, 1, 2, 3, 4)})
    bob.enters(topic, assignor="range", assigned={})
    cat.enters(topic, assignor="range", assigned={})

    conversation.reconciles(ana, bob, cat, rounds=ROUNDS)
    shares(ana, (ana, {topic: (4,)}), (bob, {topic: (2, 3)}), (cat, {topic: (0, 1)}))


@scenario("consumer_groups/assignors/range-apart", source=BY_RANGE, clauses=("CA-02",))
def range_assigns_each_topic_by_itself(conversation: Conversation) -> None:
    """The range assignor divides each topic among its subscribers, whatever else these have."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=5)
    ana.looks_up("orders")
    ana.enters(topic, "orders", assignor="range")
    bob.enters(topic, assignor="range", assigned={})
    cat.enters("orders", assignor="range", assigned={})

    conversation.reconciles(ana, bob, cat, rounds=ROUNDS)
    shares(
        ana,
        (ana, {topic: (0, 1, 2), "orders": (0, 1)}),
        (bob, {topic: (3, 4)}),
        (cat, {"orders": (2,)}),
    )


@scenario("consumer_groups/assignors/range-grown", source=NOTICES_TOPICS, clauses=("CA-02", "CA-07"))
def ranges_move_when_a_topic_grows(conversation: Conversation) -> None:
    """When a topic grows, the range assignor moves partitions from one member to another."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=4)
    joined = ana.enters(topic, assignor="range", assigned={topic: (0, 1, 2, 3)})
    bob.enters(topic, assignor="range", assigned={})
    conversation.reconciles(ana, bob)
    shares(ana, (ana, {topic: (0, 1)}), (bob, {topic: (2, 3)}))

    grows(ana, topic, partitions=6)
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)
    shares(ana, (ana, {topic: (0, 1, 2)}), (bob, {topic: (3, 4, 5)}))


@scenario("consumer_groups/assignors/uniform", source=BY_UNIFORM, clauses=("CA-05",))
def uniform_gives_equal_parts(conversation: Conversation) -> None:
    """The uniform assignor gives three members of one topic parts that are as equal as possible."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=7)
    joined = ana.enters(topic, assigned={topic: (0, 1, 2, 3, 4, 5, 6)})
    bob.enters(topic, assigned={})
    conversation.reconciles(ana, bob)
    cat.enters(topic, assigned={})

    conversation.reconciles(ana, bob, cat, rounds=ROUNDS)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/assignors/uniform-leaver", source=BY_UNIFORM, clauses=("CA-05",))
def uniform_keeps_what_it_can(conversation: Conversation) -> None:
    """When a member leaves, the uniform assignor adds its partitions to what the others have."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=6)
    joined = ana.enters(topic)
    bob.enters(topic, assigned={})
    cat.enters(topic, assigned={})
    conversation.reconciles(ana, bob, cat, rounds=ROUNDS)

    bob.leaves()
    conversation.reconciles(ana, cat)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 3)


@scenario("consumer_groups/assignors/uniform-apart", source=BY_UNIFORM_APART, clauses=("CA-06",))
def uniform_balances_different_subscriptions(conversation: Conversation) -> None:
    """The uniform assignor gives more of a topic to the member that has no other topic."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=5)
    ana.looks_up("orders")
    everything: Parts = {topic: (0, 1, 2, 3, 4), "orders": (0, 1, 2)}
    joined = ana.enters(topic, "orders", assigned=everything)
    bob.enters(topic, assigned={})

    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/assignors/too-many-members", source=BY_UNIFORM, clauses=("CA-05",))
def a_member_may_have_nothing(conversation: Conversation) -> None:
    """Of three members of a topic with one partition, two get none, and the group is Stable."""
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=1)
    ana.enters(topic, assigned={topic: (0,)})
    bob.enters(topic, assigned={})
    cat.enters(topic, assigned={})

    conversation.reconciles(ana, bob, cat)
    shares(ana, (ana, {topic: (0,)}), (bob, {}), (cat, {}))


@scenario("consumer_groups/assignors/uniform-grown", source=NOTICES_TOPICS, clauses=("CA-05", "CA-07"))
def a_topic_that_grows_is_shared(conversation: Conversation) -> None:
    """When a topic grows, the uniform assignor adds to what each of two members has."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=2)
    joined = ana.enters(topic, assigned={topic: (0, 1)})
    bob.enters(topic, assigned={})
    conversation.reconciles(ana, bob)
    shares(ana, (ana, {topic: (0,)}), (bob, {topic: (1,)}))

    grows(ana, topic, partitions=4)
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/assignors/created", source=NOTICES_TOPICS, clauses=("CA-07",))
def a_topic_that_is_created_is_shared(conversation: Conversation) -> None:
    """Two members that subscribe to a missing topic share it when it is created."""
    ana, bob = conversation.members("ana", "bob")
    awaited = conversation.group("topic")
    ana.enters(awaited, assigned={})
    joined = bob.enters(awaited, assigned={})

    topic = topic_made(conversation, ana, partitions=2)
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)
    shares(ana, (ana, {topic: (0,)}), (bob, {topic: (1,)}))


@scenario("consumer_groups/assignors/deleted", source=NOTICES_TOPICS, clauses=("CA-07",))
def a_topic_that_is_deleted_is_given_up_by_all(conversation: Conversation) -> None:
    """When a topic is deleted, each of two members gives up its part, and keeps its other partitions."""
    ana, bob = conversation.members("ana", "bob")
    topic = topic_made(conversation, ana, partitions=2)
    ana.looks_up("orders")
    everything: Parts = {topic: (0, 1), "orders": (0, 1, 2)}
    joined = ana.enters(topic, "orders", assigned=everything)
    bob.enters(topic, assigned={})
    conversation.reconciles(ana, bob)

    deletes(ana, topic)
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)
    shares(ana, (ana, {"orders": (0, 1, 2)}), (bob, {}))


@scenario("consumer_groups/assignors/made-anew", source=NOTICES_TOPICS, clauses=("CA-07",))
def a_topic_that_is_made_anew_is_another(conversation: Conversation) -> None:
    """A topic that is deleted and created again is assigned again, under its new id."""
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana, partitions=1)
    joined = ana.enters(topic, assigned={topic: (0,)})
    deletes(ana, topic)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 1, assigned=None)

    again = topic_made(conversation, ana, partitions=2)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned={again: (0, 1)})
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/assignors/extra-partition", source=KEEPS, clauses=("CA-09",))
def uniform_leaves_what_it_may(conversation: Conversation) -> None:
    """The uniform assignor leaves a member as many of its partitions as it is due, whatever its id.

    Of three partitions, one of two members gets two: in 4.0.0 the first by a hash, since then the one that
    had them.
    """
    bob, ana = conversation.members("bob", "ana")
    bob.enters(assignor="uniform", assigned=ALL)
    ana.enters(assignor="uniform", assigned={})

    bob.heartbeats(owned=ALL)
    bob.heartbeats(owned=bob.assigned, assigned=None)
    ana.heartbeats(owned={})
    assignor_is(ana, "uniform")
