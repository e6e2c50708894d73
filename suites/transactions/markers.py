"""WriteTxnMarkers: the end of a transaction, written to the log by a client."""

from harness.scenario import (
    Conversation,
    init_producer_id,
    init_producer_id_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
    write_txn_markers,
    write_txn_markers_response,
)
from suites.transactions.producers import (
    TAKEN,
    WITHIN_MS,
    ends,
    finds_its_coordinator,
    initialised,
    pending,
    sees,
)

WRITES = "KafkaApis#handleWriteTxnMarkersRequest"
OFFSETS = "__consumer_offsets"


@scenario("transactions/markers/commit", source=WRITES, clauses=("TC-30",))
def a_client_may_write_the_end_itself(talk: Conversation) -> None:
    """A marker that a client writes to the log commits what is pending there."""
    producer = pending(talk)
    ana = producer.actor

    ana.sends(
        write_txn_markers(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
            topics={OFFSETS: (0,)},
        )
    )
    ana.receives(write_txn_markers_response({OFFSETS: {0: "NONE"}}))
    sees(ana, {"orders": {0: 42}})


@scenario("transactions/markers/abort", source=WRITES, clauses=("TC-30", "OF-21"))
def a_client_may_abort_itself(talk: Conversation) -> None:
    """A marker that a client writes aborts what is pending; the transaction goes on with other offsets."""
    producer = pending(talk)
    ana = producer.actor

    ana.sends(
        write_txn_markers(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=False,
            topics={OFFSETS: (0,)},
        )
    )
    ana.receives(write_txn_markers_response({OFFSETS: {0: "NONE"}}))
    ana.repeats(
        offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=offset_fetch_response({"orders": {0: -1}}),
    )
    ana.sends(producer.commits({"orders": {0: 43}}))
    ana.receives(TAKEN)
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 43}})


@scenario("transactions/markers/refused", source="ProducerAppendInfo#appendEndTxnMarker", clauses=("TC-30",))
def a_marker_of_the_past_is_refused(talk: Conversation) -> None:
    """A marker is refused for an unknown partition, an old producer epoch and an old coordinator's epoch."""
    ana = talk.actor("ana")
    finds_its_coordinator(ana)
    producer = initialised(ana)
    ana.repeats(init_producer_id(), until=init_producer_id_response(error_code="NONE"), within_ms=WITHIN_MS)

    for producer_epoch, coordinator_epoch, topics, error in (
        (producer.producer_epoch, 0, {"no-such-topic": (0,)}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (producer.producer_epoch, 0, {OFFSETS: (99,)}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (producer.producer_epoch + 1, 7, {OFFSETS: (0,)}, "NONE"),
        (producer.producer_epoch, 7, {OFFSETS: (0,)}, "INVALID_PRODUCER_EPOCH"),
        (producer.producer_epoch + 1, 6, {OFFSETS: (0,)}, "TRANSACTION_COORDINATOR_FENCED"),
        (producer.producer_epoch + 1, 7, {OFFSETS: (0,)}, "NONE"),
    ):
        ana.sends(
            write_txn_markers(
                producer_id=producer.producer_id,
                producer_epoch=producer_epoch,
                committed=False,
                topics=topics,
                coordinator_epoch=coordinator_epoch,
            )
        )
        ana.receives(
            write_txn_markers_response(
                {topic: dict.fromkeys(partitions, error) for topic, partitions in topics.items()}
            )
        )
