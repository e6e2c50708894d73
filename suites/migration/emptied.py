"""What a coordinator loads of an Empty consumer group that a classic member has joined."""

from harness.scenario import Actor, Capability, Conversation, ask, expect, offset_record, scenario
from suites.consumer_groups.loading import is_loaded
from suites.loading.unreadable import GOOD, MANY_PARTITIONS, WRITES, restarts
from suites.migration.groups import NOT_FOUND, REQUIRED, UNKNOWN, consumer, is_classic, join
from suites.transactions.producers import Producer, announced, ends, initialised

FREES = "GroupMetadataManager#maybeDeleteEmptyConsumerGroup"
REPLAYS_SHARE = "GroupMetadataManager#getOrMaybeCreatePersistedShareGroup"
REPLAYS_STREAMS = "GroupMetadataManager#getOrMaybeCreatePersistedStreamsGroup"
RESTARTS = (Capability.RESTART,)


@scenario("migration/empty/restart", source=FREES, clauses=("MG-39", "MG-49"), needs=RESTARTS)
def an_emptied_group_is_classic_after_a_restart(conversation: Conversation) -> None:
    """An Empty consumer group that a classic member has joined, if only in one step, is loaded as classic."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(), error_code=REQUIRED)

    conversation.restarts_coordinator()
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Empty"),
        within_ms=20_000,
    )
    is_classic(ana, "Empty")


@scenario("migration/empty/refused-restart", source=FREES, clauses=("MG-39", "MG-49"), needs=RESTARTS)
def a_refused_join_writes_nothing(conversation: Conversation) -> None:
    """A JoinGroup with an unknown member id removes an Empty consumer group until the next restart."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    bob.heartbeats(epoch=1, error_code=NOT_FOUND)

    conversation.restarts_coordinator()
    is_loaded(bob, "Empty")


@scenario("migration/empty/another-group-writes", source=FREES, clauses=("MG-39", "MG-49"))
def a_refused_join_shows_when_another_group_writes(conversation: Conversation) -> None:
    """Reads see that a refused JoinGroup removed an Empty consumer group once another group has written."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    bob.asks(ask.consumer_group_describe(), expect.response("ConsumerGroupDescribe"))

    beside = conversation.group("other", beside=conversation.group("main"))
    ana.asks(
        ask.offset_commit(group_id=beside, generation_id=-1, member_id="", topics={"payments": {0: 3}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=NOT_FOUND))


@scenario("migration/empty/fetched-before-and-after", source=FREES, clauses=("MG-39", "MG-49"))
def a_refused_join_takes_offsets_from_readers_when_another_group_writes(conversation: Conversation) -> None:
    """OffsetFetch sees that a refused JoinGroup removed an Empty consumer group once another has written."""
    bob = consumer(conversation)
    bob.asks(
        ask.offset_commit(version=9, topics={"payments": {0: 7}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    of_a_member = ask.offset_fetch(version=9, member_id="invented", member_epoch=1, topics={"payments": (0,)})
    ana.asks(of_a_member, expect.response("OffsetFetch"))
    ana.asks(ask.offset_fetch(topics={"payments": (0,)}), expect.response("OffsetFetch"))

    beside = conversation.group("other", beside=conversation.group("main"))
    ana.asks(
        ask.offset_commit(group_id=beside, generation_id=-1, member_id="", topics={"payments": {0: 3}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )
    ana.asks(of_a_member, expect.response("OffsetFetch"))
    ana.asks(ask.offset_fetch(topics={"payments": (0,)}), expect.offset_fetch({"payments": {0: -1}}))


@scenario(
    "migration/empty/a-transaction-ends",
    source="CoordinatorRuntime.CoordinatorContext#completeTransaction",
    clauses=("MG-39", "MG-49"),
)
def a_refused_join_shows_when_a_transaction_ends(conversation: Conversation) -> None:
    """Reads see that a refused JoinGroup removed an Empty consumer group once a transaction has ended."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)

    ends(producer, committed=False)
    bob.repeats(
        ask.consumer_group_describe(),
        until=expect.consumer_group_describe(error_code=NOT_FOUND),
    )


def _removed_unwritten(conversation: Conversation, partition: int) -> tuple[Actor, Producer]:
    """Have an Empty consumer group in a partition removed by a refused JoinGroup, which writes nothing."""
    producer = initialised(conversation.actor("zoe"))
    conversation.group("main", partition=partition)
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    return ana, producer


def _loses_its_partition(conversation: Conversation, witness: Actor, producer: Producer) -> None:
    """Restart the coordinator, and expect that it cannot load the partition of the group."""
    main, good = conversation.group("main"), conversation.group("good", partition=GOOD)
    conversation.appends(offset_record("payments", 0, GOOD, group=good), to=good)
    # What the coordinator itself has written spoils the partition; this record does not.
    conversation.appends(offset_record("orders", 0, 1), spoils=True)
    restarts(conversation, producer, main)
    witness.asks(ask.offset_fetch(), expect.offset_fetch({}, error_code="NOT_COORDINATOR"))


@scenario(
    "migration/empty/share-log",
    source=REPLAYS_SHARE,
    clauses=("MG-39", "MG-49"),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_share_group_in_its_place_costs_the_partition(conversation: Conversation) -> None:
    """A share group takes the place of an Empty consumer group that a refused JoinGroup removed.

    The log has records of both, and nothing between them. So the partition cannot be loaded any more.
    """
    ana, producer = _removed_unwritten(conversation, partition=24)
    conversation.share_member("sam").enters("payments")

    _loses_its_partition(conversation, ana, producer)


@scenario(
    "migration/empty/streams-log",
    source=REPLAYS_STREAMS,
    clauses=("MG-39", "MG-49"),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_streams_group_in_its_place_costs_the_partition(conversation: Conversation) -> None:
    """The same with a streams group: its records do not load behind those of the consumer group."""
    ana, producer = _removed_unwritten(conversation, partition=25)
    conversation.streams_member("tia").enters()

    _loses_its_partition(conversation, ana, producer)
