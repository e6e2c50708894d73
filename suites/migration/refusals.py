"""Groups that are not converted, because of their members, their size, or the broker's policy."""

from harness.scenario import Actor, Conversation, ask, expect, one_of, scenario
from suites.migration.groups import (
    BOTH,
    FIRST,
    IN_PROGRESS,
    INCONSISTENT,
    NOT_FOUND,
    REQUIRED,
    admitted,
    beats,
    classic_consumer,
    classic_consumers,
    commits_as_nobody,
    consumer,
    has_committed,
    is_classic,
    is_consumer,
    join,
    parts,
    shared,
    syncs,
)

VALIDATES = "GroupMetadataManager#validateOnlineUpgrade"
CONVERTS = "GroupMetadataManager#convertToConsumerGroup"
FENCED = "GroupMetadataManager#validateOnlineDowngradeWithFencedMembers"
REPLACED = "GroupMetadataManager#validateOnlineDowngradeWithReplacedMember"
ADMITS = "GroupMetadataManager#throwIfClassicMemberCannotJoinConsumerGroup"
FINDS = "GroupMetadataManager#getOrMaybeCreateConsumerGroup"
FREES_CLASSIC = "GroupMetadataManager#maybeDeleteEmptyClassicGroup"
FREES_CONSUMER = "GroupMetadataManager#maybeDeleteEmptyConsumerGroup"
JOINS_CLASSIC = "GroupMetadataManager#classicGroupJoinToClassicGroup"
POLICY = "group.consumer.migration.policy"
DISABLED, UPGRADE, DOWNGRADE = {POLICY: "disabled"}, {POLICY: "upgrade"}, {POLICY: "downgrade"}
TWO = {"group.consumer.max.size": "2"}
WORKER = ask.join_group(protocol_type="connect", protocols=(("default", b""),))


def is_not_upgraded(conversation: Conversation) -> None:
    """Let bob be refused by a classic group of ana, which stays as it was."""
    bob = conversation.member("bob")
    bob.enters("payments", error_code=NOT_FOUND)
    is_classic(bob, "Stable")


def worker(conversation: Conversation) -> Actor:
    """Make a classic group of ana, whose protocol type is not that of consumers."""
    ana = conversation.actor("ana")
    ana.asks(WORKER, error_code=REQUIRED)
    ana.asks(WORKER, error_code="NONE")
    ana.asks(ask.sync_group(assignments=((ana.member_id, b"all"),)), error_code="NONE")
    return ana


@scenario("migration/refused/other-protocol-type", source=VALIDATES, clauses=("MG-30",))
def only_groups_of_consumers_are_upgraded(conversation: Conversation) -> None:
    """A consumer that joins a classic group of another protocol type gets GROUP_ID_NOT_FOUND."""
    ana = worker(conversation)

    is_not_upgraded(conversation)
    beats(ana)


@scenario(
    "migration/refused/type-before-size", source=VALIDATES, clauses=("MG-30", "MG-33"), broker_config=TWO
)
def the_type_counts_before_the_size(conversation: Conversation) -> None:
    """A consumer that joins a large classic group of another protocol type learns of the type."""
    ana, others = worker(conversation), conversation.actors("cat", "dan")
    for other in others:
        other.asks(WORKER, error_code=REQUIRED)
        other.sends(WORKER)
    ana.asks(WORKER, error_code="NONE")
    for other in others:
        other.receives(expect.join_group(error_code="NONE"))

    bob = conversation.member("bob")
    bob.enters("payments", error_code=NOT_FOUND)
    is_classic(bob, "CompletingRebalance")


@scenario(
    "migration/policy/disabled-other-type",
    source=VALIDATES,
    clauses=("MG-30", "MG-34"),
    broker_config=DISABLED,
)
def the_policy_counts_before_the_type(conversation: Conversation) -> None:
    """With the policy disabled, a consumer joining a group of another protocol type learns of the policy."""
    ana = worker(conversation)

    is_not_upgraded(conversation)
    beats(ana)


@scenario(
    "migration/refused/no-protocol-yet",
    source="ConsumerGroup#fromClassicGroup",
    clauses=("MG-63",),
    broker_config={"group.initial.rebalance.delay.ms": "2000"},
)
def a_group_without_a_protocol_is_not_upgraded(conversation: Conversation) -> None:
    """A consumer that joins a classic group during its initial delay gets UNKNOWN_SERVER_ERROR."""
    ana, bob = conversation.actor("ana"), conversation.member("bob")
    ana.asks(join(), error_code=REQUIRED)
    ana.sends(join())

    bob.enters("payments", error_code="UNKNOWN_SERVER_ERROR")
    ana.receives(expect.join_group(error_code=IN_PROGRESS))
    is_classic(bob, "PreparingRebalance")


@scenario("migration/refused/custom-assignor", source=CONVERTS, clauses=("MG-31",))
def a_custom_assignor_is_kept(conversation: Conversation) -> None:
    """A consumer that joins a classic group whose assignments carry user data gets GROUP_ID_NOT_FOUND."""
    assignment = ask.assignment_of(BOTH, version=1, user_data=b"custom")
    ana = classic_consumer(conversation, assignment=assignment)

    is_not_upgraded(conversation)
    beats(ana)


@scenario("migration/refused/empty-data", source=CONVERTS, clauses=("MG-31",))
def empty_data_are_no_data(conversation: Conversation) -> None:
    """A classic group whose assignments carry empty user data is upgraded."""
    assignment = ask.assignment_of(BOTH, version=1, user_data=b"")
    ana = classic_consumer(conversation, assignment=assignment)
    bob = conversation.member("bob")

    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})
    beats(ana, IN_PROGRESS)


@scenario("migration/refused/unreadable-subscription", source=CONVERTS, clauses=("MG-32",))
def a_subscription_has_to_be_readable(conversation: Conversation) -> None:
    """A consumer that joins a classic group with an unreadable subscription gets GROUP_ID_NOT_FOUND."""
    ana = classic_consumer(conversation, request=ask.join_group(protocols=(("range", b"\x00"),)))

    is_not_upgraded(conversation)
    beats(ana)


@scenario("migration/refused/unreadable-assignment", source=CONVERTS, clauses=("MG-32",))
def an_assignment_has_to_be_readable(conversation: Conversation) -> None:
    """A consumer that joins a classic group with an unreadable assignment gets GROUP_ID_NOT_FOUND."""
    ana = classic_consumer(conversation, assignment=b"\x00")

    is_not_upgraded(conversation)
    beats(ana)


@scenario("migration/refused/assignment-beyond-the-end", source=CONVERTS, clauses=("MG-32",))
def an_assignment_may_announce_more_than_there_is(conversation: Conversation) -> None:
    """An assignment length beyond its bytes fails the upgrade, with GROUP_ID_NOT_FOUND since 4.4."""
    ana = classic_consumer(conversation, assignment=b"\x00\x01\x7f\xff\xff\xff")
    bob = conversation.member("bob")

    bob.enters("payments", error_code=one_of("UNKNOWN_SERVER_ERROR", NOT_FOUND))
    is_classic(bob, "Stable")
    beats(ana)


@scenario("migration/refused/joins-in-flight", source=CONVERTS, clauses=("MG-56",))
def a_refused_upgrade_ends_what_is_parked(conversation: Conversation) -> None:
    """An upgrade that fails at an unreadable subscription ends a parked join: REBALANCE_IN_PROGRESS."""
    garbage = ask.join_group(protocols=(("range", b"\x00"),))
    classic_consumer(conversation, request=garbage)
    cat, bob = conversation.actor("cat"), conversation.member("bob")
    cat.asks(garbage, error_code=REQUIRED)
    cat.sends(garbage)
    cat.stays_parked(for_ms=300)

    bob.enters("payments", error_code=NOT_FOUND)
    cat.receives(expect.join_group(error_code=IN_PROGRESS))
    is_classic(bob, "PreparingRebalance")


@scenario("migration/refused/too-large", source=VALIDATES, clauses=("MG-33",), broker_config=TWO)
def a_large_group_is_not_upgraded(conversation: Conversation) -> None:
    """A consumer that joins a classic group beyond the consumer size limit gets GROUP_ID_NOT_FOUND."""
    members = classic_consumers(conversation, "cat", "dan")

    is_not_upgraded(conversation)
    for member in members:
        beats(member)


@scenario(
    "migration/refused/no-room",
    source="GroupMetadataManager#throwIfConsumerGroupIsFull",
    clauses=("MG-33",),
    broker_config=TWO,
)
def a_full_group_is_not_upgraded(conversation: Conversation) -> None:
    """A consumer that joins a full classic group gets GROUP_MAX_SIZE_REACHED; the group stays classic."""
    members = classic_consumers(conversation, "cat")
    bob = conversation.member("bob")

    bob.enters("payments", error_code="GROUP_MAX_SIZE_REACHED")
    is_classic(bob, "Stable")
    for member in members:
        beats(member)


@scenario("migration/refused/heartbeat", source=FINDS, clauses=("MG-01",))
def only_a_join_upgrades(conversation: Conversation) -> None:
    """A heartbeat to a classic group that does not join gets GROUP_ID_NOT_FOUND, without an upgrade."""
    ana = classic_consumer(conversation)
    bob = conversation.member("bob")

    for epoch in (1, -1):
        bob.heartbeats(epoch=epoch, error_code=NOT_FOUND)
    is_classic(bob, "Stable")
    beats(ana)


@scenario("migration/policy/disabled-upgrade", source=VALIDATES, clauses=("MG-34",), broker_config=DISABLED)
def a_disabled_policy_upgrades_nothing(conversation: Conversation) -> None:
    """With the migration policy disabled, a consumer that joins a classic group gets GROUP_ID_NOT_FOUND."""
    ana = classic_consumer(conversation)

    is_not_upgraded(conversation)
    beats(ana)


@scenario("migration/policy/downgrade-upgrade", source=VALIDATES, clauses=("MG-34",), broker_config=DOWNGRADE)
def a_downgrade_policy_upgrades_nothing(conversation: Conversation) -> None:
    """With the migration policy downgrade, a consumer joining a classic group gets GROUP_ID_NOT_FOUND."""
    ana = classic_consumer(conversation)

    is_not_upgraded(conversation)
    beats(ana)


@scenario("migration/policy/disabled-join", source=ADMITS, clauses=("MG-35", "XT-07"), broker_config=DISABLED)
def a_disabled_policy_may_admit_nobody(conversation: Conversation) -> None:
    """With the migration policy disabled, later releases admit no classic member to a consumer group."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")

    ana.asks(join(), error_code=one_of(REQUIRED, INCONSISTENT))
    ana.asks(join(member_id="invented"), error_code=one_of("NONE", INCONSISTENT))
    ana.asks(ask.heartbeat(member_id="nobody", generation_id=1), error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(error_code="NONE")


@scenario("migration/policy/upgrade-leaves", source=FENCED, clauses=("MG-36",), broker_config=UPGRADE)
def an_upgrade_policy_downgrades_nothing(conversation: Conversation) -> None:
    """With the migration policy upgrade, a group without consumers stays a consumer group."""
    ana, bob = shared(conversation)
    last = bob.heartbeats(assigned=None)

    bob.leaves()
    is_consumer(bob, "Assigning")
    beats(ana, one_of("NONE", IN_PROGRESS))
    ana.asks(
        join(FIRST),
        expect.join_group(error_code="NONE", generation_id=last["member_epoch"] + 1, leader=""),
    )
    syncs(ana, BOTH)
    is_consumer(bob, "Stable")


@scenario("migration/policy/upgrade-replaced", source=REPLACED, clauses=("MG-36",), broker_config=UPGRADE)
def an_upgrade_policy_keeps_a_replaced_group(conversation: Conversation) -> None:
    """With the migration policy upgrade, replacing the last consumer leaves a consumer group."""
    bob = conversation.member("bob", instance_id="one")
    bob.enters("payments", assigned=BOTH)
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(BOTH), expect.join_group(error_code="NONE", generation_id=bob.epoch, leader=""))
    is_consumer(bob, "Stable")
    ana.asks(ask.sync_group(version=5), parts(BOTH))


@scenario("migration/policy/downgrade-leaves", source=FENCED, clauses=("MG-24",), broker_config=DOWNGRADE)
def a_downgrade_policy_downgrades(conversation: Conversation) -> None:
    """With the migration policy downgrade, classic members may join, and the group becomes classic again."""
    ana, bob = admitted(conversation)
    syncs(ana, {})

    bob.leaves()
    is_classic(bob, "PreparingRebalance")
    beats(ana, IN_PROGRESS)


@scenario("migration/empty/classic", source=FREES_CLASSIC, clauses=("MG-38",))
def an_empty_classic_group_becomes_one_of_consumers(conversation: Conversation) -> None:
    """A consumer that joins an Empty classic group makes it a consumer group, which keeps the offsets."""
    ana = classic_consumer(conversation)
    ana.asks(ask.leave_group(), error_code="NONE")
    commits_as_nobody(ana, 4)

    bob = consumer(conversation)
    is_consumer(bob, "Stable")
    has_committed(bob, 4)
    beats(ana, "UNKNOWN_MEMBER_ID")


@scenario("migration/empty/simple", source=FREES_CLASSIC, clauses=("MG-38",))
def a_group_of_offsets_becomes_one_of_consumers(conversation: Conversation) -> None:
    """A consumer that joins a group with only offsets makes it a consumer group, which keeps them."""
    commits_as_nobody(conversation.actor("ana"), 4)

    bob = consumer(conversation)
    is_consumer(bob, "Stable")
    has_committed(bob, 4)


@scenario(
    "migration/empty/pending",
    source=FREES_CLASSIC,
    clauses=("MG-38", "MG-47"),
)
def a_group_of_pending_ids_is_empty(conversation: Conversation) -> None:
    """A classic group with only a pending member counts as empty, and the member id stays valid."""
    ana = conversation.actor("ana")
    ana.asks(join(), error_code=REQUIRED)

    bob = consumer(conversation)
    ana.asks(join(), expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, leader=""))


@scenario(
    "migration/empty/classic-disabled",
    source=FREES_CLASSIC,
    clauses=("MG-38",),
    broker_config=DISABLED,
)
def an_empty_classic_group_is_nobodys(conversation: Conversation) -> None:
    """With the migration policy disabled, an Empty classic group still becomes a consumer group."""
    ana = classic_consumer(conversation)
    ana.asks(ask.leave_group(), error_code="NONE")

    bob = consumer(conversation)
    is_consumer(bob, "Stable")


@scenario(
    "migration/empty/consumer",
    source=FREES_CONSUMER,
    clauses=("MG-39",),
)
def an_empty_consumer_group_becomes_classic(conversation: Conversation) -> None:
    """A classic member that joins an Empty consumer group leads a classic group, which keeps the offsets."""
    bob = consumer(conversation)
    bob.leaves()
    commits_as_nobody(bob, 4)
    ana = classic_consumer(conversation)

    is_classic(ana, "Stable", protocol_type="consumer")
    has_committed(ana, 4)


@scenario("migration/empty/own-id", source=JOINS_CLASSIC, clauses=("MG-39",))
def an_empty_consumer_group_takes_no_ids(conversation: Conversation) -> None:
    """A JoinGroup with an unknown member id to an Empty consumer group gets UNKNOWN_MEMBER_ID."""
    bob = consumer(conversation)
    bob.leaves()

    conversation.actor("ana").asks(join(member_id="invented"), error_code="UNKNOWN_MEMBER_ID")


@scenario("migration/empty/static", source=JOINS_CLASSIC, clauses=("MG-39",))
def a_static_member_takes_an_empty_consumer_group(conversation: Conversation) -> None:
    """A static classic member joins an Empty consumer group in one step, and leads a classic group."""
    bob = consumer(conversation)
    bob.leaves()
    ana = classic_consumer(conversation, instance_id="one")

    is_classic(ana, "Stable")
    bob.heartbeats(epoch=1, error_code=NOT_FOUND)


@scenario(
    "migration/empty/consumer-disabled",
    source=FREES_CONSUMER,
    clauses=("MG-39",),
    broker_config=DISABLED,
)
def an_empty_consumer_group_is_nobodys(conversation: Conversation) -> None:
    """With the migration policy disabled, an Empty consumer group still becomes a classic group."""
    bob = consumer(conversation)
    bob.leaves()
    ana = classic_consumer(conversation)

    is_classic(ana, "Stable")
