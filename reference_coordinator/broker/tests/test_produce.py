"""Produce: what is taken into a log, and what is refused for which reason."""

import struct
import tracemalloc

import pytest
from crc32c import crc32c

from reference_coordinator.core.errors import Errors
from reference_coordinator.log import codecs
from reference_coordinator.log.record_batch import ATTRIBUTES_AT, CRC_AT, HEADER, LOG_OVERHEAD, MAGIC
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_topic_client import TopicClient, batch, one


@pytest.fixture
def client() -> TopicClient:
    return TopicClient(WireBroker())


def test_batches_stand_one_behind_the_other(client: TopicClient) -> None:
    assert client.produce(batch(b"a", b"b")) == (Errors.NONE, 0)
    assert client.produce(batch(b"c")) == (Errors.NONE, 2)
    assert client.produce(batch(b"d"), partition=1) == (Errors.NONE, 0)
    assert client.values() == [b"a", b"b", b"c"]
    assert client.values(partition=1) == [b"d"]


def test_a_batch_is_kept_as_it_came_but_for_its_place(client: TopicClient) -> None:
    sent = batch(b"a" * 1000, codec=codecs.ZSTD)
    client.produce(batch(b"first"))
    client.produce(sent)

    received = client.fetch(1).records

    assert received[:8] == (1).to_bytes(8, "big")
    assert received[8:12] == sent[8:12]
    assert received[16:] == sent[16:]


def torn(records: bytes, at: int) -> bytes:
    return records[:at] + bytes((records[at] ^ 1,)) + records[at + 1 :]


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (b"", 9, Errors.INVALID_RECORD),
        (batch(b"a") * 2, 9, Errors.INVALID_RECORD),
        (batch(b"a")[:-1], 9, Errors.INVALID_RECORD),
        (torn(batch(b"a"), 16), 9, Errors.CORRUPT_MESSAGE),
        (batch(b"a")[:16] + b"\1" + batch(b"a")[17:], 9, Errors.INVALID_RECORD),
        (batch(b"a")[:8] + bytes(4) + batch(b"a")[12:], 9, Errors.CORRUPT_MESSAGE),
        (torn(batch(b"a"), -1 % len(batch(b"a"))), 9, Errors.CORRUPT_MESSAGE),
        (batch(b"a", codec=codecs.ZSTD), 6, Errors.UNSUPPORTED_COMPRESSION_TYPE),
        (batch(b"a", codec=codecs.ZSTD), 7, Errors.NONE),
        (batch(b"a", is_control=True), 9, Errors.INVALID_RECORD),
        (batch(b"a", producer=(7, 0), sequence=-1), 9, Errors.INVALID_RECORD),
        (batch(b"a", is_transactional=True), 9, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (batch(), 9, Errors.INVALID_RECORD),
        (batch(b"a" * 1_048_588), 9, Errors.MESSAGE_TOO_LARGE),
    ],
)
def test_a_batch_that_is_none_is_refused(
    client: TopicClient, records: bytes, version: int, error: Errors
) -> None:
    assert client.produce(records, version=version).error is error


def test_a_topic_may_take_other_batches_than_its_broker(client: TopicClient) -> None:
    change = {"name": "max.message.bytes", "config_operation": 0, "value": "100"}
    resource = {"resource_type": 2, "resource_name": "orders", "configs": (change,)}
    client.client.ask("incremental_alter_configs", 1, resources=(resource,))

    assert client.produce(batch(b"a" * 100)).error is Errors.MESSAGE_TOO_LARGE
    assert client.produce(batch(b"a")).error is Errors.NONE


def test_no_records_at_all_close_the_connection(client: TopicClient) -> None:
    client.client.send("produce", 9, acks=1, topic_data=one("orders", 0, None))

    assert client.client.close_reason() == "records are null, which they may not be"


def test_a_topic_that_is_not_there_comes_before_what_is_wrong_with_the_batch(client: TopicClient) -> None:
    assert client.produce(b"", topic="none").error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert client.produce(b"", partition=3).error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert client.produce(batch(b"a"), acks=2).error is Errors.INVALID_REQUIRED_ACKS


def test_nobody_writes_to_the_coordinators_log(client: TopicClient) -> None:
    client.broker.elect()

    assert client.produce(batch(b"a"), topic="__consumer_offsets").error is Errors.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(("acks", "error"), [(-1, Errors.NOT_ENOUGH_REPLICAS), (1, Errors.NONE)])
def test_too_few_replicas_matter_to_who_waits_for_them_all(acks: int, error: Errors) -> None:
    client = TopicClient(WireBroker("2.8", min_insync_replicas="2"))

    assert client.produce(batch(b"a"), acks=acks).error is error


def test_without_acks_nothing_is_answered_but_what_comes_next(client: TopicClient) -> None:
    client.client.send("produce", 9, acks=0, topic_data=one("orders", 0, batch(b"a")))

    assert client.client.frames() == []
    assert client.values() == [b"a"]


def test_without_acks_a_failure_closes_the_connection(client: TopicClient) -> None:
    client.client.send("produce", 9, acks=0, topic_data=one("none", 0, batch(b"a")))

    assert client.client.frames() == []
    assert client.client.close_reason() == (
        "a Produce that wants no answer failed: UNKNOWN_TOPIC_OR_PARTITION"
    )


def test_a_topic_is_named_by_its_id_in_the_latest_versions() -> None:
    client = TopicClient(WireBroker("4.3"))
    topic_id = client.client.topic_id()
    data = ({"index": 0, "records": batch(b"a")},)

    answer = client.client.ask(
        "produce", 13, acks=1, topic_data=({"topic_id": topic_id, "partition_data": data},)
    )
    nobodys = client.client.ask(
        "produce", 13, acks=1, topic_data=({"topic_id": None, "partition_data": data},)
    )

    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partition_responses[0].error_code == Errors.NONE
    assert nobodys.responses[0].partition_responses[0].error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def numbered(sequence: int, *, epoch: int = 0, count: int = 1) -> bytes:
    return batch(*[b"a"] * count, producer=(7, epoch), sequence=sequence)


def test_a_repeated_batch_is_reported_where_it_is_and_not_written_again(client: TopicClient) -> None:
    for sequence in range(6):
        client.produce(numbered(sequence))

    assert client.produce(numbered(5)) == (Errors.NONE, 5)
    assert client.produce(numbered(1)) == (Errors.NONE, 1)
    assert client.produce(numbered(0)).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert client.produce(numbered(4, count=2)).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(client.values()) == 6


def test_sequences_have_no_gaps_and_begin_anywhere(client: TopicClient) -> None:
    assert client.produce(numbered(3, count=2)) == (Errors.NONE, 0)
    assert client.produce(numbered(6)).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert client.produce(numbered(5)) == (Errors.NONE, 2)


def test_a_new_epoch_begins_at_zero_and_the_old_one_is_fenced(client: TopicClient) -> None:
    client.produce(numbered(0))

    assert client.produce(numbered(1, epoch=1)).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert client.produce(numbered(0, epoch=1)) == (Errors.NONE, 1)
    assert client.produce(numbered(0, epoch=1)) == (Errors.NONE, 1)
    assert client.produce(numbered(1)).error is Errors.INVALID_PRODUCER_EPOCH


def test_sequences_begin_anew_behind_the_largest(client: TopicClient) -> None:
    assert client.produce(numbered(2**31 - 2, count=2)) == (Errors.NONE, 0)
    assert client.produce(numbered(0)) == (Errors.NONE, 2)
    assert client.produce(numbered(1)) == (Errors.NONE, 3)


def test_partitions_know_producers_each_for_itself(client: TopicClient) -> None:
    client.produce(numbered(0))

    assert client.produce(numbered(0), partition=1) == (Errors.NONE, 0)


def packed(content: bytes, codec: int, *, count: int) -> bytes:
    """A batch whose header says so many records, whatever its content is; it is newer than time 1."""
    header = bytearray(
        HEADER.pack(
            0,
            HEADER.size - LOG_OVERHEAD + len(content),
            0,
            MAGIC,
            0,
            codec,
            count - 1,
            0,
            5,
            -1,
            -1,
            -1,
            count,
        )
    )
    struct.pack_into(">I", header, CRC_AT, crc32c(content, crc32c(bytes(header[ATTRIBUTES_AT:]))))
    return bytes(header) + content


SMALLEST = b"\x0c\0\0\0\x01\x01\0"
"""A record without key and value."""


@pytest.mark.parametrize(
    ("content", "count"), [(bytes(100 << 20), 1), (SMALLEST * 1_000_000, 1_000_000)], ids=["large", "many"]
)
@pytest.mark.parametrize("codec", sorted(set(codecs.NAMES) - {codecs.NONE}), ids=codecs.NAMES.get)
def test_a_batch_that_unpacks_to_too_much_is_not_unpacked(
    client: TopicClient, content: bytes, count: int, codec: int
) -> None:
    tracemalloc.start()
    sent = packed(codecs.compress(content, codec), codec, count=count)
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()

    client.produce(sent)
    listed = client.list_offset(1)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (listed.error_code, peak - before < 64 << 20) == (Errors.NONE, True)
