"""Records that the log's cleaner removes while they are in flight."""

from harness.scenario import Conversation, GroupRef, Value, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE
from harness.wire.log_records import EncodedRecord
from harness.wire.record_batch import encode_batch
from suites.share_fetch.readers import Reader, has_state
from suites.transactions.producers import ends, initialised, is_through

ARCHIVES = "SharePartition#maybeArchiveStaleBatches"
CLEANS = {"log.cleaner.backoff.ms": 500}
CLEANED_MS = 4_000
"""Long enough for the cleaner to compact a small log."""


def compacted_topic(conversation: Conversation) -> Reader:
    """Return a member that reads a compacted topic, with a state that begins at its first record."""
    actor = conversation.actor("ana")
    topic = conversation.group("topic")
    configs: Value = (
        {"name": "cleanup.policy", "value": "compact"},
        {"name": "min.cleanable.dirty.ratio", "value": "0.01"},
        # Only the marker of a transaction begins a new segment: the records have timestamps of 0.
        {"name": "segment.ms", "value": "10"},
    )
    wanted: Value = {"name": topic, "num_partitions": 1, "replication_factor": 1, "configs": configs}
    creating = ask.request("CreateTopics", 4, topics=(wanted,), timeout_ms=5_000)
    actor.asks(creating, expect.create_topic(error_code="NONE"))
    actor.awaits_metadata()
    actor.looks_up(topic)
    has_state(actor, topic)
    return Reader(actor, topic)


def writes_keys(member: Reader, *keys: bytes) -> None:
    """Write one batch with a record for each key."""
    records = encode_batch([EncodedRecord(key, b"value") for key in keys])
    data: Value = {"name": member.topic, "partition_data": ({"index": 0, "records": records},)}
    producing = ask.request(
        "Produce", 9, transactional_id=None, acks=-1, timeout_ms=5_000, topic_data=(data,)
    )
    member.actor.asks(producing, expect.response("Produce"))


def is_cleaned(conversation: Conversation, topic: GroupRef) -> None:
    """Begin a new segment, with the marker of a transaction without records, and await the cleaner."""
    zoe = initialised(conversation.actor("zoe"))
    announced = expect.response(
        "AddPartitionsToTxn",
        results_by_topic_v3_and_below=({"results_by_partition": ({"partition_error_code": "NONE"},)},),
    )
    zoe.actor.repeats(zoe.adds_partition(topic), until=announced)
    ends(zoe, committed=True)
    is_through(zoe, committed=True)
    conversation.elapses(CLEANED_MS)


@scenario("share_fetch/compacted/released", source=ARCHIVES, clauses=("SF-33",), broker_config=CLEANS)
def released_records_may_be_compacted(conversation: Conversation) -> None:
    """Released records that the cleaner has removed are archived when records behind them are acquired."""
    ana = compacted_topic(conversation)
    writes_keys(ana, b"a", b"b")
    ana.fetches((0, 1, 1))
    ana.acknowledges((1, 1, (RELEASE,)))
    writes_keys(ana, b"a", b"b")
    is_cleaned(conversation, ana.topic)
    ana.fetches((2, 3, 1))
    ana.fetches((4, 4, 1))
    ana.acknowledges((0, 0, (ACCEPT,)), (2, 4, (ACCEPT,)))
    ana.acknowledges((0, 4, (ACCEPT,)))
    ana.gets_nothing()


@scenario("share_fetch/compacted/before-the-first", source=ARCHIVES, clauses=("SF-33",), broker_config=CLEANS)
def records_before_the_state_may_be_compacted(conversation: Conversation) -> None:
    """Of a gap before the batches of the share state, what the cleaner has removed is passed over."""
    ana = compacted_topic(conversation)
    for _ in range(2):
        writes_keys(ana, b"a", b"b")
    writes_keys(ana, b"c")
    is_cleaned(conversation, ana.topic)
    writing = ask.write_share_group_state(ana.topic, batches=((4, 4, 0, 1),))
    ana.actor.asks(writing, expect.share_state("Write", "NONE"))
    ana.fetches((2, 3, 1), (4, 4, 2))
    ana.fetches((5, 5, 1))
    ana.gets_nothing()
