"""Transactions over topics: what is held back until they end, and what never counts."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.tests.wire_topic_client import (
    LOGS_ARE_CHECKED_AT_MS,
    TopicClient,
    batch,
    values_of,
)

COMMITTED = 1


@pytest.fixture
def broker() -> WireBroker:
    return WireBroker()


@pytest.mark.parametrize("committed", [True, False])
def test_an_open_transaction_is_hidden_from_readers_of_committed_records(
    broker: WireBroker, *, committed: bool
) -> None:
    producer, reader = Producer(broker), TopicClient(broker)
    reader.produce(batch(b"before"))
    assert producer.add_partitions() == [Errors.NONE]
    assert producer.write(b"a", time_ms=1) == (Errors.NONE, 1)
    reader.produce(batch(b"behind"))

    open_one = reader.fetch(isolation_level=COMMITTED)
    assert values_of(open_one.records) == [b"before"]
    assert (open_one.high_watermark, open_one.last_stable_offset) == (3, 1)
    assert reader.values() == [b"before", b"a", b"behind"]
    assert [reader.list_offset(each, isolation_level=COMMITTED).offset for each in (-1, 0, 1)] == [1, 0, -1]
    assert reader.list_offset(1).offset == 1
    assert producer.end(committed=committed) == Errors.NONE

    ended = reader.fetch(isolation_level=COMMITTED)
    assert values_of(ended.records) == [b"before", b"a", b"behind"]
    assert ended.last_stable_offset == 4
    reported = [(each.producer_id, each.first_offset) for each in ended.aborted_transactions]
    assert reported == ([] if committed else [(producer.id_and_epoch[0], 1)])


def test_who_reads_behind_an_aborted_transaction_is_not_reported_it(broker: WireBroker) -> None:
    producer, reader = Producer(broker), TopicClient(broker)
    producer.add_partitions()
    producer.write(b"a")
    producer.end(committed=False)
    reader.produce(batch(b"behind"))

    assert reader.fetch(1, isolation_level=COMMITTED).aborted_transactions != ()
    assert reader.fetch(2, isolation_level=COMMITTED).aborted_transactions == ()


def test_a_transaction_hears_of_as_far_as_one_reads(broker: WireBroker) -> None:
    first, second, reader = Producer(broker), Producer(broker, name="y"), TopicClient(broker)
    first.add_partitions()
    second.add_partitions()
    first.write(b"a")
    second.write(b"b")
    second.end(committed=False)
    first.end(committed=False)

    one_batch = reader.fetch(isolation_level=COMMITTED, max_bytes=1)
    all_of_it = reader.fetch(isolation_level=COMMITTED)

    assert [each.first_offset for each in one_batch.aborted_transactions] == [0]
    assert [each.first_offset for each in all_of_it.aborted_transactions] == [1, 0]


def test_the_end_of_a_transaction_wakes_who_waits_for_it(broker: WireBroker) -> None:
    producer, reader = Producer(broker), TopicClient(broker)
    producer.add_partitions()
    producer.write(b"a")
    reader.send_fetch(isolation_level=COMMITTED, max_wait=500)
    assert reader.client.frames() == []

    producer.end(committed=True)

    assert values_of(reader.fetched().records) == [b"a"]


def test_a_transaction_that_stays_open_is_aborted_in_the_end(broker: WireBroker) -> None:
    producer, reader = Producer(broker, timeout_ms=1_000), TopicClient(broker)
    producer.add_partitions()
    producer.write(b"a")
    broker.elapse(1_000)
    assert reader.fetch(isolation_level=COMMITTED).last_stable_offset == 0

    broker.elapse(1)

    answer = reader.fetch(isolation_level=COMMITTED)
    assert (answer.last_stable_offset, len(answer.aborted_transactions)) == (2, 1)
    assert producer.write(b"b").error is not Errors.NONE
    assert producer.end(committed=True) != Errors.NONE
    assert broker.listener.next_deadline() == LOGS_ARE_CHECKED_AT_MS


def test_a_transaction_that_has_ended_leaves_no_deadline(broker: WireBroker) -> None:
    producer = Producer(broker)
    before = broker.listener.next_deadline()
    producer.add_partitions()
    assert broker.listener.next_deadline() != before

    producer.end(committed=True)

    assert broker.listener.next_deadline() == before


def test_who_takes_over_has_the_open_transaction_aborted(broker: WireBroker) -> None:
    producer, reader = Producer(broker), TopicClient(broker)
    producer.add_partitions()
    producer.write(b"a")

    reported = reader.client.ask("init_producer_id", 1, transactional_id="x", transaction_timeout=60_000)
    assert reported.error_code == Errors.CONCURRENT_TRANSACTIONS
    Producer(broker)

    assert len(reader.fetch(isolation_level=COMMITTED).aborted_transactions) == 1
    assert producer.write(b"b").error is Errors.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("profile", "version", "error"),
    [
        ("3.6", 9, Errors.NONE),
        ("3.9", 10, Errors.INVALID_TXN_STATE),
        ("3.9", 11, Errors.TRANSACTION_ABORTABLE),
        ("4.3", 12, Errors.NONE),
    ],
)
def test_records_of_a_partition_that_was_not_announced(profile: str, version: int, error: Errors) -> None:
    producer = Producer(WireBroker(profile))

    assert producer.write(b"a", version=version).error is error


def test_a_partition_that_is_not_there_keeps_the_others_out(broker: WireBroker) -> None:
    producer = Producer(broker)

    assert producer.add_partitions(0, 9) == [
        Errors.OPERATION_NOT_ATTEMPTED,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert producer.end(committed=True) == Errors.INVALID_TXN_STATE


def test_a_batch_outside_of_the_open_transaction_is_refused(broker: WireBroker) -> None:
    producer = Producer(broker)
    producer.add_partitions()
    producer.write(b"a")
    outside = batch(b"b", producer=producer.id_and_epoch, sequence=1)

    assert TopicClient(broker).produce(outside).error is Errors.INVALID_TXN_STATE


def test_brokers_ask_for_several_transactions_at_once(broker: WireBroker) -> None:
    producer, other = Producer(broker), Producer(broker, name="y")
    producer.add_partitions(0)
    topics = ({"name": "orders", "partitions": (0, 1)},)
    transactions = tuple({"verify_only": True, "topics": topics} | each.names for each in (producer, other))

    answer = producer.client.ask("add_partitions_to_txn", 5, transactions=transactions)

    reported = [
        [each.partition_error_code for each in result.topic_results[0].results_by_partition]
        for result in answer.results_by_transaction
    ]
    assert reported == [[Errors.NONE, Errors.TRANSACTION_ABORTABLE], [Errors.TRANSACTION_ABORTABLE] * 2]


def test_the_end_of_a_transaction_in_a_topic_that_is_no_more_is_the_end(broker: WireBroker) -> None:
    producer = Producer(broker)
    producer.add_partitions()
    producer.client.ask("delete_topics", 5, topic_names=("orders",))

    assert producer.end(committed=True) == Errors.NONE
    assert producer.end(committed=True) == Errors.NONE
