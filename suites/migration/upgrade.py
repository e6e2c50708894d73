"""A consumer that joins a classic group with members makes it a consumer group."""

from harness.scenario import (
    Capability,
    Conversation,
    GroupRef,
    Pattern,
    ask,
    containing,
    expect,
    in_any_order,
    scenario,
    sweep,
)
from suites.migration.groups import (
    BOTH,
    FIRST,
    GENERATION,
    IN_PROGRESS,
    REQUIRED,
    SECOND,
    beats,
    classic_consumer,
    commits,
    has_committed,
    is_consumer,
    join,
    parts,
    rejoins,
    shared,
    syncs,
    upgraded,
)

CONVERTS = "GroupMetadataManager#convertToConsumerGroup"
MAKES_GROUP = "ConsumerGroup#fromClassicGroup"
JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"
SYNCS = "GroupMetadataManager#classicGroupSyncToConsumerGroup"
BEATS = "GroupMetadataManager#classicGroupHeartbeatToConsumerGroup"
LEAVES = "GroupMetadataManager#classicGroupLeaveToConsumerGroup"
COMMITS = "ConsumerGroup#validateOffsetCommit"


@scenario("migration/upgrade/consumer-joins", source=CONVERTS, clauses=("MG-01",))
def a_consumer_makes_a_consumer_group(conversation: Conversation) -> None:
    """A consumer that joins a Stable classic group gets the next epoch, and no partitions yet."""
    ana, bob = upgraded(conversation)

    kept = expect.group_member(
        ana.member_id, epoch=ana.generation_id, owned=BOTH, target=FIRST, topics=("payments",), member_type=0
    )
    new = expect.group_member(
        bob.member_id, epoch=ana.generation_id + 1, owned={}, target=SECOND, member_type=1
    )
    described = expect.consumer_group_describe(
        group_state="Reconciling", group_epoch=ana.generation_id + 1, members=in_any_order(kept, new)
    )
    bob.asks(ask.consumer_group_describe(), described)
    is_consumer(bob, "Reconciling")


@scenario("migration/upgrade/listed", source="GroupMetadataManager#listGroups", clauses=("MG-01",))
def an_upgraded_group_is_listed_as_one_of_consumers(conversation: Conversation) -> None:
    """ListGroups lists an upgraded group with the type consumer."""
    _, bob = upgraded(conversation)

    listed: Pattern = {"group_id": GroupRef("main"), "group_state": "Reconciling", "group_type": "consumer"}
    bob.asks(
        ask.list_groups(version=5, types_filter=("consumer",)),
        expect.list_groups(error_code="NONE", groups=containing(listed)),
    )


@scenario("migration/upgrade/heartbeat", source=BEATS, clauses=("MG-02",))
def a_classic_member_has_to_rejoin(conversation: Conversation) -> None:
    """The Heartbeat of a classic member gets REBALANCE_IN_PROGRESS after the group's upgrade."""
    ana, _ = upgraded(conversation)

    beats(ana, IN_PROGRESS)
    beats(ana, IN_PROGRESS)


@scenario(
    "migration/upgrade/heartbeat-of-another-generation",
    source="GroupMetadataManager#throwIfGenerationIdUnmatched",
    clauses=("MG-03",),
)
def a_classic_member_names_its_generation(conversation: Conversation) -> None:
    """The Heartbeat of a classic member in another generation than its epoch gets ILLEGAL_GENERATION."""
    ana, bob = upgraded(conversation)

    for generation in (ana.generation_id + 1, ana.generation_id - 1, bob.epoch + 5):
        ana.asks(ask.heartbeat(generation_id=generation), error_code=GENERATION)


@scenario(
    "migration/upgrade/sync", source="GroupMetadataManager#throwIfRebalanceInProgress", clauses=("MG-04",)
)
def a_sync_waits_for_a_join(conversation: Conversation) -> None:
    """The SyncGroup of a classic member that has not rejoined gets REBALANCE_IN_PROGRESS."""
    ana, _ = upgraded(conversation)

    ana.asks(ask.sync_group(), error_code=IN_PROGRESS)


@scenario(
    "migration/upgrade/commit", source=COMMITS, clauses=("MG-05", "OC-44"), sweep=sweep("OffsetCommit", 5, 9)
)
def a_classic_member_commits(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} of a classic member in its generation succeeds after an upgrade."""
    ana, _ = upgraded(conversation)

    commits(ana, 7, version=version)
    has_committed(ana, 7)


@scenario(
    "migration/upgrade/commit-of-another-generation",
    source=COMMITS,
    clauses=("MG-06", "OC-44"),
    sweep=sweep("OffsetCommit", 8, 9),
)
def a_commit_of_another_generation_is_refused(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} of a classic member in another generation gets ILLEGAL_GENERATION."""
    ana, _ = upgraded(conversation)

    for generation in (ana.generation_id + 1, ana.generation_id - 1):
        ana.asks(
            ask.offset_commit(version=version, generation_id=generation, topics={"payments": {0: 7}}),
            expect.offset_commit({"payments": {0: GENERATION}}),
        )


@scenario(
    "migration/upgrade/fetch-of-another-generation",
    source="ConsumerGroup#validateOffsetFetch",
    clauses=("MG-06",),
)
def a_fetch_of_another_generation_is_refused(conversation: Conversation) -> None:
    """OffsetFetch v9 of a classic member succeeds in its generation, else gets ILLEGAL_GENERATION."""
    ana, _ = upgraded(conversation)

    commits(ana, 7)
    ana.asks(
        ask.offset_fetch(
            version=9,
            member_id=ana.member_id,
            member_epoch=ana.generation_id,
            topics={"payments": (0,)},
        ),
        expect.offset_fetch({"payments": {0: 7}}, version=9),
    )
    ana.asks(
        ask.offset_fetch(
            version=9,
            member_id=ana.member_id,
            member_epoch=ana.generation_id + 1,
            topics={"payments": (0,)},
        ),
        expect.offset_fetch({}, version=9, error_code=GENERATION),
    )


@scenario("migration/upgrade/without-topics", source=CONVERTS, clauses=("MG-58",))
def an_upgrade_need_not_change_the_epoch(conversation: Conversation) -> None:
    """A consumer that subscribes to nothing upgrades a group without raising its epoch, except in 4.0.0."""
    classic_consumer(conversation)
    bob = conversation.member("bob")

    bob.enters(topics=(), assigned={})
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
    bob.heartbeats(owned={}, assigned=None)


@scenario("migration/upgrade/rejoins", source=JOINS, clauses=("MG-07",))
def a_classic_member_rejoins_in_its_generation(conversation: Conversation) -> None:
    """A classic member that rejoins with all partitions stays in its generation, without a leader."""
    ana, bob = upgraded(conversation)

    ana.asks(
        join(BOTH),
        expect.join_group(
            error_code="NONE",
            generation_id=bob.epoch - 1,
            protocol_name="range",
            leader="",
            members=(),
            member_id=ana.member_id,
        ),
    )


@scenario("migration/upgrade/rejoins-v9", source=JOINS, clauses=("MG-07",), sweep=sweep("JoinGroup", 7, 9))
def a_rejoin_names_the_protocol_type(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} of a classic member in an upgraded group returns the protocol type."""
    ana, bob = upgraded(conversation)

    ana.asks(
        join(BOTH, version=version),
        expect.join_group(
            error_code="NONE", generation_id=bob.epoch - 1, protocol_type="consumer", protocol_name="range"
        ),
    )


@scenario("migration/upgrade/syncs", source=SYNCS, clauses=("MG-08", "XT-03"), sweep=sweep("SyncGroup", 0, 5))
def a_sync_brings_what_the_coordinator_assigned(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} after the rejoin returns what the member keeps, in the consumer protocol."""
    ana, _ = upgraded(conversation)

    rejoins(ana, BOTH)
    ana.asks(ask.sync_group(version=version), parts(FIRST))


@scenario("migration/upgrade/has-to-give-up", source=BEATS, clauses=("MG-09", "XT-03"))
def a_classic_member_has_to_confirm(conversation: Conversation) -> None:
    """A classic member that got less than it owned must rejoin once more."""
    ana, bob = upgraded(conversation)
    rejoins(ana, BOTH)
    syncs(ana, FIRST)

    beats(ana, IN_PROGRESS)
    bob.heartbeats(assigned=None)


@scenario("migration/upgrade/gives-up", source=JOINS, clauses=("MG-10", "MG-11"))
def a_classic_member_gives_up_a_partition(conversation: Conversation) -> None:
    """A classic member that rejoins without a partition joins the new epoch; the consumer gets it."""
    ana, bob = upgraded(conversation)
    rejoins(ana, BOTH)
    syncs(ana, FIRST)

    ana.asks(join(FIRST), expect.join_group(error_code="NONE", generation_id=bob.epoch, leader=""))
    syncs(ana, FIRST)
    beats(ana)
    bob.heartbeats(member_epoch=ana.generation_id, assigned=SECOND)
    is_consumer(bob, "Stable")


@scenario(
    "migration/upgrade/gives-up-too-little", source="CurrentAssignmentBuilder#build", clauses=("MG-10",)
)
def a_classic_member_gives_up_nothing(conversation: Conversation) -> None:
    """A classic member that still owns what it must give up stays in its generation."""
    ana, bob = upgraded(conversation)
    rejoins(ana, BOTH)

    ana.asks(join(BOTH), expect.join_group(error_code="NONE", generation_id=bob.epoch - 1))
    syncs(ana, FIRST)
    beats(ana, IN_PROGRESS)
    bob.heartbeats(assigned=None)


@scenario("migration/upgrade/static", source=MAKES_GROUP, clauses=("MG-45",))
def a_static_classic_member_stays_static(conversation: Conversation) -> None:
    """A static classic member keeps its instance id in the upgraded group."""
    ana = classic_consumer(conversation, instance_id="one")
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})

    known = expect.group_member(ana.member_id, instance_id="one", owned=BOTH, member_type=0)
    other = expect.group_member(bob.member_id, instance_id=None)
    described = expect.consumer_group_describe(members=in_any_order(known, other))
    bob.asks(ask.consumer_group_describe(), described)
    beats(ana, IN_PROGRESS)
    ana.asks(ask.heartbeat(group_instance_id="two"), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(member_id="nobody"), error_code="FENCED_INSTANCE_ID")


@scenario("migration/upgrade/offsets", source=CONVERTS, clauses=("MG-46",))
def offsets_survive_an_upgrade(conversation: Conversation) -> None:
    """Offsets of a classic member are there after an upgrade, and the consumer may commit."""
    ana = classic_consumer(conversation)
    commits(ana, 5)
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})

    has_committed(bob, 5)
    commits(bob, 6, version=9)
    has_committed(ana, 6)


@scenario("migration/upgrade/join-in-flight", source=CONVERTS, clauses=("MG-29",))
def a_parked_join_has_to_be_repeated(conversation: Conversation) -> None:
    """A parked JoinGroup gets REBALANCE_IN_PROGRESS when a consumer upgrades the group."""
    ana = classic_consumer(conversation)
    cat, bob = conversation.actor("cat"), conversation.member("bob")
    cat.asks(join(), error_code=REQUIRED)
    cat.sends(join())
    cat.stays_parked(for_ms=300)

    bob.enters("payments", member_epoch=ana.generation_id + 1)
    cat.receives(expect.join_group(error_code=IN_PROGRESS))
    beats(ana, IN_PROGRESS)
    is_consumer(bob, "Reconciling")


@scenario("migration/upgrade/sync-in-flight", source=CONVERTS, clauses=("MG-29",))
def a_parked_sync_is_refused(conversation: Conversation) -> None:
    """A parked SyncGroup gets REBALANCE_IN_PROGRESS when a consumer upgrades the group.

    The consumer votes for the range assignor, which uses the order of member ids: a classic member's id
    starts with its client id.
    """
    ana, cat = conversation.actors("ana", "cat")
    joining = join(topics=("orders",))
    ana.asks(joining, error_code=REQUIRED)
    ana.asks(joining, error_code="NONE")
    cat.asks(joining, error_code=REQUIRED)
    cat.sends(joining)
    ana.asks(joining, error_code="NONE")
    cat.receives(expect.join_group(error_code="NONE"))
    cat.sends(ask.sync_group())
    cat.stays_parked(for_ms=300)

    bob = conversation.member("bob")
    bob.enters("orders", assignor="range", member_epoch=ana.generation_id + 1, assigned={"orders": (2,)})
    cat.receives(expect.sync_group(error_code=IN_PROGRESS))
    ana.asks(ask.sync_group(), error_code=IN_PROGRESS)
    is_consumer(bob, "Reconciling")


@scenario("migration/upgrade/completing", source=MAKES_GROUP, clauses=("MG-29",))
def a_leader_that_has_not_synced_owns_nothing(conversation: Conversation) -> None:
    """A classic member that has not synced owns nothing after an upgrade: the consumer gets its part."""
    ana, bob = conversation.actor("ana"), conversation.member("bob")
    ana.asks(join(), error_code=REQUIRED)
    ana.asks(join(), error_code="NONE")

    entered = bob.enters("payments", member_epoch=ana.generation_id + 1)
    beats(ana, IN_PROGRESS)
    ana.asks(
        ask.sync_group(assignments=((ana.member_id, ask.assignment_of(BOTH, version=1)),)),
        error_code=IN_PROGRESS,
    )
    ana.asks(join(), expect.join_group(error_code="NONE", generation_id=entered["member_epoch"]))
    is_consumer(bob, "Stable")


@scenario("migration/upgrade/pending-id", source=JOINS, clauses=("MG-47",))
def an_id_of_before_the_upgrade_is_good(conversation: Conversation) -> None:
    """A pending member id of the classic group may join the upgraded consumer group."""
    classic_consumer(conversation)
    cat, bob = conversation.actor("cat"), conversation.member("bob")
    cat.asks(join(), error_code=REQUIRED)

    bob.enters("payments", assigned={})
    cat.asks(join(), expect.join_group(error_code="NONE", generation_id=bob.epoch + 1, leader=""))
    syncs(cat, {})


@scenario(
    "migration/upgrade/leaves",
    source=LEAVES,
    clauses=("MG-48",),
)
def a_classic_member_leaves(conversation: Conversation) -> None:
    """When a classic member leaves an upgraded group, the consumer gets its partitions."""
    ana, bob = upgraded(conversation)

    ana.asks(ask.leave_group(), error_code="NONE")
    bob.heartbeats(member_epoch=ana.generation_id + 2, assigned=BOTH)
    beats(ana, "UNKNOWN_MEMBER_ID")
    is_consumer(bob, "Stable")


@scenario(
    "migration/upgrade/restart",
    source="GroupMetadataManager#replay",
    clauses=("MG-49",),
    needs=(Capability.RESTART,),
)
def an_upgraded_group_survives_a_restart(conversation: Conversation) -> None:
    """After a restart an upgraded group is still a consumer group, with its classic members."""
    ana, bob = upgraded(conversation)
    conversation.restarts_coordinator()
    bob.repeats(
        ask.consumer_group_describe(), until=expect.consumer_group_describe(group_state="Reconciling")
    )

    beats(ana, IN_PROGRESS)
    kept = expect.group_member(ana.member_id, epoch=ana.generation_id, owned=BOTH, member_type=0)
    new = expect.group_member(bob.member_id, epoch=bob.epoch, owned={}, member_type=1)
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=in_any_order(kept, new)))
    rejoins(ana, BOTH)
    syncs(ana, FIRST)


@scenario("migration/upgrade/whole-way", source=BEATS, clauses=("MG-11", "MG-12"))
def nobody_has_to_rejoin_in_the_end(conversation: Conversation) -> None:
    """When both members have their partitions, the classic member's Heartbeat and SyncGroup get NONE."""
    ana, bob = shared(conversation)

    beats(ana)
    syncs(ana, FIRST)
    bob.heartbeats(assigned=None)
    beats(ana)
    is_consumer(bob, "Stable")
