"""Real clients that send small requests one after the other, for as long as they are told."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Final, TypeAlias

from confluent_kafka import Consumer, Producer, TopicPartition

from harness.bench.client import Count

Send: TypeAlias = Callable[[], object]
"""Sends one request and waits for its answer."""

_TOPIC: Final = "orders"
_VALUE: Final = b"small"
_TIMEOUT_S: Final = 20.0


@contextmanager
def _python_produces(bootstrap: str, _: str) -> Iterator[Send]:
    kafka = _kafka_python()
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    try:
        yield lambda: producer.send(_TOPIC, _VALUE, partition=0).get(_TIMEOUT_S)
    finally:
        producer.close()


@contextmanager
def _python_commits(bootstrap: str, group_id: str) -> Iterator[Send]:
    kafka = _kafka_python()
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=group_id, enable_auto_commit=False)
    partition = kafka.TopicPartition(_TOPIC, 0)
    consumer.assign([partition])
    offsets = {partition: kafka.structs.OffsetAndMetadata(1, "", -1)}
    try:
        yield lambda: consumer.commit(offsets)
    finally:
        consumer.close()


def _kafka_python() -> ModuleType:
    # Its import is slow and warns of its own old ways; nobody who measures nothing is to bear that.
    return import_module("kafka")


@contextmanager
def _confluent_produces(bootstrap: str, _: str) -> Iterator[Send]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})

    def send() -> None:
        producer.produce(_TOPIC, _VALUE, partition=0)
        assert producer.flush(_TIMEOUT_S) == 0, "a record was not delivered in time"

    yield send


@contextmanager
def _confluent_commits(bootstrap: str, group_id: str) -> Iterator[Send]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group_id, "enable.auto.commit": False})
    offsets = [TopicPartition(_TOPIC, 0, 1)]
    try:
        yield lambda: consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


CLIENTS: Final[Mapping[str, Callable[[str, str], AbstractContextManager[Send]]]] = MappingProxyType(
    {
        "kafka-python, produces one by one": _python_produces,
        "kafka-python, commits one by one": _python_commits,
        "confluent-kafka, produces one by one": _confluent_produces,
        "confluent-kafka, commits one by one": _confluent_commits,
    }
)
"""By the name that tables show: what opens a client for a bootstrap address and a group."""


def carry_client(name: str, bootstrap: str, group_id: str, warm_up_s: float, measured_s: float) -> Count:
    """Let a client send for so long; count what was answered after the warm-up."""
    with CLIENTS[name](bootstrap, group_id) as send:
        warm_until_s = time.perf_counter() + warm_up_s
        while time.perf_counter() < warm_until_s:
            send()
        began_s, cpu_s, answered = time.perf_counter(), time.process_time(), 0
        while (now_s := time.perf_counter()) < began_s + measured_s:
            send()
            answered += 1
        return Count(answered=answered, elapsed_s=now_s - began_s, cpu_s=time.process_time() - cpu_s)
