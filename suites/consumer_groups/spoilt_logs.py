"""Consumer group records that a coordinator cannot read or rejects, and the effect on their partition."""

from harness.scenario import Conversation, ask, expect, offset_record, record_of_type, scenario
from harness.scenario.log_records import LogRecord
from suites.consumer_groups.loading import EPOCH_TYPE, MEMBER_TYPE, REPLAYS, named
from suites.consumer_groups.logged import STABLE, logged
from suites.consumer_groups.validation import sole_member
from suites.loading.unreadable import GOOD, LOADS, MANY_PARTITIONS, UNKNOWN, WRITES, owns, restarts
from suites.transactions.producers import initialised

LOST = "NOT_COORDINATOR"


def _costs_the_partition(conversation: Conversation, *records: LogRecord, partition: int) -> None:
    """Append records after a group with a member, and expect after a restart that the group is lost.

    A transaction with a group of another partition shows that every load has begun. Each scenario loses a
    partition of its own, because others lose theirs on the same broker.
    """
    zoe = conversation.actor("zoe")
    producer = initialised(zoe)
    main = conversation.group("main", partition=partition)
    good = conversation.group("good", partition=GOOD)
    ana, _ = sole_member(conversation)
    conversation.appends(offset_record("payments", 0, GOOD, group=good), to=good)
    conversation.appends(*records, spoils=True)
    restarts(conversation, producer, main)

    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=LOST))
    ana.heartbeats(error_code=LOST)
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}, error_code=LOST))


@scenario(
    "consumer_groups/loading/truncated-member",
    source=LOADS,
    clauses=("KL-08",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_truncated_member_costs_the_partition(conversation: Conversation) -> None:
    """A truncated member record makes the partition unloadable: its groups get NOT_COORDINATOR."""
    truncated = record_of_type(MEMBER_TYPE, key=named("x") + named("x"), value=b"\x00\x00\x05on")

    _costs_the_partition(conversation, truncated, partition=18)


@scenario(
    "consumer_groups/loading/truncated-epoch",
    source=LOADS,
    clauses=("KL-08",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_truncated_epoch_costs_the_partition(conversation: Conversation) -> None:
    """A truncated group epoch record makes the partition unloadable: its groups get NOT_COORDINATOR."""
    truncated = record_of_type(EPOCH_TYPE, key=named("x"), value=b"\x00\x00\x00\x00")

    _costs_the_partition(conversation, truncated, partition=19)


@scenario(
    "consumer_groups/loading/later-version",
    source=LOADS,
    clauses=("KL-08",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def an_epoch_of_a_later_version_costs_the_partition(conversation: Conversation) -> None:
    """A group epoch of an unknown version makes the partition unloadable: groups get NOT_COORDINATOR."""
    later = record_of_type(EPOCH_TYPE, key=named("x"), value=UNKNOWN + bytes(5))

    _costs_the_partition(conversation, later, partition=20)


@scenario(
    "consumer_groups/loading/members-of-a-deleted-group",
    source=REPLAYS,
    clauses=("KL-13",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_group_is_not_deleted_before_its_members(conversation: Conversation) -> None:
    """A tombstone of a group that has a member makes the partition unloadable: groups get NOT_COORDINATOR."""
    deleted = record_of_type(EPOCH_TYPE, key=named("x"), value=None)

    _costs_the_partition(conversation, *logged("x", STABLE), deleted, partition=21)


@scenario(
    "consumer_groups/loading/two-owners",
    source="ConsumerGroup#addPartitionEpochs",
    clauses=("KL-13",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_partition_has_no_two_owners_in_one_epoch(conversation: Conversation) -> None:
    """Two members that own one partition in the same epoch make the log's partition unloadable."""
    _costs_the_partition(conversation, owns("bob-1", 2, 0), owns("dan-1", 2, 0), partition=22)
