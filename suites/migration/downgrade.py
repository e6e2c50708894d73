"""The last consumer leaves, which makes a group classic again."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Actor,
    Capability,
    Conversation,
    Member,
    PinNumber,
    ask,
    expect,
    one_of,
    scenario,
)
from suites.migration.groups import (
    BOTH,
    FIRST,
    IN_PROGRESS,
    SECOND,
    UNKNOWN,
    admitted,
    beats,
    classic_consumer,
    commits,
    consumer,
    has_committed,
    is_classic,
    is_consumer,
    join,
    parts,
    rejoins,
    shared,
    syncs,
    upgraded,
)

FENCES = "GroupMetadataManager#consumerGroupFenceMembers"
CONVERTS = "GroupMetadataManager#convertToClassicGroup"
LEAVES = "GroupMetadataManager#classicGroupLeaveToConsumerGroup"
REPLACES = "GroupMetadataManager#validateOnlineDowngradeWithReplacedMember"
SUBSCRIBES = "GroupMetadataManager#getOrMaybeSubscribeStaticConsumerGroupMember"
SHORT_SESSION = {"consumer.session.timeout.ms": 4_000, "consumer.heartbeat.interval.ms": 500}


def leads_again(ana: Actor, generation: PinNumber) -> None:
    """Let ana rejoin a group that is classic again, as its only member, and assign itself all partitions."""
    joined = expect.join_group(
        error_code="NONE", generation_id=generation, protocol_name="range", leader=ana.member_id
    )
    ana.asks(join(FIRST), joined)
    mine = ask.assignment_of(BOTH, version=1)
    ana.asks(
        ask.sync_group(assignments=((ana.member_id, mine),)),
        expect.sync_group(error_code="NONE", assignment=mine),
    )
    beats(ana)
    is_classic(ana, "Stable", protocol_type="consumer")


def removed(conversation: Conversation, member_id: str, instance_id: str | None, error_code: str) -> None:
    """Let an administrator remove a member, and expect the given error code."""
    zoe = conversation.actor("zoe")
    answer = expect.leave_group(error_code="NONE", members=({"error_code": error_code},))
    zoe.asks(ask.leave_group(members=((member_id, instance_id),)), answer)


def static_consumer(conversation: Conversation, *, with_another: bool = False) -> Member:
    """Make a consumer group in which bob, with instance id `one`, has all partitions, or the first."""
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned=BOTH)
    if with_another:
        conversation.member("dan").enters("payments")
        bob.heartbeats()
    return bob


@scenario("migration/downgrade/leaves", source=FENCES, clauses=("MG-24",))
def the_last_consumer_leaves(conversation: Conversation) -> None:
    """When the last consumer leaves, the group becomes classic and rebalances, and its member leads it."""
    ana, bob = shared(conversation)
    last = bob.heartbeats(assigned=None)

    bob.leaves()
    is_classic(ana, "PreparingRebalance", protocol_type="consumer")
    beats(ana, IN_PROGRESS)
    leads_again(ana, last["member_epoch"] + 1)


@scenario("migration/downgrade/before-the-rejoin", source=CONVERTS, clauses=("MG-24",))
def a_consumer_leaves_before_anybody_has_rejoined(conversation: Conversation) -> None:
    """When the last consumer leaves before any rejoin, the group is classic in the later generation."""
    ana, bob = upgraded(conversation)
    last = bob.heartbeats(assigned=None)

    bob.leaves()
    is_classic(ana, "PreparingRebalance")
    beats(ana, "ILLEGAL_GENERATION")
    leads_again(ana, last["member_epoch"] + 1)


@scenario("migration/downgrade/session", source=FENCES, clauses=("MG-24",))
def the_last_consumer_is_silent(conversation: Conversation) -> None:
    """When the last consumer's session times out, the group becomes classic and rebalances."""
    ana, bob = shared(conversation)
    bob.configures(SHORT_SESSION)
    bob.heartbeats(assigned=None)

    conversation.elapses(4_600)
    is_classic(ana, "PreparingRebalance")
    beats(ana, IN_PROGRESS)


@scenario("migration/downgrade/rebalance-timeout", source=FENCES, clauses=("MG-24",))
def the_last_consumer_gives_up_nothing(conversation: Conversation) -> None:
    """When the last consumer revokes nothing within its rebalance timeout, the group becomes classic."""
    bob = conversation.member("bob")
    bob.enters("payments", rebalance_timeout_ms=2_000, assigned=BOTH)
    ana = conversation.actor("ana")
    ana.asks(join(version=3), error_code="NONE")
    syncs(ana, {})
    bob.heartbeats(assigned=FIRST)

    conversation.elapses(3_000)
    is_classic(ana, "PreparingRebalance")
    bob.heartbeats(error_code="GROUP_ID_NOT_FOUND")


@scenario("migration/downgrade/removed", source=LEAVES, clauses=("MG-24", "MG-25"))
def the_last_consumer_is_removed(conversation: Conversation) -> None:
    """When LeaveGroup removes the last consumer, the group becomes classic and rebalances."""
    ana, bob = shared(conversation)
    last = bob.heartbeats(assigned=None)

    removed(conversation, "member-bob", None, "NONE")
    is_classic(ana, "PreparingRebalance")
    leads_again(ana, last["member_epoch"] + 1)


@scenario("migration/downgrade/offsets", source=CONVERTS, clauses=("MG-46",))
def offsets_survive_a_downgrade(conversation: Conversation) -> None:
    """Offsets committed in a consumer group are there after its downgrade to a classic group."""
    ana, bob = shared(conversation)
    commits(bob, 8, version=9)

    bob.leaves()
    has_committed(ana, 8)


@scenario("migration/downgrade/commit", source="ClassicGroup#validateOffsetCommit", clauses=("MG-46",))
def a_classic_member_commits_while_its_group_rebalances(conversation: Conversation) -> None:
    """A classic member of a downgraded group may commit in the generation that it had."""
    ana, bob = shared(conversation)

    bob.leaves()
    commits(ana, 9)
    has_committed(ana, 9)


@scenario("migration/downgrade/static", source=CONVERTS, clauses=("MG-45",))
def a_static_member_is_static_in_the_classic_group(conversation: Conversation) -> None:
    """A static classic member of a downgraded group keeps its instance id."""
    ana = classic_consumer(conversation, instance_id="one")
    bob = conversation.member("bob")
    bob.enters("payments", assigned={})

    bob.leaves()
    beats(ana, "ILLEGAL_GENERATION")
    ana.asks(ask.heartbeat(group_instance_id="two"), error_code=UNKNOWN)
    ana.asks(ask.heartbeat(member_id="nobody"), error_code="FENCED_INSTANCE_ID")
    is_classic(ana, "PreparingRebalance")


@scenario(
    "migration/downgrade/upgraded-again",
    source="GroupMetadataManager#convertToConsumerGroup",
    clauses=("MG-54",),
)
def a_downgraded_group_is_upgraded_again(conversation: Conversation) -> None:
    """A consumer that joins a downgraded group upgrades it again, during the rebalance."""
    ana, bob = shared(conversation)
    last = bob.heartbeats(assigned=None)
    bob.leaves()

    dan = conversation.member("dan")
    dan.enters("payments", member_epoch=last["member_epoch"] + 1)
    beats(ana, IN_PROGRESS)
    is_consumer(dan, "Reconciling")


@scenario(
    "migration/downgrade/for-a-while",
    source="GroupMetadataManager#consumerGroupStaticMemberGroupLeave",
    clauses=("MG-53",),
)
def a_static_consumer_that_will_be_back_stays(conversation: Conversation) -> None:
    """When a static consumer leaves temporarily, it stays a member, and the group a consumer group."""
    ana = classic_consumer(conversation)
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned={})

    bob.leaves(epoch=LEAVES_FOR_A_WHILE)
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
    beats(ana, IN_PROGRESS)


@scenario(
    "migration/downgrade/restart",
    source="GroupMetadataManager#replay",
    clauses=("MG-49",),
    needs=(Capability.RESTART,),
    broker_config={"group.consumer.migration.policy": "downgrade"},
)
def a_downgraded_group_survives_a_restart(conversation: Conversation) -> None:
    """After a restart a downgraded group is still classic, with the classic member."""
    ana, bob = admitted(conversation)
    syncs(ana, {})
    bob.heartbeats(assigned=FIRST)
    bob.heartbeats(owned=FIRST, member_epoch=ana.generation_id, assigned=None)
    rejoins(ana, {})
    syncs(ana, SECOND)
    bob.leaves()

    conversation.restarts_coordinator()
    # While a coordinator loads, it answers a classic heartbeat with NONE.
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Stable"),
        within_ms=20_000,
    )
    is_classic(ana, "Stable", protocol_type="consumer")
    beats(ana)


@scenario("migration/downgrade/classic-leaves", source=FENCES, clauses=("MG-48",))
def the_last_classic_member_leaves(conversation: Conversation) -> None:
    """When the last classic member leaves, the group stays a consumer group."""
    ana, bob = shared(conversation)

    ana.asks(ask.leave_group(), error_code="NONE")
    bob.heartbeats(assigned=BOTH)
    is_consumer(bob, "Stable")


@scenario("migration/downgrade/all-leave", source=LEAVES, clauses=("MG-25",))
def all_leave_at_once(conversation: Conversation) -> None:
    """A group whose members of both protocols leave in one LeaveGroup is an Empty consumer group."""
    ana, bob = shared(conversation)

    ana.asks(
        ask.leave_group(members=((ana.member_id, None), (bob.member_id, None), ("nobody", None))),
        expect.leave_group(
            error_code="NONE",
            members=({"error_code": "NONE"}, {"error_code": "NONE"}, {"error_code": UNKNOWN}),
        ),
    )
    is_consumer(bob, "Empty")


@scenario("migration/leave/dynamic", source=LEAVES, clauses=("MG-25", "XT-06"))
def a_dynamic_consumer_is_removed(conversation: Conversation) -> None:
    """LeaveGroup with the member id of a dynamic consumer removes it."""
    bob = consumer(conversation)

    removed(conversation, "member-bob", None, "NONE")
    bob.heartbeats(error_code=UNKNOWN)
    is_consumer(bob, "Empty")


@scenario("migration/leave/unknown", source=LEAVES, clauses=("MG-25",))
def nobody_is_removed(conversation: Conversation) -> None:
    """LeaveGroup with an unknown member id in a consumer group gets UNKNOWN_MEMBER_ID for that member."""
    bob = consumer(conversation)

    removed(conversation, "nobody", None, UNKNOWN)
    bob.heartbeats(assigned=None)


@scenario("migration/leave/static", source=LEAVES, clauses=("MG-25",))
def a_static_consumer_is_removed_by_its_instance(conversation: Conversation) -> None:
    """LeaveGroup with an instance id and no member id removes the static consumer that has it."""
    bob = static_consumer(conversation, with_another=True)

    removed(conversation, "", "one", "NONE")
    bob.heartbeats(error_code=UNKNOWN)


@scenario("migration/leave/static-with-id", source=LEAVES, clauses=("MG-25",))
def a_static_consumer_is_removed_by_both_ids(conversation: Conversation) -> None:
    """LeaveGroup with the instance id and the member id of a static consumer removes it."""
    bob = static_consumer(conversation)

    removed(conversation, "member-bob", "one", "NONE")
    is_consumer(bob, "Empty")


@scenario("migration/leave/static-of-another", source=LEAVES, clauses=("MG-25",))
def a_wrong_pair_removes_nobody(conversation: Conversation) -> None:
    """LeaveGroup with an instance id and another member id gets FENCED_INSTANCE_ID for that member."""
    bob = static_consumer(conversation)

    removed(conversation, "nobody", "one", "FENCED_INSTANCE_ID")
    bob.heartbeats(assigned=None)


@scenario("migration/leave/unknown-instance", source=LEAVES, clauses=("MG-25",))
def an_unknown_instance_removes_nobody(conversation: Conversation) -> None:
    """LeaveGroup with an unknown instance id in a consumer group gets UNKNOWN_MEMBER_ID for that member."""
    bob = static_consumer(conversation)

    removed(conversation, "", "two", UNKNOWN)
    bob.heartbeats(assigned=None)


@scenario("migration/replace/last-consumer", source=REPLACES, clauses=("MG-26",))
def a_classic_member_replaces_the_last_consumer(conversation: Conversation) -> None:
    """A classic member that replaces the last consumer gets its partitions in a Stable classic group."""
    bob = static_consumer(conversation)
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(BOTH), expect.join_group(error_code="NONE", generation_id=bob.epoch, leader="", members=()))
    is_classic(ana, "Stable", protocol_type="consumer")
    ana.asks(ask.sync_group(version=5), parts(BOTH))
    beats(ana)
    bob.heartbeats(error_code="GROUP_ID_NOT_FOUND")


@scenario("migration/replace/other-subscription", source=REPLACES, clauses=("MG-27",))
def a_successor_with_another_subscription_rebalances(conversation: Conversation) -> None:
    """A classic member that replaces the last consumer with another subscription starts a rebalance.

    4.0.0 starts none: the member gets partitions to which it does not subscribe.
    """
    static_consumer(conversation)
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(topics=("orders",)), expect.join_group(error_code="NONE", leader="", members=()))
    is_classic(ana, one_of("PreparingRebalance", "Stable"), protocol_type="consumer")


@scenario("migration/replace/before-an-assignment", source=REPLACES, clauses=("MG-57",))
def a_successor_may_wait_for_an_assignment(conversation: Conversation) -> None:
    """A classic member that replaces the last consumer while an assignment is due starts a rebalance.

    An assignment is due within the assignment interval, which exists since 4.3.
    """
    bob = conversation.member("bob", instance_id="one")
    bob.configures({"consumer.assignment.interval.ms": 5_000}, error_code=one_of("NONE", "INVALID_CONFIG"))
    bob.enters("payments", assigned=BOTH)
    bob.heartbeats(topics=("orders",))
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(
        join(BOTH, topics=("orders",)),
        expect.join_group(error_code="NONE", leader="", members=()),
    )
    is_classic(ana, one_of("PreparingRebalance", "Stable"), protocol_type="consumer")


@scenario("migration/replace/not-the-last", source=REPLACES, clauses=("MG-28",))
def a_classic_member_replaces_one_of_several(conversation: Conversation) -> None:
    """A classic member that replaces one of several consumers joins the consumer group in its place."""
    bob = static_consumer(conversation, with_another=True)
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(FIRST), expect.join_group(error_code="NONE", leader="", members=()))
    bob.heartbeats(error_code="FENCED_INSTANCE_ID")
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))


@scenario("migration/replace/by-consumer", source=SUBSCRIBES, clauses=("MG-28",))
def a_consumer_replaces_a_classic_member(conversation: Conversation) -> None:
    """A consumer with the instance id of a classic member takes its place and its partitions."""
    ana = classic_consumer(conversation, instance_id="one")
    bob = conversation.member("bob", instance_id="one")

    bob.enters("payments", assigned=BOTH)
    beats(ana, "FENCED_INSTANCE_ID")
    ana.asks(ask.sync_group(), error_code="FENCED_INSTANCE_ID")
    known = expect.group_member(bob.member_id, instance_id="one", owned=BOTH, member_type=1)
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))
