"""Unmodified clients on the reference: it is a broker to them as any other."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from harness.tests.reference_broker import (
    GIVES_UP_AFTER_S,
    Application,
    mortal_consumer,
    produce,
    reference_broker,
)

pytestmark = pytest.mark.slow

PARTITIONS = 6
VALUES = [f"value-{at}" for at in range(240)]


@pytest.fixture(scope="module", params=["3.9", "4.3"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with reference_broker(request.param) as address:
        yield address


@pytest.fixture
def topic(address: str, request: pytest.FixtureRequest) -> str:
    name = f"topic-{abs(hash(request.node.nodeid))}"
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        future.result(GIVES_UP_AFTER_S)
    return name


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what has to come in the end."""
    deadline = time.monotonic() + GIVES_UP_AFTER_S
    tick = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, "it does not come"
        tick.wait(0.02)


def evenly_shared(*applications: Application) -> bool:
    owned = [each.partitions for each in applications]
    size = PARTITIONS // len(owned)
    return all(len(each) == size for each in owned) and len(frozenset().union(*owned)) == PARTITIONS


def test_what_was_written_is_read_whatever_the_codec(address: str, topic: str) -> None:
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for codec in codecs:
        settings = {"compression.type": codec, "enable.idempotence": True}
        produce(address, topic, VALUES, partitions=PARTITIONS, **settings)

    assert sorted(read_committed(address, topic)) == sorted(VALUES * len(codecs))


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_group_of_three_survives_joins_and_a_crash(address: str, topic: str, assignor: str) -> None:
    group = f"group-{topic}"
    with Application(address, topic, group, assignor=assignor) as ana:
        until(lambda: len(ana.partitions) == PARTITIONS)
        with Application(address, topic, group, assignor=assignor) as bob:
            until(lambda: evenly_shared(ana, bob))
            with mortal_consumer(address, topic, group, assignor=assignor) as crashing:
                until(lambda: len(ana.partitions | bob.partitions) == PARTITIONS * 2 // 3)
                produce(address, topic, VALUES, partitions=PARTITIONS)
                crashing.kill()
                until(lambda: evenly_shared(ana, bob))
                until(lambda: set(ana.values) | set(bob.values) == set(VALUES))
            assert ana.errors == bob.errors == []
    is_cooperative = assignor == "cooperative-sticky"
    assert (PARTITIONS in {len(each) for each in ana.revoked}) != is_cooperative


def test_a_static_member_comes_back_without_a_rebalance(address: str, topic: str) -> None:
    group = f"group-{topic}"
    with Application(address, topic, group, assignor="range", instance="one") as ana:
        with Application(address, topic, group, assignor="range", instance="two") as bob:
            until(lambda: evenly_shared(ana, bob))
            before, had = bob.partitions, len(ana.assigned)
        produce(address, topic, VALUES, partitions=PARTITIONS)
        with Application(address, topic, group, assignor="range", instance="two") as bob:
            until(lambda: set(ana.values) | set(bob.values) == set(VALUES))
            assert bob.partitions == before
            assert len(ana.assigned) == had
            assert sorted(ana.values + bob.values) == sorted(VALUES)


def copy(address: str, source: str, sink: str, *, count: int, is_killed: bool) -> None:
    """Copy records exactly once, in transactions with offsets; who is killed leaves the last one open."""
    group = f"copies-{source}"
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    producer = Producer({"bootstrap.servers": address, "transactional.id": group})
    producer.init_transactions(GIVES_UP_AFTER_S)
    consumer.subscribe([source])
    copied = 0
    deadline = time.monotonic() + GIVES_UP_AFTER_S
    while copied < count and time.monotonic() < deadline:
        messages = consumer.consume(20, 0.2)
        if not messages:
            continue
        producer.begin_transaction()
        for each in messages:
            producer.produce(sink, each.value() or b"", partition=each.partition() or 0)
        copied += len(messages)
        positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(positions, metadata, GIVES_UP_AFTER_S)
        producer.flush(GIVES_UP_AFTER_S)
        if copied < count or not is_killed:
            producer.commit_transaction(GIVES_UP_AFTER_S)
    consumer.close()


def read_committed(address: str, topic: str) -> list[str]:
    """All values that count."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.assign([TopicPartition(topic, at, 0) for at in range(PARTITIONS)])
    found: list[str] = []
    ended: set[int] = set()

    def is_all() -> bool:
        for message in consumer.consume(500, 0.1):
            if message.error() is None:
                found.append((message.value() or b"").decode())
            else:
                ended.add(message.partition() or 0)
        return len(ended) == PARTITIONS

    until(is_all)
    consumer.close()
    return found


def test_transactions_with_offsets_copy_exactly_once_over_a_crash(address: str, topic: str) -> None:
    sink = f"{topic}-copy"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(sink, PARTITIONS, 1)])[sink].result(GIVES_UP_AFTER_S)
    produce(address, topic, VALUES, partitions=PARTITIONS)

    copied = len(VALUES) // 2
    copy(address, topic, sink, count=copied, is_killed=True)
    counts = len(read_committed(address, sink))
    assert 0 < counts < copied
    copy(address, topic, sink, count=len(VALUES) - counts, is_killed=False)

    assert sorted(read_committed(address, sink)) == sorted(VALUES)


def test_librdkafka_administers_topics_groups_and_offsets(address: str, topic: str) -> None:
    group = f"group-{topic}"
    admin = AdminClient({"bootstrap.servers": address})
    assert {node.id for node in admin.describe_cluster().result(GIVES_UP_AFTER_S).nodes} == {1}
    admin.create_partitions([NewPartitions(topic, PARTITIONS + 1)])[topic].result(GIVES_UP_AFTER_S)
    assert len(admin.list_topics(topic, GIVES_UP_AFTER_S).topics[topic].partitions) == PARTITIONS + 1
    with Application(address, topic, group, assignor="range", instance="one") as ana:
        until(lambda: len(ana.partitions) == PARTITIONS + 1)
        described = admin.describe_consumer_groups([group])[group].result(GIVES_UP_AFTER_S)
        assert described.state.name == "STABLE"
        assert [each.group_instance_id for each in described.members] == ["one"]
        assert len(described.members[0].assignment.topic_partitions) == PARTITIONS + 1
    listed = admin.list_consumer_groups().result(GIVES_UP_AFTER_S).valid
    assert group in {each.group_id for each in listed}

    other = f"{group}-2"
    wanted = ConsumerGroupTopicPartitions(other, [TopicPartition(topic, 0, 3)])
    admin.alter_consumer_group_offsets([wanted])[other].result(GIVES_UP_AFTER_S)
    asked = ConsumerGroupTopicPartitions(other, [TopicPartition(topic, 0)])
    reported = admin.list_consumer_group_offsets([asked])[other].result(GIVES_UP_AFTER_S)
    assert [each.offset for each in reported.topic_partitions] == [3]
    admin.delete_consumer_groups([other])[other].result(GIVES_UP_AFTER_S)
    admin.delete_topics([topic])[topic].result(GIVES_UP_AFTER_S)
    until(lambda: topic not in admin.list_topics(timeout=GIVES_UP_AFTER_S).topics)


@pytest.mark.parametrize("what", ["records", "transactions", "administration"])
def test_kafka_python_finds_a_broker_as_any_other(address: str, topic: str, what: str) -> None:
    command = [sys.executable, "-m", "harness.tests.kafka_python_application", what, address, topic]

    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=2 * GIVES_UP_AFTER_S
    )

    assert finished.returncode == 0, finished.stderr
