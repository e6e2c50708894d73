"""Joining a share group, changing a subscription, and leaving."""

from harness.scenario import (
    ANY,
    Actor,
    Answer,
    Conversation,
    PinNumber,
    PinText,
    ShareMember,
    ask,
    expect,
    one_of,
    scenario,
)
from suites.consumer_groups.membership import topic_made
from suites.failures.too_large import SMALL_LOG
from suites.share_fetch.readers import has_state, topic_of

ALL = {"orders": (0, 1, 2)}
BOTH = {"orders": (0, 1, 2), "payments": (0, 1)}
HEARTBEATS = "GroupMetadataManager#shareGroupHeartbeat"
CHECKS_EPOCH = "GroupMetadataManager#throwIfShareGroupMemberEpochIsInvalid"
INITIALIZES = "GroupMetadataManager#initializeShareGroupState"
UNINITIALIZES = "GroupMetadataManager#uninitializeShareGroupState"
FENCES = "GroupMetadataManager#shareGroupFenceMember"
NOTICES_TOPICS = "GroupMetadataManager#onMetadataUpdate"
PENDS = "GroupMetadataManager#initializedAssignmentPending"
LIMITS = "GroupMetadataManager#throwIfShareGroupIsFull"


def share_group_is(
    actor: Actor, state: PinText, *, epoch: PinNumber = ANY, assignment_epoch: PinNumber = ANY
) -> None:
    """Let an actor describe the group, and expect its state, and its epochs where they are given."""
    described = expect.share_group_describe(
        error_code="NONE", group_state=state, group_epoch=epoch, assignment_epoch=assignment_epoch
    )
    actor.asks(ask.share_group_describe(), described)


def sole_sharer(conversation: Conversation, *, name: str = "ana") -> tuple[ShareMember, Answer]:
    """Return a member that has all of `orders`, and the answer with its assignment."""
    member = conversation.share_member(name)
    member.enters(assigned={})
    return member, member.awaits(ALL)


@scenario("share_groups/membership/joins", source=HEARTBEATS, clauses=("SH-13", "SH-14", "SH-25"))
def a_member_waits_for_share_state(conversation: Conversation) -> None:
    """The first member gets nothing at first, and all partitions once they have share state."""
    ana = conversation.share_member("ana")

    joined = ana.enters(assigned={}, interval_ms=5_000)
    ana.awaits(ALL, member_epoch=joined["member_epoch"] + 1)
    share_group_is(
        ana, "Stable", epoch=joined["member_epoch"] + 1, assignment_epoch=joined["member_epoch"] + 1
    )


@scenario("share_groups/membership/nothing-new", source=HEARTBEATS, clauses=("SH-15",))
def a_heartbeat_brings_nothing_new(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat without a change returns the same epoch and no assignment."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/membership/leaves", source=FENCES, clauses=("SH-23", "SH-24"))
def a_member_leaves(conversation: Conversation) -> None:
    """When the last member leaves, the group is Empty in the next epoch; in 4.4 it counts as assigned."""
    ana, joined = sole_sharer(conversation)

    ana.leaves()
    share_group_is(
        ana,
        "Empty",
        epoch=joined["member_epoch"] + 1,
        assignment_epoch=one_of(joined["member_epoch"], joined["member_epoch"] + 1),
    )


@scenario("share_groups/membership/full-heartbeat", source=HEARTBEATS, clauses=("SH-16",))
def a_full_heartbeat_gets_all(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat that repeats the subscription returns the assignment, in the same epoch."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"], assigned=ALL)


@scenario("share_groups/membership/joins-again", source=CHECKS_EPOCH, clauses=("SH-19",))
def a_member_joins_again(conversation: Conversation) -> None:
    """A member of a later epoch that joins again keeps it since 4.2, and is fenced before."""
    ana, _ = sole_sharer(conversation)

    ana.enters(error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="NONE", group_state="Stable"))


@scenario("share_groups/membership/joins-again-at-once", source=CHECKS_EPOCH, clauses=("SH-19",))
def a_new_member_joins_again(conversation: Conversation) -> None:
    """A member whose first answer was lost may join again in every release: 0 is its previous epoch."""
    ana = conversation.share_member("ana")
    joined = ana.enters("unheard-of", assigned={})

    ana.enters("unheard-of", member_epoch=joined["member_epoch"], assigned={})


@scenario("share_groups/membership/unknown-topic", source=HEARTBEATS, clauses=("SH-27",))
def a_topic_that_there_is_not(conversation: Conversation) -> None:
    """A member that subscribes to a missing topic joins, and gets no partitions."""
    ana = conversation.share_member("ana")

    joined = ana.enters("unheard-of", assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    share_group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("share_groups/membership/more-topics", source=HEARTBEATS, clauses=("SH-14", "SH-37"))
def a_member_subscribes_to_more(conversation: Conversation) -> None:
    """A member that adds a topic is in the next epoch, and gets the topic once it has share state."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    ana.awaits(BOTH, member_epoch=joined["member_epoch"] + 2)


@scenario("share_groups/membership/fewer-topics", source=HEARTBEATS, clauses=("SH-37",))
def a_member_subscribes_to_less(conversation: Conversation) -> None:
    """A member that drops one of two topics keeps the other, in the next epoch."""
    ana = conversation.share_member("ana")
    ana.enters("orders", "payments", assigned={})
    joined = ana.awaits(BOTH)

    ana.heartbeats(topics=("payments",), assigned={"payments": (0, 1)})
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="NONE", group_state="Stable"))
    ana.heartbeats(epoch=joined["member_epoch"])


@scenario("share_groups/membership/no-topics", source=HEARTBEATS, clauses=("SH-21",))
def a_member_gives_up_all_topics(conversation: Conversation) -> None:
    """A member that drops all topics gets an empty assignment in the next epoch, and stays."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(topics=(), member_epoch=joined["member_epoch"] + 1, assigned={})
    share_group_is(ana, "Stable")


@scenario("share_groups/membership/duplicate-topics", source=HEARTBEATS, clauses=("SH-16",))
def topics_are_a_set(conversation: Conversation) -> None:
    """A topic that is named twice counts once: subscription and epoch stay the same."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(topics=("orders", "orders"), member_epoch=joined["member_epoch"], assigned=ALL)


@scenario("share_groups/membership/another-rack", source=HEARTBEATS, clauses=("SH-16", "SH-25"))
def a_rack_makes_no_epoch(conversation: Conversation) -> None:
    """A member that changes its rack stays in its epoch, and is described with the new rack."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(rack_id="rack-2", member_epoch=joined["member_epoch"], assigned=None)
    described = expect.share_group_member("member-ana", epoch=joined["member_epoch"], rack_id="rack-2")
    ana.asks(ask.share_group_describe(), expect.share_group_describe(members=(described,)))


@scenario("share_groups/membership/second-member", source=HEARTBEATS, clauses=("SH-20",))
def a_second_member_shares(conversation: Conversation) -> None:
    """Two members of a topic with one partition both get it: nothing is revoked."""
    ana, bob = conversation.share_members("ana", "bob")
    single = topic_made(conversation, ana, partitions=1)
    ana.enters(single, assigned={})
    joined = ana.awaits({single: (0,)})

    bob.enters(single, member_epoch=joined["member_epoch"] + 1, assigned={single: (0,)})
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("share_groups/membership/third-member", source=HEARTBEATS, clauses=("SH-20",))
def three_members_share_a_partition(conversation: Conversation) -> None:
    """A partition is shared by all members, and by those that remain when one leaves."""
    ana, bob, cleo = conversation.share_members("ana", "bob", "cleo")
    single = topic_made(conversation, ana, partitions=1)
    ana.enters(single, assigned={})
    ana.awaits({single: (0,)})
    bob.enters(single, assigned={single: (0,)})
    joined = cleo.enters(single, assigned={single: (0,)})

    bob.leaves()
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    cleo.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("share_groups/membership/leaves-and-comes-back", source=FENCES, clauses=("SH-23", "SH-14"))
def a_member_comes_back(conversation: Conversation) -> None:
    """A member that returns to its Empty group gets all at once: the partitions kept their state."""
    ana, joined = sole_sharer(conversation)
    ana.leaves()

    ana.enters(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("share_groups/membership/topic-created", source=NOTICES_TOPICS, clauses=("SH-31",))
def a_topic_comes(conversation: Conversation) -> None:
    """A subscribed topic that is created is assigned as soon as it has share state."""
    ana = conversation.share_member("ana")
    topic = conversation.group("topic")
    joined = ana.enters(topic, assigned={})
    ana.asks(ask.create_topic(topic, num_partitions=2), expect.create_topic(error_code="NONE"))
    ana.awaits_metadata()
    ana.looks_up(topic)

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1)
    ana.awaits({topic: (0, 1)}, member_epoch=joined["member_epoch"] + 2)


@scenario("share_groups/membership/topic-grows", source=NOTICES_TOPICS, clauses=("SH-31",))
def a_topic_grows(conversation: Conversation) -> None:
    """New partitions of a subscribed topic are assigned as soon as they have share state."""
    ana = conversation.share_member("ana")
    topic = topic_made(conversation, ana, partitions=1)
    ana.enters(topic, assigned={})
    joined = ana.awaits({topic: (0,)})
    ana.asks(ask.create_partitions(topic, count=3), expect.create_partitions(error_code="NONE"))
    ana.awaits_metadata()

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1)
    ana.awaits({topic: (0, 1, 2)}, member_epoch=joined["member_epoch"] + 2)


@scenario("share_groups/membership/topic-deleted", source=NOTICES_TOPICS, clauses=("SH-32",))
def a_topic_goes(conversation: Conversation) -> None:
    """A deleted topic is removed from the assignment in the next epoch."""
    ana = conversation.share_member("ana")
    topic = topic_made(conversation, ana, partitions=2)
    ana.enters(topic, assigned={})
    joined = ana.awaits({topic: (0, 1)})
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.awaits_metadata()

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={})


@scenario(
    "share_groups/membership/full",
    source=LIMITS,
    clauses=("SH-22",),
    broker_config={"group.share.max.size": "2"},
)
def a_group_is_full(conversation: Conversation) -> None:
    """A third member of a group of two gets GROUP_MAX_SIZE_REACHED, until a member leaves."""
    ana, bob, cleo = conversation.share_members("ana", "bob", "cleo")
    ana.enters("unheard-of")
    bob.enters("unheard-of")

    cleo.enters("unheard-of", error_code="GROUP_MAX_SIZE_REACHED")
    ana.heartbeats()
    ana.leaves()
    cleo.enters("unheard-of")


@scenario(
    "share_groups/membership/long-name",
    source="GroupCoordinatorRecordHelpers#newShareGroupEpochRecord",
    clauses=("SH-27",),
    broker_config=SMALL_LOG,
)
def a_join_is_five_records(conversation: Conversation) -> None:
    """A join to a group with a name of 130 characters fits into a batch of 1,000 bytes, as five records."""
    ana = conversation.share_member("ana")
    fits = "n" * 130

    ana.enters("unheard-of", group_id=fits, assigned={})
    ana.heartbeats(group_id=fits, assigned=None)
    ana.heartbeats(group_id=fits, epoch=-1)
    ana.asks(ask.delete_groups(groups=(fits,)), expect.delete_groups("NONE"))


@scenario("share_groups/membership/different-topics", source=HEARTBEATS, clauses=("SH-37",))
def members_of_different_topics(conversation: Conversation) -> None:
    """A member gets all partitions of the topics to which only it subscribes."""
    ana, bob = conversation.share_members("ana", "bob")
    ana.enters(assigned={})
    ana.awaits(ALL)

    bob.enters("payments", assigned={})
    bob.awaits({"payments": (0, 1)})
    ana.heartbeats(assigned=None)


@scenario("share_groups/membership/other-group", source=HEARTBEATS, clauses=("SH-13",))
def two_groups_read_the_same(conversation: Conversation) -> None:
    """Two share groups get the same partitions, each with state of its own."""
    ana, _ = sole_sharer(conversation)
    other = conversation.group("other")
    bob = conversation.share_member("bob")

    joined = bob.enters(group_id=other, assigned={})
    bob.repeats(
        ask.share_group_heartbeat(group_id=other),
        until=expect.share_group_heartbeat(
            error_code="NONE", member_epoch=joined["member_epoch"] + 1, assignment=expect.assigned(ALL)
        ),
    )
    ana.heartbeats(assigned=None)


@scenario("share_groups/membership/topics-given-up", source=PENDS, clauses=("SH-21",))
def topics_that_were_given_up(conversation: Conversation) -> None:
    """Partitions without a subscriber keep their share state; before 4.2 each heartbeat checks them."""
    ana = conversation.share_member("ana")
    ana.enters("orders", "payments", assigned={})
    ana.awaits(BOTH)
    ana.heartbeats(topics=("payments",))

    ana.heartbeats()
    ana.heartbeats()
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="NONE", group_state="Stable"))


@scenario(
    "share_groups/membership/state-refused",
    source=UNINITIALIZES,
    clauses=("SI-01",),
)
def partitions_wait_for_their_state(conversation: Conversation) -> None:
    """A partition is not assigned until the share coordinator accepts its state."""
    ana = conversation.share_member("ana")
    topic = topic_of(conversation, ana)
    has_state(ana, topic, epoch=50)

    ana.enters(topic, assigned={})
    ana.heartbeats(assigned=None)
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    ana.asks(ask.delete_share_group_state(topic), expect.share_state("Delete", "NONE"))
    ana.awaits({topic: (0,)})


@scenario(
    "share_groups/membership/other-topic-deleted", source="GroupMetadataManager#maybeCleanupShareGroupState"
)
def a_group_without_share_state_outlives_a_topic(conversation: Conversation) -> None:
    """A share group that has no share state yet does not notice that somebody's topic is deleted."""
    ana, bob = conversation.share_member("ana"), conversation.actor("bob")
    topic = topic_made(conversation, bob)
    joined = ana.enters("unheard-of", assigned={})

    bob.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    bob.awaits_metadata()
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    share_group_is(ana, "Stable", epoch=joined["member_epoch"])
