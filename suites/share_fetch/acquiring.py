"""Which records a member acquires, and in which batches."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE
from suites.share_fetch.readers import FIRST_MS, Reader, another, has_state, reader, topic_of, writes

ACQUIRES = "SharePartition#acquire"
ACQUIRES_NEW = "SharePartition#acquireNewBatchRecords"
BATCHES = "SharePartition#createBatches"
WAITS = "DelayedShareFetch#isMinBytesSatisfied"
BEGINS = "SharePartition#startOffsetDuringInitialization"
IN_FLIGHT = "SharePartition#lastOffsetAndMaxRecordsToAcquire"
LOSES = "SharePartition#updateCacheAndOffsets"
RECORD_LIMIT = 1


@scenario("share_fetch/acquiring/whole-batches", source=ACQUIRES_NEW, clauses=("SF-28",))
def whole_batches_are_acquired(conversation: Conversation) -> None:
    """A ShareFetch may exceed max_records up to the end of a batch."""
    ana = reader(conversation, 5, 5, 5)
    ana.fetches((0, 4, 1), max_records=3)
    ana.fetches((5, 14, 1), max_records=6)


@scenario(
    "share_fetch/acquiring/record-limit", source="SharePartition#createBatches, KIP-1206", clauses=("SF-28",)
)
def records_are_acquired_to_the_number(conversation: Conversation) -> None:
    """In record-limit mode, a ShareFetch acquires no more than max_records records."""
    ana = reader(conversation, 5, 5)
    ana.fetches((0, 2, 1), version=2, max_records=3, share_acquire_mode=RECORD_LIMIT)
    ana.fetches((3, 4, 1), (5, 5, 1), version=2, max_records=3, share_acquire_mode=RECORD_LIMIT)
    ana.fetches((6, 8, 1), version=2, max_records=3, share_acquire_mode=RECORD_LIMIT)


@scenario(
    "share_fetch/acquiring/record-limit-released",
    source="SharePartition#acquireSubsetBatchRecords, KIP-1206",
    clauses=("SF-28",),
)
def released_records_are_acquired_to_the_number(conversation: Conversation) -> None:
    """In record-limit mode, a released batch is acquired in parts."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 5, (RELEASE,)))
    ana.fetches((0, 3, 2), version=2, max_records=4, share_acquire_mode=RECORD_LIMIT)
    ana.fetches((4, 5, 2), version=2, max_records=4, share_acquire_mode=RECORD_LIMIT)


@scenario("share_fetch/acquiring/batch-size", source=BATCHES, clauses=("SF-34",))
def records_come_in_batches_of_a_size(conversation: Conversation) -> None:
    """Acquired records are returned in batches of about batch_size, cut at the log's batches."""
    ana = reader(conversation, 4, 4, 4, 4)
    ana.fetches((0, 7, 1), (8, 15, 1), batch_size=5)
    ana.acknowledges((0, 7, (ACCEPT,)))
    ana.acknowledges((8, 15, (RELEASE,)))
    ana.fetches((8, 15, 2), batch_size=1)


@scenario("share_fetch/acquiring/batch-size-reached", source=BATCHES, clauses=("SF-34",))
def a_batch_of_the_size_ends_before_the_last_record(conversation: Conversation) -> None:
    """If batch_size records end with a log batch, a single record behind them is a batch of its own."""
    ana = reader(conversation, 2, 1)
    ana.fetches((0, 1, 1), (2, 2, 1), batch_size=2)


@scenario("share_fetch/acquiring/two-members", source=ACQUIRES, clauses=("SF-08",))
def members_are_given_different_records(conversation: Conversation) -> None:
    """Two members of a group never have the same records acquired at once."""
    ana = reader(conversation, 2, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1), max_records=1)
    bob.fetches((2, 3, 1))
    ana.gets_nothing()
    bob.acknowledges((2, 3, (ACCEPT,)))
    ana.acknowledges((0, 1, (RELEASE,)))
    bob.fetches((0, 1, 2))


@scenario("share_fetch/acquiring/released-and-new", source=ACQUIRES, clauses=("SF-08",))
def released_and_new_records_come_together(conversation: Conversation) -> None:
    """A ShareFetch acquires released records and the new ones behind them."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (RELEASE,)))
    writes(ana.actor, ana.topic, 3)
    ana.fetches((0, 1, 2), (2, 4, 1))


@scenario("share_fetch/acquiring/around-ones-own", source=ACQUIRES, clauses=("SF-08",))
def records_in_flight_are_passed_over(conversation: Conversation) -> None:
    """A ShareFetch skips records in flight between those that it acquires."""
    ana = reader(conversation, 2, 2, 2)
    ana.fetches((0, 1, 1), max_records=1)
    ana.fetches((2, 3, 1), max_records=1)
    ana.acknowledges((0, 1, (RELEASE,)))
    ana.fetches((0, 1, 2), (4, 5, 1))


@scenario(
    "share_fetch/acquiring/no-records-wanted",
    source="SharePartitionManager#processShareFetch",
    clauses=("SF-29",),
)
def nothing_is_acquired_if_nothing_is_wanted(conversation: Conversation) -> None:
    """A ShareFetch v2+ for 0 records or 0 bytes is answered at once, without records."""
    ana = reader(conversation, 2)
    ana.fetches(max_records=0, version=2)
    ana.fetches(max_bytes=0, version=2)
    ana.fetches((0, 1, 1), version=2)


@scenario("share_fetch/acquiring/waits-for-records", source=WAITS, clauses=("SF-29",))
def a_fetch_waits_for_records(conversation: Conversation) -> None:
    """A ShareFetch waits while there are no records, and is answered when some are written."""
    ana = reader(conversation)
    ana.sends_fetch(max_wait_ms=4_000)
    ana.actor.stays_parked(for_ms=200)
    writes(ana.actor.aside, ana.topic, 2)
    ana.is_given((0, 1, 1))


@scenario("share_fetch/acquiring/waits-in-vain", source=WAITS, clauses=("SF-29",))
def a_fetch_waits_so_long(conversation: Conversation) -> None:
    """A ShareFetch without records is answered after max_wait_ms."""
    ana = reader(conversation)
    ana.sends_fetch(max_wait_ms=FIRST_MS)
    ana.actor.receives(expect.share_fetch(), due_ms=FIRST_MS)


@scenario("share_fetch/acquiring/waits-for-bytes", source=WAITS, clauses=("SF-29",))
def a_fetch_waits_for_so_many_bytes(conversation: Conversation) -> None:
    """A ShareFetch waits for min_bytes, and takes what there is at the end of its wait."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    writes(ana.actor, ana.topic, 1)
    ana.sends_fetch(min_bytes=2_000, max_wait_ms=400)
    ana.actor.stays_parked(for_ms=100)
    ana.is_given((1, 1, 1))
    ana.sends_fetch(min_bytes=2_000, max_wait_ms=4_000)
    writes(ana.actor.aside, ana.topic, 200)
    ana.is_given((2, 201, 1))


@scenario("share_fetch/acquiring/max-bytes", source="PartitionMaxBytesStrategy#maxBytes", clauses=("SF-28",))
def a_fetch_takes_so_many_bytes(conversation: Conversation) -> None:
    """A ShareFetch reads whole batches up to max_bytes, and at least one."""
    ana = reader(conversation, 10, 10, 10)
    ana.fetches((0, 9, 1), max_bytes=1)
    ana.fetches((10, 29, 1), max_bytes=382)


@scenario("share_fetch/acquiring/earliest", source=BEGINS, clauses=("SF-31",))
def a_group_may_begin_at_the_start(conversation: Conversation) -> None:
    """With share.auto.offset.reset=earliest, a group starts at the first record."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 3)
    actor.asks(
        ask.group_configs({"share.auto.offset.reset": "earliest"}), expect.group_configs(error_code="NONE")
    )
    actor.awaits_metadata()
    has_state(actor, topic, offset=-1)
    Reader(actor, topic).fetches((0, 2, 1))


@scenario("share_fetch/acquiring/latest", source=BEGINS, clauses=("SF-31",))
def a_group_begins_at_the_end(conversation: Conversation) -> None:
    """By default a group starts with the records written after its first fetch."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 3)
    has_state(actor, topic, offset=-1)
    ana = Reader(actor, topic)
    ana.fetches(max_wait_ms=FIRST_MS)
    writes(actor, topic, 2)
    ana.fetches((3, 4, 1))


@scenario("share_fetch/acquiring/from-an-offset", source=BEGINS, clauses=("SF-31",))
def a_group_may_begin_in_a_batch(conversation: Conversation) -> None:
    """A group that starts within a batch acquires the rest of the batch."""
    ana = reader(conversation, 5, 2, offset=3)
    ana.fetches((3, 6, 1))


@scenario(
    "share_fetch/acquiring/beyond-the-end", source="ShareFetchUtils#processFetchResponse", clauses=("SF-31",)
)
def a_group_may_begin_beyond_the_end(conversation: Conversation) -> None:
    """A group that starts beyond the end acquires nothing until the log is as long."""
    ana = reader(conversation, 2, offset=5)
    ana.fetches(max_wait_ms=FIRST_MS)
    writes(ana.actor, ana.topic, 6)
    ana.fetches((5, 7, 1))


@scenario(
    "share_fetch/acquiring/lost-before", source="ShareFetchUtils#processFetchResponse", clauses=("SF-33",)
)
def records_that_are_lost_are_passed_over(conversation: Conversation) -> None:
    """A group whose offset is before the log's start gets one empty answer, then continues at the start."""
    ana = reader(conversation, 3, 3)
    deletes_until(ana, 4)
    ana.fetches()
    ana.fetches((4, 5, 1))


@scenario("share_fetch/acquiring/lost-in-flight", source=LOSES, clauses=("SF-33",))
def records_in_flight_may_be_lost(conversation: Conversation) -> None:
    """Records in flight that the log deletes may still be acknowledged, and are not delivered again.

    A batch that the log has partly deleted is acquired as a whole.
    """
    ana = reader(conversation, 3, 3)
    ana.fetches((0, 2, 1), max_records=1)
    deletes_until(ana, 4)
    ana.gets_nothing()
    ana.fetches((3, 5, 1))
    ana.acknowledges((0, 2, (RELEASE,)))
    ana.gets_nothing()


@scenario("share_fetch/acquiring/lost-released", source=LOSES, clauses=("SF-33",))
def released_records_may_be_lost(conversation: Conversation) -> None:
    """Records that were released and then deleted from the log are not delivered again."""
    ana = reader(conversation, 3, 3)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 5, (RELEASE,)))
    deletes_until(ana, 4)
    ana.fetches(max_wait_ms=200)
    ana.fetches()
    ana.gets_nothing()


@scenario(
    "share_fetch/acquiring/in-flight-limit",
    source=IN_FLIGHT,
    clauses=("SF-30",),
    broker_config={"group.share.partition.max.record.locks": 100},
)
def so_many_records_are_in_flight(conversation: Conversation) -> None:
    """At the limit of records in flight, no more are acquired until some are acknowledged."""
    ana = reader(conversation, 60, 60, 60)
    ana.fetches()
    ana.gets_nothing()
    ana.acknowledges((0, 59, (ACCEPT,)))
    ana.fetches()


@scenario(
    "share_fetch/acquiring/released-at-the-limit",
    source=IN_FLIGHT,
    clauses=("SF-30",),
    broker_config={"group.share.partition.max.record.locks": 100},
)
def released_records_are_given_at_the_limit(conversation: Conversation) -> None:
    """At the limit of records in flight, released records are acquired again, and none behind them."""
    ana = reader(conversation, 50, 50, 50)
    ana.fetches((0, 99, 1), version=2)
    ana.acknowledges((0, 49, (RELEASE,)))
    ana.fetches()
    ana.gets_nothing()


def deletes_until(member: Reader, offset: int) -> None:
    """Delete the topic's records before an offset."""
    asked = ask.request(
        "DeleteRecords",
        2,
        topics=({"name": member.topic, "partitions": ({"partition_index": 0, "offset": offset},)},),
        timeout_ms=5_000,
    )
    member.actor.asks(asked, expect.response("DeleteRecords"))
