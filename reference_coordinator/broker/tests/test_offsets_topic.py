"""`__consumer_offsets` as clients read it."""

import struct

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.log.record_batch import decode_batch
from reference_coordinator.tests.wire_broker import WireBroker, elected
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.tests.wire_topic_client import TopicClient, batch

TOPIC = "__consumer_offsets"
COMMITTED = 1


@pytest.fixture
def client() -> TopicClient:
    return TopicClient(elected(offsets_topic_num_partitions="1"))


def keys(records: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    position = 0
    while position < len(records):
        decoded, position = decode_batch(memoryview(records), position)
        found.extend(record.key for record in decoded.records if not decoded.is_control)
    return found


def test_a_commit_is_a_record_that_names_its_group(client: TopicClient) -> None:
    assert client.list_offset(-1, topic=TOPIC).offset == 0
    client.client.commit(1)
    client.client.commit(2)

    key = struct.pack(">hh1sh6si", 1, 1, b"g", 6, b"orders", 0)
    assert keys(client.fetch(topic=TOPIC).records) == [key, key]
    assert keys(client.fetch(1, topic=TOPIC).records) == [key]
    assert client.list_offset(-1, topic=TOPIC).offset == 2


@pytest.mark.parametrize("committed", [True, False])
def test_offsets_of_an_open_transaction_are_hidden(*, committed: bool) -> None:
    broker = WireBroker(offsets_topic_num_partitions="1")
    producer, client = Producer(broker), TopicClient(broker)
    producer.add()
    producer.commit()

    assert client.fetch(topic=TOPIC, isolation_level=COMMITTED).last_stable_offset == 0
    assert client.list_offset(-1, topic=TOPIC).offset == 1
    producer.end(committed=committed)

    answer = client.fetch(topic=TOPIC, isolation_level=COMMITTED)
    assert (answer.last_stable_offset, len(keys(answer.records))) == (2, 1)
    assert len(answer.aborted_transactions) == (not committed)


def test_reading_it_changes_nothing_and_writing_is_refused(client: TopicClient) -> None:
    client.client.commit(1)
    client.fetch(topic=TOPIC)
    client.client.commit(2)

    assert client.produce(batch(b"a"), topic=TOPIC).error is Errors.INVALID_TOPIC_EXCEPTION
    assert client.list_offset(-1, topic=TOPIC).offset == 2
    assert len(client.broker.listener.apis.append_log) == 2


def test_who_waits_for_it_is_answered_when_the_time_is_up(client: TopicClient) -> None:
    client.send_fetch(topic=TOPIC, max_wait=100)
    client.broker.connect().commit(1)

    client.broker.elapse(100)

    assert len(keys(client.fetched().records)) == 1
