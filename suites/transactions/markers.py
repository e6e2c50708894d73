"""WriteTxnMarkers: the end of a transaction, written to the log by a client."""

from dataclasses import replace

from harness.scenario import Conversation, Value, ask, containing, expect, scenario
from suites.transactions.producers import (
    ORDER_0,
    TAKEN,
    WITHIN_MS,
    announces,
    ends,
    finds_its_coordinator,
    initialised,
    pending,
    sees,
)

WRITES = "KafkaApis#handleWriteTxnMarkersRequest"
OFFSETS = "__consumer_offsets"


@scenario("transactions/markers/commit", source=WRITES, clauses=("TC-30",))
def a_client_may_write_the_end_itself(conversation: Conversation) -> None:
    """A marker that a client writes with WriteTxnMarkers commits the pending offsets."""
    _commits_itself(conversation, version=1)


@scenario("transactions/markers/first-version", source=WRITES, clauses=("TC-30",))
def a_client_may_write_the_end_in_the_first_version(conversation: Conversation) -> None:
    """WriteTxnMarkers v0, which 4.0 dropped, ends a transaction as v1 does."""
    _commits_itself(conversation, version=0)


def _commits_itself(conversation: Conversation, *, version: int) -> None:
    producer = pending(conversation)
    ana = producer.actor

    ana.sends(
        ask.write_txn_markers(
            version=version,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
            topics={OFFSETS: (0,)},
        )
    )
    ana.receives(expect.write_txn_markers({OFFSETS: {0: "NONE"}}))
    sees(ana, {"orders": {0: 42}})


@scenario("transactions/markers/abort", source=WRITES, clauses=("TC-30", "OF-21"))
def a_client_may_abort_itself(conversation: Conversation) -> None:
    """An abort marker that a client writes drops the pending offsets; the transaction goes on."""
    producer = pending(conversation)
    ana = producer.actor

    ana.sends(
        ask.write_txn_markers(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=False,
            topics={OFFSETS: (0,)},
        )
    )
    ana.receives(expect.write_txn_markers({OFFSETS: {0: "NONE"}}))
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: -1}}),
    )
    ana.asks(producer.commits({"orders": {0: 43}}), TAKEN)
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 43}})


@scenario("transactions/markers/refused", source="ProducerAppendInfo#appendEndTxnMarker", clauses=("TC-30",))
def a_marker_of_the_past_is_refused(conversation: Conversation) -> None:
    """WriteTxnMarkers is refused for unknown partitions and old producer or coordinator epochs."""
    ana = conversation.actor("ana")
    finds_its_coordinator(ana)
    producer = initialised(ana)
    ana.repeats(ask.init_producer_id(), until=expect.init_producer_id(error_code="NONE"), within_ms=WITHIN_MS)

    for producer_epoch, coordinator_epoch, topics, error in (
        (producer.producer_epoch, 0, {"no-such-topic": (0,)}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (producer.producer_epoch, 0, {OFFSETS: (99,)}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (producer.producer_epoch + 1, 7, {OFFSETS: (0,)}, "NONE"),
        (producer.producer_epoch, 6, {OFFSETS: (0,)}, "INVALID_PRODUCER_EPOCH"),
        (producer.producer_epoch, 7, {OFFSETS: (0,)}, "INVALID_PRODUCER_EPOCH"),
        (producer.producer_epoch + 1, 6, {OFFSETS: (0,)}, "TRANSACTION_COORDINATOR_FENCED"),
        (producer.producer_epoch + 1, 7, {OFFSETS: (0,)}, "NONE"),
    ):
        ana.sends(
            ask.write_txn_markers(
                producer_id=producer.producer_id,
                producer_epoch=producer_epoch,
                committed=False,
                topics=topics,
                coordinator_epoch=coordinator_epoch,
            )
        )
        ana.receives(
            expect.write_txn_markers(
                {topic: dict.fromkeys(partitions, error) for topic, partitions in topics.items()}
            )
        )


@scenario("transactions/markers/elsewhere", source=WRITES, clauses=("TC-30", "OF-17"))
def a_marker_elsewhere_ends_nothing_here(conversation: Conversation) -> None:
    """A marker for another topic, or a refused one, leaves pending offsets pending."""
    ana = conversation.actor("ana")
    former = initialised(ana)
    answer = ana.asks(ask.init_producer_id(), expect.init_producer_id(error_code="NONE", producer_epoch=1))
    producer = replace(former, producer_epoch=answer["producer_epoch"])
    announces(producer)
    ana.asks(producer.commits(ORDER_0), TAKEN)

    for producer_epoch, topic, error in (
        (producer.producer_epoch, "orders", "NONE"),
        (former.producer_epoch, OFFSETS, "INVALID_PRODUCER_EPOCH"),
    ):
        ana.sends(
            ask.write_txn_markers(
                producer_id=producer.producer_id,
                producer_epoch=producer_epoch,
                committed=True,
                topics={topic: (0,)},
            )
        )
        ana.receives(expect.write_txn_markers({topic: {0: error}}))
    conversation.elapses(300)
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(
        expect.response("OffsetFetch", topics=({"partitions": ({"error_code": "UNSTABLE_OFFSET_COMMIT"},)},))
    )
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario(
    "transactions/markers/of-version-2", source="ProducerAppendInfo#checkProducerEpoch", clauses=("TC-30",)
)
def a_marker_of_version_2_has_a_newer_epoch(conversation: Conversation) -> None:
    """A marker of transaction version 2 needs a newer epoch than its offsets, but may be repeated."""
    producer = pending(conversation)
    ana = producer.actor

    for addend, error in (
        (0, "INVALID_PRODUCER_EPOCH"),
        (1, "NONE"),
        (1, "NONE"),
        (0, "INVALID_PRODUCER_EPOCH"),
        (2, "NONE"),
    ):
        ana.sends(
            ask.write_txn_markers(
                version=2,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch + addend,
                committed=True,
                topics={OFFSETS: (0,)},
                transaction_version=2,
            )
        )
        ana.receives(expect.write_txn_markers({OFFSETS: {0: error}}))
    sees(ana, {"orders": {0: 42}})


@scenario("transactions/markers/one-answer-a-producer", source=WRITES, clauses=("TC-30",))
def a_producer_is_answered_once(conversation: Conversation) -> None:
    """Markers of one producer are answered together, each partition once; empty ones are not answered."""
    ana = conversation.actor("ana")
    for markers in (
        (_marker(7, 1), _marker(7, 2)),
        (_marker(7, 1, 1),),
        (_marker(7, 1), _marker(8)),
        (_marker(8),),
        (),
    ):
        ana.sends(ask.request("WriteTxnMarkers", 1, markers=markers))
        ana.receives(expect.response("WriteTxnMarkers", markers=containing()))


def _marker(producer_id: int, *partitions: int) -> Value:
    """Return the end of a transaction for partitions of a topic that does not exist."""
    missing: tuple[Value, ...] = ({"name": "missing", "partition_indexes": partitions},)
    return {
        "producer_id": producer_id,
        "producer_epoch": 0,
        "transaction_result": True,
        "topics": missing if partitions else (),
        "coordinator_epoch": 0,
    }
