"""The reference as a broker on a TCP port, and applications with real clients on it, for tests."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

GIVES_UP_AFTER_S = 30.0
SESSION_TIMEOUT_MS = 1500
_PROPERTIES = ("group.initial.rebalance.delay.ms=200", "group.min.session.timeout.ms=500")
# What is killed in the middle of its work: it takes part, says so, reads on and commits nothing.
_MORTAL = """
import sys
from confluent_kafka import Consumer
address, topic, group, assignor, session_ms = sys.argv[1:]
consumer = Consumer({
    "bootstrap.servers": address, "group.id": group, "partition.assignment.strategy": assignor,
    "session.timeout.ms": int(session_ms), "heartbeat.interval.ms": 300, "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
})
consumer.subscribe([topic])
told = False
while True:
    consumer.poll(0.05)
    if not told and consumer.assignment():
        told = True
        print("assigned", flush=True)
"""


@contextmanager
def reference_broker(profile: str, properties: Sequence[str] = _PROPERTIES) -> Iterator[str]:
    """Run the reference, as a release; yields its address."""
    configured = ["--config", *properties] if properties else []
    command = [sys.executable, "-m", "reference_coordinator", "--profile", profile, *configured]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[2]
        finally:
            process.terminate()
        assert process.wait() == 0


@contextmanager
def mortal_consumer(
    address: str, topic: str, group: str, *, assignor: str
) -> Iterator[subprocess.Popen[str]]:
    """Run a consumer in a process of its own, which has partitions by the time that this yields."""
    arguments = (address, topic, group, assignor, str(SESSION_TIMEOUT_MS))
    with subprocess.Popen(
        [sys.executable, "-c", _MORTAL, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "assigned\n"
            yield process
        finally:
            process.kill()


def produce(address: str, topic: str, values: Sequence[str], *, partitions: int, **settings: object) -> None:
    """Write values, one partition after the other, and see that all of them arrive."""
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, **settings})

    def delivered(error: KafkaError | None, _: object) -> None:
        failures.extend(() if error is None else (error,))

    for at, each in enumerate(values):
        producer.produce(topic, each, partition=at % partitions, on_delivery=delivered)
    assert producer.flush(GIVES_UP_AFTER_S) == 0
    assert failures == []


class Application:
    """A consumer in a thread that commits what it has read, and leaves when it is stopped."""

    def __init__(self, address: str, topic: str, group: str, *, assignor: str, instance: str = "") -> None:
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": address,
            "group.id": group,
            "partition.assignment.strategy": assignor,
            "session.timeout.ms": SESSION_TIMEOUT_MS * 20 if instance else SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": 300,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        self._consumer = Consumer(settings | ({"group.instance.id": instance} if instance else {}))
        self._topic = topic
        self.values: list[str] = []
        self.assigned: list[tuple[int, ...]] = []
        """Every set of partitions that it was given."""
        self.revoked: list[tuple[int, ...]] = []
        self.errors: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the group, unless the member is static."""
        self._is_over.set()
        self._thread.join(GIVES_UP_AFTER_S)
        assert not self._thread.is_alive()

    @property
    def partitions(self) -> frozenset[int]:
        """What it owns by what it was told."""
        owned: Counter[int] = Counter()
        for each in tuple(self.assigned):
            owned.update(each)
        for each in tuple(self.revoked):
            owned.subtract(each)
        return frozenset(owned.elements())

    def _run(self) -> None:
        self._consumer.subscribe([self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
        while not self._is_over.is_set():
            message = self._consumer.poll(0.05)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                self.errors.append(error.str())
                continue
            self.values.append((message.value() or b"").decode())
            self._consumer.commit(message=message)
        self._consumer.close()

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned.append(tuple(sorted(each.partition for each in partitions)))

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked.append(tuple(sorted(each.partition for each in partitions)))
