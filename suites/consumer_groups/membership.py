"""Joining again, changing a subscription, topics that are created and deleted, and leaving."""

from collections.abc import Mapping

from harness.scenario import (
    ANY,
    LEAVES_FOR_A_WHILE,
    Actor,
    Conversation,
    GroupRef,
    Pattern,
    PinNumber,
    PinText,
    Value,
    ask,
    expect,
    one_of,
    scenario,
)
from suites.consumer_groups.validation import ALL, BOTH, CHECKS_EPOCH, HEARTBEATS, sole_member

SUBSCRIBES = "GroupMetadataManager#hasMemberSubscriptionChanged"
RECONCILES = "CurrentAssignmentBuilder#build"
NOTICES_TOPICS = "GroupMetadataManager#onMetadataUpdate"
FENCES = "GroupMetadataManager#consumerGroupFenceMembers"
LIMITS = "GroupMetadataManager#throwIfConsumerGroupIsFull"


def group_is(
    actor: Actor, state: PinText, *, epoch: PinNumber = ANY, assignment_epoch: PinNumber = ANY
) -> None:
    """Let an actor describe the group, and expect its state, and its epochs where they are given."""
    described = expect.consumer_group_describe(
        error_code="NONE", group_state=state, group_epoch=epoch, assignment_epoch=assignment_epoch
    )
    actor.asks(ask.consumer_group_describe(), described)


def topic_made(
    conversation: Conversation, actor: Actor, name: str = "topic", *, partitions: int = 3
) -> GroupRef:
    """Let an actor create a topic of the scenario's own, and wait until the coordinator has its metadata."""
    topic = conversation.group(name)
    actor.asks(ask.create_topic(topic, num_partitions=partitions), expect.create_topic(error_code="NONE"))
    actor.awaits_metadata()
    actor.looks_up(topic)
    return topic


def grows(actor: Actor, topic: GroupRef, *, partitions: int) -> None:
    """Let an actor add partitions to a topic, and wait until the coordinator has their metadata."""
    grown = expect.create_partitions(error_code="NONE")
    actor.asks(ask.create_partitions(topic, count=partitions), grown)
    actor.awaits_metadata()


def deletes(actor: Actor, topic: GroupRef) -> None:
    """Let an actor delete a topic, and wait until the coordinator has applied the deletion."""
    actor.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    actor.awaits_metadata()


@scenario("consumer_groups/membership/joins-again", source=CHECKS_EPOCH, clauses=("CH-29",))
def a_member_may_join_again(conversation: Conversation) -> None:
    """A member that joins again in its first epoch keeps the epoch and gets its whole assignment."""
    ana, joined = sole_member(conversation)

    ana.enters(member_epoch=joined["member_epoch"], assigned=ALL)
    group_is(ana, "Stable", epoch=joined["member_epoch"], assignment_epoch=joined["member_epoch"])


@scenario("consumer_groups/membership/joins-again-later", source=CHECKS_EPOCH, clauses=("CH-30",))
def a_later_member_may_join_again(conversation: Conversation) -> None:
    """A member that joins again in a later epoch keeps it since 4.2, and gets FENCED_MEMBER_EPOCH before."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=BOTH)

    ana.enters("orders", "payments", error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/membership/joins-again-revoking", source=CHECKS_EPOCH, clauses=("CH-31",))
def whoever_joins_again_has_given_up(conversation: Conversation) -> None:
    """A member that joins again while revoking counts as done since 4.2; before, FENCED_MEMBER_EPOCH."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=BOTH)
    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 1, assigned=ALL)

    ana.enters(error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))


@scenario("consumer_groups/membership/joins-again-waiting", source=CHECKS_EPOCH, clauses=("CH-32",))
def whoever_waits_may_join_again(conversation: Conversation) -> None:
    """A member that waits for partitions and joins again gets its epoch and current assignment."""
    _, joined = sole_member(conversation)
    bob = conversation.member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})

    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})


@scenario("consumer_groups/membership/joins-again-behind", source=RECONCILES, clauses=("CH-33",))
def whoever_is_behind_may_join_again(conversation: Conversation) -> None:
    """A member behind the target that joins again owns nothing, and moves to the group epoch at once."""
    ana, joined = sole_member(conversation)
    conversation.member("bob").enters(assigned={})

    ana.enters(member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/membership/joins-again-with-other-topics", source=SUBSCRIBES, clauses=("CH-34",))
def whoever_joins_again_may_subscribe_anew(conversation: Conversation) -> None:
    """A member that joins again with other topics gets them assigned at once, in the next epoch."""
    ana, joined = sole_member(conversation)

    ana.enters("payments", member_epoch=joined["member_epoch"] + 1, assigned={"payments": (0, 1)})


@scenario("consumer_groups/membership/foreign-partitions", source=RECONCILES, clauses=("CH-35",))
def what_is_not_assigned_is_not_owned(conversation: Conversation) -> None:
    """Partitions that a member reports as owned but was not assigned are ignored."""
    ana, joined = sole_member(conversation)
    ana.looks_up("payments")

    strangers: Value = {"topic_id": "00000000-0000-0000-0000-00000000abcd", "partitions": (0,)}
    request = ask.request(
        "ConsumerGroupHeartbeat",
        1,
        group_id=GroupRef("main"),
        member_id=ana.member_id,
        member_epoch=ana.epoch,
        rebalance_timeout_ms=-1,
        topic_partitions=(strangers,),
    )
    ana.asks(request, error_code="NONE")
    ana.heartbeats(owned={"payments": (0,), "orders": (0, 0, 7)}, assigned=None)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/membership/other-details", source=SUBSCRIBES, clauses=("CH-36",))
def details_change_no_epoch(conversation: Conversation) -> None:
    """A change of a member's rack or rebalance timeout does not change the epoch."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(rack_id="north", member_epoch=joined["member_epoch"], assigned=None)
    ana.heartbeats(rebalance_timeout_ms=40_000, member_epoch=joined["member_epoch"], assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/membership/same-names", source=SUBSCRIBES, clauses=("CH-37",))
def names_are_a_set(conversation: Conversation) -> None:
    """A subscription with the same topics in another order, or repeated, does not change the epoch."""
    ana = conversation.member("ana")
    joined = ana.enters("orders", "payments", assigned=BOTH)

    ana.heartbeats(topics=("payments", "orders"), member_epoch=joined["member_epoch"], assigned=None)
    ana.heartbeats(topics=("orders", "payments", "orders"), member_epoch=joined["member_epoch"])
    group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/membership/unknown-topic-too", source=SUBSCRIBES, clauses=("CH-38",))
def an_unknown_topic_changes_the_epoch(conversation: Conversation) -> None:
    """A subscription that gains an unknown topic raises the epoch, but keeps the assignment."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(topics=("orders", "missing"), member_epoch=joined["member_epoch"] + 1, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/membership/unknown-topic-alone", source=HEARTBEATS, clauses=("CH-39",))
def a_topic_need_not_exist(conversation: Conversation) -> None:
    """A subscription to a topic that does not exist, or has an invalid name, gets no partitions."""
    conversation.member("ana").enters("missing", assigned={})
    conversation.member("bob").enters("not a topic/", assigned={}, group_id=conversation.group("other"))


@scenario("consumer_groups/membership/topic-created", source=NOTICES_TOPICS, clauses=("CH-40",))
def a_created_topic_is_assigned(conversation: Conversation) -> None:
    """A newly created topic is assigned with the first heartbeat of its subscriber."""
    ana = conversation.member("ana")
    joined = ana.enters(conversation.group("topic"), assigned={})
    topic = topic_made(conversation, ana)

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0, 1, 2)})


@scenario("consumer_groups/membership/partitions-added", source=NOTICES_TOPICS, clauses=("CH-41",))
def added_partitions_are_assigned(conversation: Conversation) -> None:
    """Partitions that are added to a topic are assigned with the next heartbeat, in the next epoch."""
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana, partitions=1)
    joined = ana.enters(topic, assigned={topic: (0,)})

    grows(ana, topic, partitions=3)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={topic: (0, 1, 2)})


@scenario("consumer_groups/membership/topic-deleted", source=NOTICES_TOPICS, clauses=("CH-42",))
def a_deleted_topic_is_given_up(conversation: Conversation) -> None:
    """A deleted topic must be given up first, in the same epoch; then the next epoch follows."""
    ana = conversation.member("ana")
    topic = topic_made(conversation, ana)
    joined = ana.enters(topic, assigned={topic: (0, 1, 2)})

    deletes(ana, topic)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/membership/drops-a-topic", source=RECONCILES, clauses=("CH-43", "CH-44", "CH-45"))
def a_dropped_topic_is_given_up(conversation: Conversation) -> None:
    """A topic that a member unsubscribes from must be given up first; then the next epoch follows."""
    ana = conversation.member("ana")
    joined = ana.enters("orders", "payments", assigned=BOTH)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"], assigned=ALL)
    ana.heartbeats(owned=BOTH, member_epoch=joined["member_epoch"], assigned=None)
    group_is(ana, "Reconciling", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1, assigned=None)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/membership/subscribes-to-nothing", source=RECONCILES, clauses=("CH-47",))
def whoever_subscribes_to_nothing_has_nothing(conversation: Conversation) -> None:
    """A member that unsubscribes from all topics must give up all partitions first."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(topics=(), member_epoch=joined["member_epoch"], assigned={})
    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/membership/leaves", source=FENCES, clauses=("CH-48",))
def a_member_leaves(conversation: Conversation) -> None:
    """A member that leaves gets epoch -1; the group's epoch rises, and the group is Assigning."""
    ana, joined = sole_member(conversation)
    bob = conversation.member("bob")
    bob.enters(assigned={})

    bob.leaves()
    group_is(ana, "Assigning", epoch=joined["member_epoch"] + 2, assignment_epoch=joined["member_epoch"] + 1)
    bob.heartbeats(error_code="UNKNOWN_MEMBER_ID")
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/membership/last-leaves", source=FENCES, clauses=("CH-49",))
def the_last_member_leaves(conversation: Conversation) -> None:
    """When its last member leaves, a group is Empty, in the next epoch."""
    ana, joined = sole_member(conversation)

    ana.leaves()
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(epoch=-1, error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/membership/rejoins-an-empty-group", source=FENCES, clauses=("CH-50",))
def an_empty_group_may_be_joined_again(conversation: Conversation) -> None:
    """A member that joins an emptied group within the assignment interval gets all, but nothing in 4.3."""
    ana = conversation.member("ana")
    ana.configures({"consumer.assignment.interval.ms": 5_000}, error_code=one_of("NONE", "INVALID_CONFIG"))
    ana.enters(assigned=ALL)
    ana.leaves()

    ana.enters()
    conversation.elapses(5_500)
    ana.heartbeats()
    ana.heartbeats(assigned=None)


@scenario(
    "consumer_groups/membership/full",
    source=LIMITS,
    clauses=("CH-51", "CH-53"),
    broker_config={"group.consumer.max.size": 2},
)
def a_full_group_takes_no_more(conversation: Conversation) -> None:
    """A full group refuses a newcomer with GROUP_MAX_SIZE_REACHED, but a member may join again."""
    ana, bob, carol = conversation.members("ana", "bob", "carol")
    ana.enters(assigned=ALL)
    bob.enters(assigned={})

    carol.enters(error_code="GROUP_MAX_SIZE_REACHED")
    bob.enters(assigned={})
    bob.leaves()
    carol.enters()


@scenario(
    "consumer_groups/membership/full-of-instances",
    source=LIMITS,
    clauses=("CH-54",),
    broker_config={"group.consumer.max.size": 2},
)
def a_full_group_takes_successors_later(conversation: Conversation) -> None:
    """In a full group, a static member that left temporarily can be replaced since 4.4, not before."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    ana.enters(assigned=ALL)
    conversation.member("carol").enters(assigned={})
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    bob.enters(error_code=one_of("NONE", "GROUP_MAX_SIZE_REACHED"))


@scenario("consumer_groups/membership/long-id", source=HEARTBEATS, clauses=("CH-55",))
def a_member_id_may_be_long(conversation: Conversation) -> None:
    """A member id of 300 characters is accepted."""
    ana = conversation.member("ana")

    ana.enters(member_id="m" * 300, assigned=ALL)
    ana.heartbeats(member_id="m" * 300, assigned=None)


@scenario("consumer_groups/membership/no-client-id", source=HEARTBEATS, clauses=("CH-56",))
def a_client_need_not_say_its_id(conversation: Conversation) -> None:
    """A heartbeat without a client id is accepted; the member is described with an empty client id."""
    ana = conversation.member("ana", client_id=None)
    ana.enters(assigned=ALL)

    known: Mapping[str, Pattern] = {"member_id": ana.member_id, "client_id": ""}
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))
