"""Real clients that send small requests, one by one or several at once, for a given time."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from harness.bench.client import Count

Send: TypeAlias = Callable[[], int]
"""Sends one request; returns the number of answers that came meanwhile."""

_TOPIC: Final = "orders"
_VALUE: Final = b"small"
_TIMEOUT_S: Final = 20.0
_UNDER_WAY: Final = 5
"""The most in-flight requests with which a producer of either library preserves their order."""


@contextmanager
def _python_produces(bootstrap: str, _: str) -> Iterator[Send]:
    kafka = _kafka_python()
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)

    def send() -> int:
        producer.send(_TOPIC, _VALUE, partition=0).get(_TIMEOUT_S)
        return 1

    try:
        yield send
    finally:
        producer.close()


@contextmanager
def _python_produces_several(bootstrap: str, _: str) -> Iterator[Send]:
    kafka = _kafka_python()
    # With a batch size of 0, each batch has one record.
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap,
        linger_ms=0,
        batch_size=0,
        max_in_flight_requests_per_connection=_UNDER_WAY,
    )
    under_way: deque[Any] = deque()

    def send() -> int:
        under_way.append(producer.send(_TOPIC, _VALUE, partition=0))
        if len(under_way) <= 2 * _UNDER_WAY:
            return 0
        # Answers come in order. Twice the in-flight limit is queued, so that one can always be sent.
        under_way.popleft().get(_TIMEOUT_S)
        return 1

    try:
        yield send
    finally:
        producer.close()


@contextmanager
def _python_commits(bootstrap: str, group_id: str) -> Iterator[Send]:
    kafka = _kafka_python()
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=group_id, enable_auto_commit=False)
    partition = kafka.TopicPartition(_TOPIC, 0)
    consumer.assign([partition])
    offsets = {partition: kafka.structs.OffsetAndMetadata(1, "", -1)}

    def send() -> int:
        consumer.commit(offsets)
        return 1

    try:
        yield send
    finally:
        consumer.close()


def _kafka_python() -> ModuleType:
    # Its import is slow and prints deprecation warnings, so only measurements import it.
    return import_module("kafka")


@contextmanager
def _confluent_produces(bootstrap: str, _: str) -> Iterator[Send]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})

    def send() -> int:
        producer.produce(_TOPIC, _VALUE, partition=0)
        assert producer.flush(_TIMEOUT_S) == 0, "a record was not delivered in time"
        return 1

    yield send


@contextmanager
def _confluent_produces_several(bootstrap: str, _: str) -> Iterator[Send]:
    settings = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 0,
        "batch.num.messages": 1,
        "max.in.flight": _UNDER_WAY,
    }
    producer = Producer(settings)
    delivered = 0

    def count(error: KafkaError | None, _: Message) -> None:
        nonlocal delivered
        assert error is None, f"a record was not delivered: {error}"
        delivered += 1

    def send() -> int:
        # Twice the in-flight limit is queued, so that the library always has one to send.
        before = delivered
        while len(producer) >= 2 * _UNDER_WAY:
            producer.poll(_TIMEOUT_S)
        producer.produce(_TOPIC, _VALUE, partition=0, on_delivery=count)
        producer.poll(0)
        return delivered - before

    try:
        yield send
    finally:
        producer.flush(_TIMEOUT_S)


@contextmanager
def _confluent_commits(bootstrap: str, group_id: str) -> Iterator[Send]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group_id, "enable.auto.commit": False})
    offsets = [TopicPartition(_TOPIC, 0, 1)]

    def send() -> int:
        consumer.commit(offsets=offsets, asynchronous=False)
        return 1

    try:
        yield send
    finally:
        consumer.close()


CLIENTS: Final[Mapping[str, Callable[[str, str], AbstractContextManager[Send]]]] = MappingProxyType(
    {
        "kafka-python, produces one by one": _python_produces,
        "kafka-python, commits one by one": _python_commits,
        "kafka-python, produces, five under way": _python_produces_several,
        "confluent-kafka, produces one by one": _confluent_produces,
        "confluent-kafka, commits one by one": _confluent_commits,
        "confluent-kafka, produces, five under way": _confluent_produces_several,
    }
)
"""Functions that open a client for a bootstrap address and a group, by the name in tables."""


def carry_client(name: str, bootstrap: str, group_id: str, warm_up_s: float, measured_s: float) -> Count:
    """Run a client for a given time, and count the answers after the warm-up."""
    with CLIENTS[name](bootstrap, group_id) as send:
        warm_until_s = time.perf_counter() + warm_up_s
        while time.perf_counter() < warm_until_s:
            send()
        began_s, cpu_s, answered = time.perf_counter(), time.process_time(), 0
        while (now_s := time.perf_counter()) < began_s + measured_s:
            answered += send()
        return Count(answered=answered, elapsed_s=now_s - began_s, cpu_s=time.process_time() - cpu_s)
