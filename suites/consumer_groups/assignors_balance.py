"""What the uniform assignor does in groups where it has much to choose."""

from harness.scenario import LEAVES_FOR_A_WHILE, Conversation, Member, ask, expect, scenario
from suites.consumer_groups.assignors import BY_UNIFORM, BY_UNIFORM_APART, NOTICES_TOPICS, Parts, shares
from suites.consumer_groups.membership import topic_made

TWELVE = ("ana", "bob", "cat", "dan", "eve", "fay", "gus", "hal", "ida", "joe", "kim", "lea")


def targets(actor: Member, *parts: tuple[Member, Parts]) -> None:
    """Let an actor check which partitions each member is to have, whatever it has yet."""
    members = tuple(expect.group_member(member.member_id, target=part) for member, part in parts)
    actor.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=members))


@scenario("consumer_groups/assignors/uniform-moves", source=BY_UNIFORM_APART, clauses=("CA-06",))
def uniform_moves_what_is_uneven(conversation: Conversation) -> None:
    """The uniform assignor moves partitions topic by topic, until no move makes two members more equal.

    No two topics have as many partitions for each subscriber. So the order of the topics does not depend on
    their ids, which differ from broker to broker.
    """
    ana, bob, cat = conversation.members("ana", "bob", "cat")
    topic = topic_made(conversation, ana, partitions=7)
    ana.looks_up("orders", "payments")
    ana.enters("orders", "payments", topic)
    bob.enters("orders")
    targets(ana, (ana, {"payments": (0, 1), topic: (0, 1, 2, 3, 4, 5, 6)}), (bob, {"orders": (0, 1, 2)}))

    cat.enters("orders")
    targets(
        ana,
        (ana, {"payments": (0, 1), topic: (0, 1, 2, 3, 4, 5, 6)}),
        (bob, {"orders": (0, 1)}),
        (cat, {"orders": (2,)}),
    )
    bob.heartbeats(topics=("orders", topic))
    targets(
        ana,
        (ana, {"payments": (0, 1), topic: (0, 1, 2)}),
        (bob, {topic: (3, 4, 5, 6)}),
        (cat, {"orders": (0, 1, 2)}),
    )
    cat.heartbeats(topics=("payments", topic))
    targets(
        ana,
        (ana, {"orders": (2,), "payments": (0, 1), topic: (0,)}),
        (bob, {"orders": (0, 1), topic: (3, 4)}),
        (cat, {topic: (1, 2, 5, 6)}),
    )


@scenario("consumer_groups/assignors/created-larger", source=NOTICES_TOPICS, clauses=("CA-05", "CA-07"))
def each_gets_its_part_in_one_piece(conversation: Conversation) -> None:
    """When a topic of four partitions is created, each of its two subscribers gets two that are adjacent."""
    ana, bob = conversation.members("ana", "bob")
    awaited = conversation.group("topic")
    ana.enters(awaited, assigned={})
    bob.enters(awaited, assigned={})

    topic = topic_made(conversation, ana, partitions=4)
    conversation.reconciles(ana, bob)
    shares(ana, (ana, {topic: (0, 1)}), (bob, {topic: (2, 3)}))


@scenario("consumer_groups/assignors/static-thirteenth", source=BY_UNIFORM, clauses=("CA-05", "CS-12"))
def a_successor_makes_room_for_thirteen(conversation: Conversation) -> None:
    """Which of twelve members get an extra partition depends on a hash map that has grown for thirteen.

    The successor of a static member, which comes first by its hash, is put before the other is removed.
    """
    members = [conversation.member(name, instance_id="one" if name == "ana" else None) for name in TWELVE]
    awaited = conversation.group("topic")
    for member in members:
        member.enters(awaited, assigned={})
    members[0].leaves(epoch=LEAVES_FOR_A_WHILE)
    topic_made(conversation, members[1], partitions=5)

    conversation.member("max", instance_id="one").enters(awaited)
    members[1].asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
