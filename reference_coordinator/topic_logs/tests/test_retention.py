"""Retention and compaction of topics, in virtual time."""

from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.log.record_batch import decode_batch
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.tests.wire_tools import SET, alter, create
from reference_coordinator.tests.wire_topic_client import TopicClient, batch, one, values_of
from reference_coordinator.topic_logs.batch import BatchHeader, read_header
from reference_coordinator.topic_logs.partition_log import PartitionLog

_CHECK_MS = 300_000
_CLEAN_MS = 15_000
_PADDING = b"x" * 500


@pytest.fixture(name="orders")
def client_of_a_broker() -> TopicClient:
    return TopicClient(WireBroker("3.9.2"))


def _configure(orders: TopicClient, **configs: str) -> None:
    changes = [(name.replace("_", "."), SET, text) for name, text in configs.items()]
    assert alter(orders.client, *changes, name="orders").error_code == Errors.NONE


def _produce_now(orders: TopicClient, *values: bytes) -> int:
    now_ms = orders.broker.now_ms
    written = orders.produce(batch(*values, timestamps=(now_ms,) * len(values)))
    assert written.error is Errors.NONE
    return written.base_offset


def _keyed(*pairs: tuple[bytes, bytes | None], now_ms: int = 0, **fields: Any) -> bytes:  # noqa: ANN401
    keys, values = zip(*pairs, strict=True)
    return batch(*values, keys=keys, timestamps=(now_ms,) * len(pairs), **fields)


def _kept(orders: TopicClient, offset: int = 0) -> list[tuple[int, bytes | None, bytes | None]]:
    batches = orders.batches(offset)
    return [(each.offset, each.key, each.value) for batch in batches for each in batch.records]


def test_records_that_are_too_old_are_deleted_at_the_next_check(orders: TopicClient) -> None:
    _configure(orders, retention_ms="60000")
    _produce_now(orders, b"a", b"b")

    orders.broker.elapse(_CHECK_MS - 1)
    assert orders.values() == [b"a", b"b"]
    orders.broker.elapse(1)

    assert orders.fetch().error_code == Errors.OFFSET_OUT_OF_RANGE
    assert (orders.list_offset(-2).offset, orders.list_offset(-1).offset) == (2, 2)
    assert _produce_now(orders, b"c") == 2
    assert orders.fetch(2).log_start_offset == 2


@pytest.mark.parametrize(
    ("segment_ms", "start", "kept"),
    [("604800000", 0, [b"old", b"young"]), ("1000", 1, [b"young"])],
    ids=["a segment stays while one of its records is young", "a segment that was rolled goes"],
)
def test_only_segments_of_old_records_are_deleted(
    orders: TopicClient, segment_ms: str, start: int, kept: list[bytes]
) -> None:
    _configure(orders, retention_ms="200000", segment_ms=segment_ms)
    _produce_now(orders, b"old")
    orders.broker.elapse(_CHECK_MS - 100_000)
    _produce_now(orders, b"young")

    orders.broker.elapse(100_000)

    assert orders.list_offset(-2).offset == start
    assert orders.values(start) == kept


def test_a_log_that_is_too_large_loses_its_oldest_segments(orders: TopicClient) -> None:
    _configure(orders, retention_bytes="1500", segment_bytes="1000")
    for _ in range(5):
        _produce_now(orders, _PADDING)

    orders.broker.elapse(_CHECK_MS)

    assert orders.list_offset(-2).offset == 2
    assert [len(each.records) for each in orders.batches(2)] == [1, 1, 1]


def test_a_fetch_reads_one_segment_and_does_not_wait_for_more(orders: TopicClient) -> None:
    _configure(orders, segment_ms="1000")
    _produce_now(orders, b"old")
    orders.broker.elapse(2000)
    _produce_now(orders, b"young")

    assert orders.values(max_wait=1000, min_bytes=1_000_000) == [b"old"]
    orders.send_fetch(1, max_wait=1000, min_bytes=1_000_000)
    orders.broker.elapse(1000)
    assert values_of(orders.fetched().records) == [b"young"]


def test_a_log_without_limits_stays(orders: TopicClient) -> None:
    _configure(orders, retention_ms="-1")
    _produce_now(orders, b"a")

    orders.broker.elapse(30 * 24 * 60 * 60 * 1000)

    assert orders.values() == [b"a"]


def test_timestamps_before_the_logs_start_are_not_found(orders: TopicClient) -> None:
    orders.produce(batch(b"a", b"b", b"c", timestamps=(10, 20, 30)))
    partitions = ({"partition_index": 0, "offset": 2},)
    orders.client.ask("delete_records", 1, topics=({"name": "orders", "partitions": partitions},), timeout=1)

    found = orders.list_offset(10)

    assert (found.offset, found.timestamp) == (2, 30)


def test_nothing_falls_due_where_nobody_writes() -> None:
    broker = WireBroker("3.9.2")
    client = TopicClient(broker)

    client.fetch()

    assert broker.listener.next_deadline() is None


def test_a_check_interval_is_read_from_the_brokers_configuration() -> None:
    orders = TopicClient(WireBroker("3.9.2", log_retention_check_interval_ms="500"))
    _configure(orders, retention_ms="100")
    _produce_now(orders, b"a")

    orders.broker.elapse(500)

    assert orders.list_offset(-2).offset == 1


def test_of_a_compacted_topic_the_last_record_of_each_key_stays(orders: TopicClient) -> None:
    _configure(orders, cleanup_policy="compact", segment_ms="1000", min_cleanable_dirty_ratio="0.1")
    orders.produce(_keyed((b"a", b"1"), (b"b", b"1"), (b"a", b"2")))
    orders.broker.elapse(2000)
    orders.produce(_keyed((b"b", b"2"), now_ms=2000))

    orders.broker.elapse(_CLEAN_MS)

    # The active segment is not looked at, so that the first value of b stays.
    assert _kept(orders) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"b", b"2")]
    assert orders.list_offset(-2).offset == 0
    assert orders.fetch(0).error_code == Errors.NONE


def test_tombstones_go_when_their_time_is_over_and_readers_get_on(orders: TopicClient) -> None:
    _configure(
        orders,
        cleanup_policy="compact",
        segment_ms="1000",
        min_cleanable_dirty_ratio="0",
        delete_retention_ms="1000",
    )
    orders.produce(_keyed((b"a", b"1")))
    orders.produce(_keyed((b"a", None)))
    orders.broker.elapse(2000)
    orders.produce(_keyed((b"b", b"1"), now_ms=2000))
    orders.broker.elapse(_CLEAN_MS)
    assert _kept(orders) == [(1, b"a", None), (2, b"b", b"1")]

    orders.broker.elapse(2000)
    orders.produce(_keyed((b"c", b"1"), now_ms=orders.broker.now_ms))
    orders.broker.elapse(_CLEAN_MS)

    assert _kept(orders) == [(2, b"b", b"1"), (3, b"c", b"1")]


def test_an_empty_batch_leads_readers_over_what_compaction_took(orders: TopicClient) -> None:
    _produce_now(orders, b"without a key")
    _configure(orders, cleanup_policy="compact", segment_ms="1000")
    orders.broker.elapse(2000)
    orders.produce(_keyed((b"a", b"1"), now_ms=2000))

    orders.broker.elapse(_CLEAN_MS)

    first, _ = decode_batch(memoryview(orders.fetch().records), 0)
    assert (first.records, first.base_offset, first.last_offset) == ((), 0, 0)
    assert _kept(orders) == [(1, b"a", b"1")]


def test_an_open_transaction_keeps_its_records_from_compaction(orders: TopicClient) -> None:
    _configure(orders, cleanup_policy="compact", segment_ms="1000", min_cleanable_dirty_ratio="0")
    producer = Producer(orders.broker, name="tx", timeout_ms=600_000)
    producer.add_partitions()
    records = _keyed((b"a", b"1"), producer=producer.id_and_epoch, sequence=0, is_transactional=True)
    written = orders.produce(records, transactional_id="tx")
    assert written.error is Errors.NONE
    orders.produce(_keyed((b"a", b"2")))
    orders.broker.elapse(2000)
    orders.produce(_keyed((b"b", b"1"), now_ms=2000))

    orders.broker.elapse(_CLEAN_MS)

    assert [each for each, _, _ in _kept(orders)] == [0, 1, 2]


def test_a_compacted_topic_takes_no_record_without_a_key(orders: TopicClient) -> None:
    _configure(orders, cleanup_policy="compact")

    orders.client.send("produce", 9, acks=-1, topic_data=one("orders", 0, batch(b"v")))
    answer = orders.client.take("produce", 9).responses[0].partition_responses[0]

    assert answer.error_code == Errors.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [0]
    assert "without key in topic partition orders-0" in answer.record_errors[0].batch_index_error_message
    assert "rejected due to 1 record errors in total" in answer.error_message


def test_a_compacted_topic_that_is_deleted_from_too_loses_old_segments(orders: TopicClient) -> None:
    _configure(orders, cleanup_policy="compact,delete", retention_ms="1000")
    orders.produce(_keyed((b"a", b"1")))

    orders.broker.elapse(_CLEAN_MS)

    assert orders.list_offset(-2).offset == 1


@pytest.mark.parametrize(("profile", "error"), [("3.9.2", Errors.NONE), ("4.0.0", Errors.INVALID_CONFIG)])
def test_segments_below_a_mebibyte_are_refused_since_4_0(profile: str, error: Errors) -> None:
    client = WireBroker(profile).connect()

    assert create(client, configs=({"name": "segment.bytes", "value": "1000"},)).error_code == error


def test_memory_does_not_grow_with_records_that_are_too_old(orders: TopicClient) -> None:
    _configure(orders, retention_ms="1000", segment_ms="1000")
    logs = orders.broker.listener.apis.cluster.topics.logs
    for _ in range(50):
        _produce_now(orders, _PADDING)
        orders.broker.elapse(_CHECK_MS)

    ((_, log),) = logs
    assert log.log_start_offset == 50
    assert len(log.batches_before(50)) == 0
    assert len(log.segments) == 1


def test_what_is_not_on_the_disk_yet_stays_in_memory() -> None:
    log = PartitionLog()
    log.saved_until = 0
    records = batch(b"a", b"b")
    header = read_header(records, api_version=9)
    assert isinstance(header, BatchHeader)
    log.append_as_leader(records, header, leader_epoch=0)

    log.delete_records(2)
    assert (log.log_start_offset, len(log.batches_before(2))) == (2, 1)
    log.saved_until = 2
    log.trim()

    assert len(log.batches_before(2)) == 0
