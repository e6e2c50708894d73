"""Which partitions each of several members of a share group gets.

Brokers draw the ids of topics, and where all members subscribe to the same topics, the order of a map over
these ids may decide. So members get their shares here while their topics differ, if only in one that does not
exist, and keep them when the topics are the same.
"""

from harness.scenario import Conversation, Pattern, ShareMember, ask, expect, one_of, scenario
from harness.scenario.ask import Assigned
from suites.share_groups.membership import ALL

SHARES = "SimpleAssignor#assign"
COUNTS = "ModernGroup#subscriptionType"
ASSIGNS_REST = "SimpleHomogeneousAssignmentBuilder#assignRemainingPartitions"
ORDERS = ("orders",)
AND_MISSING = ("orders", "unheard-of")
BOTH_TOPICS = ("orders", "payments")


def either(*assigned: Assigned) -> Pattern:
    """Return the pattern of an assignment that depends on the release."""
    return one_of(*(expect.assigned(each) for each in assigned))


def has(member: ShareMember, topics: tuple[str, ...], *assigned: Assigned) -> None:
    """Let a member name its topics, and expect its partitions; if several are given, the release decides."""
    member.asks(
        ask.share_group_heartbeat(subscribed_topic_names=topics),
        expect.share_group_heartbeat(error_code="NONE", assignment=either(*assigned)),
    )


def awaits(member: ShareMember, *assigned: Assigned) -> None:
    """Let a member heartbeat until it has its partitions; if several are given, the release decides."""
    until = expect.share_group_heartbeat(error_code="NONE", assignment=either(*assigned))
    member.repeats(ask.share_group_heartbeat(), until=until, within_ms=10_000)


@scenario("share_groups/sharing/two-members", source=SHARES, clauses=("SH-20", "SH-37", "SH-42"))
def two_members_share_a_topic(conversation: Conversation) -> None:
    """Since 4.2, of a topic's three partitions the second member takes one from the first.

    In 4.1 the second member gets the partition of its hash, which the first member has too. Nobody's
    partitions change when the second member drops a topic that does not exist.
    """
    ana, bob = conversation.share_members("ana", "bob")
    ana.enters(assigned={})
    ana.awaits(ALL)
    bob.enters(*AND_MISSING)

    has(bob, AND_MISSING, {"orders": (0,)}, {"orders": (2,)})
    has(ana, ORDERS, {"orders": (1, 2)}, ALL)
    has(bob, ORDERS, {"orders": (0,)}, {"orders": (2,)})
    has(ana, ORDERS, {"orders": (1, 2)}, ALL)


@scenario("share_groups/sharing/three-members", source=SHARES, clauses=("SH-20", "SH-37", "SH-42"))
def three_members_share_a_topic(conversation: Conversation) -> None:
    """Since 4.2, each of three members has one of a topic's three partitions.

    In 4.1 two of them have the same one by their hash.
    """
    ana, bob, cleo = conversation.share_members("ana", "bob", "cleo")
    bob.enters(assigned={})
    bob.awaits(ALL)
    ana.enters(*AND_MISSING)
    cleo.enters(*AND_MISSING, "absent")

    has(bob, ORDERS, {"orders": (2,)}, {"orders": (1, 2)})
    has(ana, ORDERS, {"orders": (1,)}, {"orders": (2,)})
    has(cleo, ORDERS, {"orders": (0,)}, {"orders": (0, 1)})
    has(bob, ORDERS, {"orders": (2,)})
    has(ana, ORDERS, {"orders": (1,)}, {"orders": (2,)})


@scenario("share_groups/sharing/dropped-topic", source=SHARES, clauses=("SH-37", "SH-42"))
def a_topic_is_dropped(conversation: Conversation) -> None:
    """A member that drops the topic that nobody else has gets its share of the other topic alone."""
    ana, bob = conversation.share_members("ana", "bob")
    ana.enters(assigned={})
    ana.awaits(ALL)
    ana.looks_up("payments")
    bob.enters(*BOTH_TOPICS)
    awaits(bob, {"orders": (0,), "payments": (0, 1)}, {"payments": (0, 1)})

    has(bob, ORDERS, {"orders": (0,)}, {"orders": (2,)})
    has(ana, ORDERS, {"orders": (1, 2)}, ALL)


@scenario("share_groups/sharing/all-topics", source=COUNTS, clauses=("SH-20", "SH-42"))
def members_of_the_same_topics(conversation: Conversation) -> None:
    """Since 4.2, if all members subscribe to the same topics, partitions of all topics count together."""
    ana, cleo, dora = conversation.share_members("ana", "cleo", "dora")
    ana.enters(assigned={})
    ana.awaits(ALL)
    ana.looks_up("payments")
    cleo.enters(*BOTH_TOPICS)
    awaits(cleo, {"orders": (0, 1), "payments": (0, 1)}, {"orders": (0,), "payments": (0, 1)})
    dora.enters(*BOTH_TOPICS)
    has(ana, ORDERS, {"orders": (2,)}, {"orders": (1, 2)})

    has(ana, BOTH_TOPICS, {"orders": (2,)}, {"orders": (1, 2)})
    has(cleo, BOTH_TOPICS, {"orders": (1,), "payments": (1,)}, {"orders": (0,), "payments": (0, 1)})
    has(dora, BOTH_TOPICS, {"orders": (0,), "payments": (0,)}, {"orders": (2,)})


@scenario("share_groups/sharing/nobody-else", source=ASSIGNS_REST, clauses=("SH-20", "SH-23", "SH-42"))
def a_member_has_its_partition_once(conversation: Conversation) -> None:
    """Since 4.2, a partition that is due to a member that has it already has one member fewer."""
    ana, bob, cleo, dora = conversation.share_members("ana", "bob", "cleo", "dora")
    ana.enters("payments", assigned={})
    ana.awaits({"payments": (0, 1)})
    for each in (bob, cleo, dora):
        each.enters("payments", "unheard-of")
    has(ana, ("payments",), {"payments": (1,)})
    has(bob, ("payments", "unheard-of"), {"payments": (0,)})
    ana.leaves()

    has(bob, ("payments",), {"payments": (0,)})
    has(cleo, ("payments", "unheard-of"), {"payments": (1,)}, {"payments": (0,)})
    has(dora, ("payments", "unheard-of"), {"payments": (0,)}, {"payments": (1,)})
