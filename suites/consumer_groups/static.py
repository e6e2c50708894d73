"""Static members: instance ids that outlive their members."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Answer,
    Conversation,
    Member,
    ask,
    expect,
    one_of,
    scenario,
)
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import FREED, KEPT
from suites.consumer_groups.validation import ALL

SUBSCRIBES = "GroupMetadataManager#getOrMaybeSubscribeStaticConsumerGroupMember"
LEAVES = "GroupMetadataManager#consumerGroupLeave"
LEAVES_A_WHILE = "GroupMetadataManager#consumerGroupStaticMemberGroupLeave"


def static_member(conversation: Conversation) -> tuple[Member, Answer]:
    """Return ana, with instance id `one` and all partitions, and the answer to her join."""
    ana = conversation.member("ana", instance_id="one")
    return ana, ana.enters(assigned=ALL)


@scenario("consumer_groups/static/in-use", source=SUBSCRIBES, clauses=("CS-01", "CS-02"))
def an_instance_id_in_use_is_not_released(conversation: Conversation) -> None:
    """A join with the instance id of an active member, even its own, gets UNRELEASED_INSTANCE_ID."""
    ana, joined = static_member(conversation)
    bob = conversation.member("bob", instance_id="one")

    bob.enters(error_code="UNRELEASED_INSTANCE_ID")
    ana.enters(error_code="UNRELEASED_INSTANCE_ID")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/static/not-named", source=SUBSCRIBES, clauses=("CS-03", "CS-04"))
def a_static_member_need_not_say_so(conversation: Conversation) -> None:
    """A static member may heartbeat and join again without its instance id, and keeps it."""
    ana, joined = static_member(conversation)

    ana.heartbeats(instance_id=None, member_epoch=joined["member_epoch"], assigned=None)
    ana.enters(instance_id=None, member_epoch=joined["member_epoch"], assigned=ALL)
    known = expect.group_member(ana.member_id, instance_id="one", owned=ALL)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))


@scenario(
    "consumer_groups/static/renamed", source="ConsumerGroup#updateStaticMember", clauses=("CS-05", "CS-06")
)
def a_static_member_may_change_its_instance(conversation: Conversation) -> None:
    """A member that rejoins with another instance id gets it; the former one is free since 4.4."""
    ana, joined = static_member(conversation)
    ana.enters(instance_id="two", member_epoch=joined["member_epoch"], assigned=ALL)
    known = expect.group_member(ana.member_id, instance_id="two", owned=ALL)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))

    bob = conversation.member("bob", instance_id="one")
    bob.enters(error_code=one_of("NONE", "UNRELEASED_INSTANCE_ID"))


@scenario("consumer_groups/static/of-another", source=SUBSCRIBES, clauses=("CS-07", "CS-08"))
def an_instance_id_of_another_is_fenced(conversation: Conversation) -> None:
    """A heartbeat with another member's instance id that does not join gets FENCED_INSTANCE_ID."""
    ana, joined = static_member(conversation)
    bob = conversation.member("bob", instance_id="one")

    for epoch in (1, joined["member_epoch"], -1, LEAVES_FOR_A_WHILE):
        bob.heartbeats(epoch=epoch, error_code="FENCED_INSTANCE_ID")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/static/leaves-for-a-while", source=LEAVES_A_WHILE, clauses=("CS-09", "CS-11"))
def a_static_member_leaves_for_a_while(conversation: Conversation) -> None:
    """A static member that leaves temporarily keeps its partitions at epoch -2; no epoch rises."""
    ana, joined = static_member(conversation)

    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    known = expect.group_member(ana.member_id, epoch=LEAVES_FOR_A_WHILE, owned=ALL)
    described = expect.consumer_group_describe(group_epoch=joined["member_epoch"], members=(known,))
    ana.asks(ask.consumer_group_describe(), described)
    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")


@scenario("consumer_groups/static/leaves-while-revoking", source=LEAVES_A_WHILE, clauses=("CS-10",))
def whoever_leaves_for_a_while_delays_nobody(conversation: Conversation) -> None:
    """What a static member was revoking when it left temporarily goes to the member that waits for it."""
    ana, joined = static_member(conversation)
    bob = conversation.member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)

    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)


@scenario("consumer_groups/static/replaced", source=SUBSCRIBES, clauses=("CS-12", "CS-13"))
def a_successor_gets_what_its_predecessor_had(conversation: Conversation) -> None:
    """A static member that replaces one that left temporarily gets its partitions, in the same epoch."""
    ana, joined = static_member(conversation)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    bob = conversation.member("bob", instance_id="one")

    bob.enters(member_epoch=joined["member_epoch"], assigned=ALL)
    for epoch in (joined["member_epoch"], -1):
        ana.heartbeats(epoch=epoch, error_code="FENCED_INSTANCE_ID")
    known = expect.group_member(bob.member_id, instance_id="one", owned=ALL)
    described = expect.consumer_group_describe(group_epoch=joined["member_epoch"], members=(known,))
    bob.asks(ask.consumer_group_describe(), described)


@scenario(
    "consumer_groups/static/takes-anothers-instance",
    source="UniformHomogeneousAssignmentBuilder#build",
    clauses=("CS-12", "CA-05"),
)
def a_successor_loses_what_it_had_itself(conversation: Conversation) -> None:
    """A member that takes another's instance id loses its own partitions, and nobody gets them."""
    ana, _ = static_member(conversation)
    bob = conversation.member("bob", instance_id="two")
    bob.enters("payments", assigned={"payments": (0, 1)})
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    joined = bob.enters("payments", instance_id="one", assigned={})
    known = expect.group_member(bob.member_id, instance_id="one", owned={})
    described = expect.consumer_group_describe(group_epoch=joined["member_epoch"], members=(known,))
    bob.asks(ask.consumer_group_describe(), described)


@scenario("consumer_groups/static/comes-back", source=SUBSCRIBES, clauses=("CS-12",))
def a_static_member_comes_back(conversation: Conversation) -> None:
    """A static member that left temporarily may join again itself, and gets its partitions back."""
    ana, joined = static_member(conversation)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    ana.enters(member_epoch=joined["member_epoch"], assigned=ALL)
    group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/static/leaves-for-good", source=LEAVES, clauses=("CS-15",))
def a_static_member_leaves_for_good(conversation: Conversation) -> None:
    """A static member that leaves for good is removed, and the group's epoch rises."""
    ana, joined = static_member(conversation)

    ana.leaves()
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(epoch=-1, error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/static/comes-back-unnamed", source=SUBSCRIBES, clauses=("CS-03", "CS-12"))
def a_static_member_comes_back_without_its_instance(conversation: Conversation) -> None:
    """Rejoining without the instance id after a temporary leave is accepted since 4.2, before fenced."""
    ana, _ = static_member(conversation)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    ana.enters(instance_id=None, error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))


@scenario(
    "consumer_groups/static/subscribes-anew", source="TargetAssignmentBuilder#build", clauses=("CS-12",)
)
def a_successor_may_have_other_topics(conversation: Conversation) -> None:
    """A static member's successor that adds a topic keeps what its predecessor had, in the next epoch."""
    ana, joined = static_member(conversation)
    cat = conversation.member("cat")
    cat.enters(assigned={})
    ana.heartbeats(assigned=KEPT)
    ana.heartbeats(owned=KEPT, assigned=None)
    cat.heartbeats(assigned=FREED)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    bob = conversation.member("bob", instance_id="one")
    bob.enters("orders", "missing", member_epoch=joined["member_epoch"] + 2, assigned=KEPT)
    members = tuple(
        expect.group_member(each.member_id, target=part) for each, part in ((bob, KEPT), (cat, FREED))
    )
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=members))
