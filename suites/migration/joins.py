"""Classic consumers join a consumer group that has members."""

from harness.scenario import Actor, Conversation, Member, ask, expect, in_any_order, one_of, scenario, sweep
from suites.migration.groups import (
    BOTH,
    FIRST,
    GENERATION,
    IN_PROGRESS,
    INCONSISTENT,
    REQUIRED,
    SECOND,
    UNKNOWN,
    admitted,
    beats,
    commits,
    consumer,
    has_committed,
    is_consumer,
    join,
    shared,
    syncs,
    upgraded,
)

JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"
LETS_IN = "GroupMetadataManager#throwIfClassicProtocolIsNotSupported"
SYNCS = "GroupMetadataManager#classicGroupSyncToConsumerGroup"
SUBSCRIBES = "GroupMetadataManager#getOrMaybeSubscribeStaticConsumerGroupMember"
FENCES = "GroupMetadataManager#consumerGroupFenceMembers"
VALIDATES = "GroupMetadataManager#validateConsumerGroupMember"
READS = "GroupMetadataManager#deserializeSubscription"
WAITS = "ConsumerGroup#waitingOnUnreleasedPartition"
TWO = {"group.consumer.max.size": "2"}


def static_classic(conversation: Conversation) -> tuple[Actor, Member]:
    """Make a consumer group of bob, and let ana join it as a static classic member."""
    bob = consumer(conversation)
    ana = conversation.actor("ana", group_instance_id="one")
    ana.asks(join(), expect.join_group(error_code="NONE", generation_id=bob.epoch + 1))
    return ana, bob


@scenario(
    "migration/joins/two-steps",
    source=JOINS,
    clauses=("MG-17", "XT-01", "XT-02"),
    sweep=sweep("JoinGroup", 4, 9),
)
def a_dynamic_member_joins_in_two_steps(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} without an id to a consumer group gets MEMBER_ID_REQUIRED, without a rebalance."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    ana.asks(join(version=version), error_code=REQUIRED)
    bob.heartbeats(assigned=None)
    known = expect.group_member(bob.member_id, owned=BOTH, target=BOTH)
    described = expect.consumer_group_describe(group_epoch=bob.epoch, members=(known,))
    bob.asks(ask.consumer_group_describe(), described)
    ana.asks(
        join(version=version),
        expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, leader="", members=()),
    )


@scenario("migration/joins/one-step", source=JOINS, clauses=("MG-18",), sweep=sweep("JoinGroup", 0, 3))
def an_early_join_needs_one_step(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} without an id to a consumer group is admitted in one step."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    answer = expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, leader="", members=())
    ana.asks(join(version=version), answer)
    syncs(ana, {})


@scenario("migration/joins/own-id", source=JOINS, clauses=("MG-19",))
def a_member_may_name_itself(conversation: Conversation) -> None:
    """A classic member may join a consumer group with a member id that it made up."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    ana.asks(
        join(member_id="invented"),
        expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, member_id="invented"),
    )
    syncs(ana, {})


@scenario("migration/joins/static", source=SUBSCRIBES, clauses=("MG-20",))
def a_static_member_joins_in_one_step(conversation: Conversation) -> None:
    """A static classic member joins a consumer group in one step."""
    ana, bob = static_classic(conversation)

    syncs(ana, {})
    known = expect.group_member(ana.member_id, instance_id="one", owned={}, member_type=0)
    other = expect.group_member(bob.member_id, member_type=1)
    described = expect.consumer_group_describe(members=in_any_order(known, other))
    bob.asks(ask.consumer_group_describe(), described)


@scenario("migration/joins/unknown-instance", source=SUBSCRIBES, clauses=("MG-21",))
def an_instance_that_nobody_knows_has_no_member_id(conversation: Conversation) -> None:
    """A classic JoinGroup with a member id and an unknown instance id gets UNKNOWN_MEMBER_ID."""
    bob = consumer(conversation)
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    ana.asks(join(member_id=bob.member_id), error_code=UNKNOWN)
    bob.heartbeats(assigned=None)


@scenario("migration/joins/instance-of-another", source=SUBSCRIBES, clauses=("MG-21",))
def an_instance_of_another_is_fenced(conversation: Conversation) -> None:
    """A classic JoinGroup with a member id and another member's instance id gets FENCED_INSTANCE_ID."""
    ana, bob = static_classic(conversation)

    ana.asks(join(member_id="invented"), error_code="FENCED_INSTANCE_ID")
    ana.asks(join(member_id=bob.member_id), error_code="FENCED_INSTANCE_ID")


@scenario("migration/joins/successor", source=SUBSCRIBES, clauses=("MG-21",))
def a_static_classic_member_has_a_successor(conversation: Conversation) -> None:
    """A static classic member that joins without a member id fences and replaces its predecessor."""
    ana, bob = static_classic(conversation)
    cat = conversation.actor("cat", group_instance_id="one")

    cat.asks(join(), expect.join_group(error_code="NONE", generation_id=bob.epoch + 1))
    beats(ana, "FENCED_INSTANCE_ID")
    ana.asks(ask.sync_group(), error_code="FENCED_INSTANCE_ID")
    syncs(cat, {})
    beats(cat)


@scenario("migration/joins/no-common-protocol", source=LETS_IN, clauses=("MG-16",))
def classic_members_have_a_protocol_in_common(conversation: Conversation) -> None:
    """A classic member without a protocol common to all classic ones gets INCONSISTENT_GROUP_PROTOCOL."""
    admitted(conversation)
    cat = conversation.actor("cat")

    cat.asks(join(member_id="", names=("roundrobin",)), error_code=INCONSISTENT)
    cat.asks(join(member_id="", names=("roundrobin",), version=3), error_code=INCONSISTENT)
    cat.asks(join(member_id="", names=("roundrobin", "range")), error_code=REQUIRED)


@scenario(
    "migration/joins/first-protocol", source="ConsumerGroup#supportsClassicProtocols", clauses=("MG-16",)
)
def the_first_classic_member_brings_any_protocol(conversation: Conversation) -> None:
    """The first classic member of a consumer group may use any protocol name."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    ana.asks(join(names=("mine",)), error_code=REQUIRED)
    answer = expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, protocol_name="mine")
    ana.asks(join(names=("mine",)), answer)
    ana.asks(ask.sync_group(version=5, protocol_name="mine"), error_code="NONE")


@scenario("migration/joins/other-protocol-type", source=LETS_IN, clauses=("MG-16", "XT-05"))
def another_protocol_type_is_not_let_in(conversation: Conversation) -> None:
    """JoinGroup to a consumer group with another protocol type gets INCONSISTENT_GROUP_PROTOCOL."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    ana.asks(ask.join_group(protocol_type="connect", protocols=(("default", b""),)), error_code=INCONSISTENT)
    bob.heartbeats(assigned=None)


@scenario("migration/joins/unreadable-subscription", source=READS, clauses=("MG-22",))
def a_subscription_can_be_read(conversation: Conversation) -> None:
    """A classic member with an unreadable subscription cannot join a consumer group."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    garbage = ask.join_group(protocols=(("range", b"\x00"),))

    ana.asks(garbage, error_code=REQUIRED)
    ana.asks(garbage, error_code=one_of(INCONSISTENT, "UNKNOWN_SERVER_ERROR"))
    bob.heartbeats(assigned=None)


@scenario(
    "migration/joins/full",
    source="GroupMetadataManager#throwIfConsumerGroupIsFull",
    clauses=("MG-23",),
    broker_config=TWO,
)
def a_full_group_takes_no_classic_member(conversation: Conversation) -> None:
    """JoinGroup to a full consumer group gets GROUP_MAX_SIZE_REACHED, before other checks."""
    bob = consumer(conversation)
    conversation.member("cat").enters("payments", assigned={})
    ana = conversation.actor("ana")

    ana.asks(join(member_id=""), error_code="GROUP_MAX_SIZE_REACHED")
    ana.asks(
        ask.join_group(member_id="", protocol_type="connect", protocols=(("default", b""),)),
        error_code="GROUP_MAX_SIZE_REACHED",
    )
    bob.heartbeats(assigned=FIRST)


@scenario(
    "migration/joins/full-static",
    source="GroupMetadataManager#throwIfConsumerGroupIsFull",
    clauses=("XT-12",),
    broker_config=TWO,
)
def a_full_group_takes_a_successor_later(conversation: Conversation) -> None:
    """Since 4.4 a classic member may replace a static consumer in a full group."""
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned=BOTH)
    conversation.member("dan").enters("payments", assigned={})
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(BOTH), error_code=one_of("NONE", "GROUP_MAX_SIZE_REACHED"))
    conversation.actor("cat").asks(join(member_id=""), error_code=one_of(REQUIRED, "GROUP_MAX_SIZE_REACHED"))


@scenario("migration/joins/first-name", source=JOINS, clauses=("MG-51",))
def the_first_protocol_is_answered(conversation: Conversation) -> None:
    """JoinGroup to a consumer group returns the protocol that the member listed first."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    joining = join(names=("sticky", "range"))

    ana.asks(joining, error_code=REQUIRED)
    answer = expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, protocol_name="sticky")
    ana.asks(joining, answer)


@scenario(
    "migration/joins/sync-with-another-protocol",
    source="GroupMetadataManager#throwIfClassicProtocolUnmatched",
    clauses=("MG-13",),
)
def a_sync_names_what_the_join_was_answered(conversation: Conversation) -> None:
    """SyncGroup v5 with another protocol than JoinGroup returned gets INCONSISTENT_GROUP_PROTOCOL."""
    ana, _ = admitted(conversation)

    ana.asks(ask.sync_group(version=5, protocol_type="connect"), error_code=INCONSISTENT)
    ana.asks(ask.sync_group(version=5, protocol_name="roundrobin"), error_code=INCONSISTENT)
    ana.asks(ask.sync_group(version=5, protocol_type=None, protocol_name=None), error_code=INCONSISTENT)
    ana.asks(ask.sync_group(version=4), error_code="NONE")
    syncs(ana, {})


@scenario(
    "migration/joins/sync-of-another-generation",
    source="GroupMetadataManager#throwIfGenerationIdUnmatched",
    clauses=("MG-15",),
)
def a_sync_names_the_generation(conversation: Conversation) -> None:
    """SyncGroup of a classic member in another generation gets ILLEGAL_GENERATION, in any protocol."""
    ana, _ = admitted(conversation)

    for generation in (ana.generation_id + 1, ana.generation_id - 1):
        ana.asks(
            ask.sync_group(version=5, generation_id=generation, protocol_name="roundrobin"),
            error_code=GENERATION,
        )


@scenario("migration/upgrade/sync-with-another-protocol", source=SYNCS, clauses=("MG-04", "MG-13"))
def the_protocol_counts_before_the_rebalance(conversation: Conversation) -> None:
    """SyncGroup with another protocol, of a member that must rejoin, gets INCONSISTENT_GROUP_PROTOCOL."""
    ana, _ = upgraded(conversation)

    ana.asks(ask.sync_group(version=5, protocol_name="roundrobin"), error_code=INCONSISTENT)
    ana.asks(ask.sync_group(version=5), error_code=IN_PROGRESS)


@scenario(
    "migration/joins/in-the-name-of-a-consumer",
    source="GroupMetadataManager#throwIfMemberDoesNotUseClassicProtocol",
    clauses=("MG-14",),
)
def a_consumer_does_not_sync(conversation: Conversation) -> None:
    """SyncGroup and Heartbeat with the member id of a consumer get UNKNOWN_MEMBER_ID."""
    ana, bob = admitted(conversation)

    ana.asks(ask.sync_group(member_id=bob.member_id, generation_id=bob.epoch), error_code=UNKNOWN)
    ana.asks(ask.heartbeat(member_id=bob.member_id, generation_id=bob.epoch), error_code=UNKNOWN)
    ana.asks(ask.heartbeat(member_id="nobody"), error_code=UNKNOWN)


@scenario("migration/joins/waits", source=WAITS, clauses=("MG-12",))
def a_classic_member_waits_for_a_partition(conversation: Conversation) -> None:
    """A classic member rejoins in the same generation once the partition that it waits for is free."""
    ana, bob = admitted(conversation)
    syncs(ana, {})

    beats(ana)
    bob.heartbeats(assigned=FIRST)
    beats(ana)
    bob.heartbeats(owned=FIRST, member_epoch=ana.generation_id, assigned=None)
    beats(ana, IN_PROGRESS)
    syncs(ana, {})
    ana.asks(join(), expect.join_group(error_code="NONE", generation_id=bob.epoch))
    syncs(ana, SECOND)
    beats(ana)
    is_consumer(bob, "Stable")


@scenario("migration/joins/subscribes-elsewhere", source=JOINS, clauses=("MG-52",))
def another_subscription_raises_the_epoch(conversation: Conversation) -> None:
    """A classic member that rejoins with another subscription raises the group epoch."""
    ana, bob = shared(conversation)

    ana.asks(join(topics=("orders",)), expect.join_group(error_code="NONE", generation_id=bob.epoch + 1))
    ana.asks(
        ask.sync_group(version=5),
        expect.sync_group(error_code="NONE", assignment=ask.assignment("orders", 0, 1, 2, version=1)),
    )
    bob.heartbeats(member_epoch=ana.generation_id, assigned=BOTH)


@scenario("migration/joins/rejoins-unchanged", source=JOINS, clauses=("MG-52",))
def the_same_subscription_changes_nothing(conversation: Conversation) -> None:
    """A classic member that rejoins with its current partitions stays in its generation."""
    ana, bob = shared(conversation)

    for _ in range(2):
        ana.asks(join(FIRST), expect.join_group(error_code="NONE", generation_id=bob.epoch))
        syncs(ana, FIRST)
    bob.heartbeats(assigned=None)
    is_consumer(bob, "Stable")


@scenario(
    "migration/joins/consumer-goes-over",
    source="GroupMetadataManager#getOrMaybeSubscribeDynamicConsumerGroupMember",
    clauses=("MG-50",),
)
def a_consumer_goes_over(conversation: Conversation) -> None:
    """A JoinGroup with a dynamic consumer's member id makes it a classic member; the group type stays."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    answer = expect.join_group(error_code="NONE", generation_id=bob.epoch, member_id=bob.member_id)
    ana.asks(join(BOTH, member_id=bob.member_id), answer)
    syncs(ana, BOTH)
    beats(ana)
    known = expect.group_member(bob.member_id, epoch=bob.epoch, owned=BOTH, member_type=0)
    ana.asks(
        ask.consumer_group_describe(), expect.consumer_group_describe(group_state="Stable", members=(known,))
    )


@scenario("migration/leave/nobody-of-classic-ones", source=FENCES, clauses=("MG-25", "MG-50"))
def nobody_leaves_a_group_of_classic_members(conversation: Conversation) -> None:
    """A LeaveGroup that removes nobody leaves a consumer group of classic members as it is."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    ana.asks(join(BOTH, member_id=bob.member_id), error_code="NONE")

    answer = expect.leave_group(error_code="NONE", members=({"error_code": UNKNOWN},))
    ana.asks(ask.leave_group(members=(("nobody", None),)), answer)
    is_consumer(ana, "Stable")


@scenario(
    "migration/joins/classic-goes-over",
    source="GroupMetadataManager#consumerGroupHeartbeat",
    clauses=("MG-55",),
)
def a_classic_member_goes_over(conversation: Conversation) -> None:
    """Since 4.2, a ConsumerGroupHeartbeat that joins with a classic member's id makes it a consumer."""
    ana, bob = upgraded(conversation)

    bob.enters("payments", member_id=ana.member_id, error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    beats(ana, one_of(UNKNOWN, IN_PROGRESS))
    known = expect.group_member(ana.member_id, member_type=one_of(0, 1))
    other = expect.group_member("member-bob", member_type=1)
    described = expect.consumer_group_describe(error_code="NONE", members=in_any_order(known, other))
    ana.asks(ask.consumer_group_describe(), described)


@scenario("migration/joins/commits", source="ConsumerGroup#validateOffsetCommit", clauses=("MG-05", "MG-06"))
def an_admitted_member_commits(conversation: Conversation) -> None:
    """A classic member admitted to a consumer group may commit in its generation, and in no other."""
    ana, bob = admitted(conversation)

    commits(ana, 3)
    has_committed(bob, 3)
    ana.asks(
        ask.offset_commit(generation_id=ana.generation_id - 1, topics={"payments": {0: 4}}),
        expect.offset_commit({"payments": {0: GENERATION}}),
    )
    ana.asks(
        ask.offset_commit(member_id="nobody", topics={"payments": {0: 4}}),
        expect.offset_commit({"payments": {0: UNKNOWN}}),
    )
