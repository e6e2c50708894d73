"""Clients that use confluent-kafka, which is built on librdkafka."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined] # its types do not export the second
    AdminClient,
    OffsetSpec,
)
from typing_extensions import override

from harness.clients.apps.adapter import (
    ClientError,
    Consumer,
    Delivered,
    Description,
    Library,
    OnPartitions,
    PartitionKey,
    Producer,
    Settings,
    ShareConsumer,
)

T = TypeVar("T")
_TIMEOUT_S: Final = 30.0
_RETRY_S: Final = 0.1
_PROPERTIES: Final = {
    "bootstrap_servers": "bootstrap.servers",
    "client_id": "client.id",
    "group_id": "group.id",
    "group_instance_id": "group.instance.id",
    "group_protocol": "group.protocol",
    "group_remote_assignor": "group.remote.assignor",
    "assignor": "partition.assignment.strategy",
    "session_timeout_ms": "session.timeout.ms",
    "heartbeat_interval_ms": "heartbeat.interval.ms",
    "max_poll_interval_ms": "max.poll.interval.ms",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
    "auto_offset_reset": "auto.offset.reset",
    "isolation_level": "isolation.level",
    "transactional_id": "transactional.id",
    "share_acknowledgement_mode": "share.acknowledgement.mode",
    "max_poll_records": "max.poll.records",
}
_OF_CONSUMER: Final = {
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 1000,
    "allow.auto.create.topics": False,
}
_OF_SHARE_CONSUMER: Final = {
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 1000,
    "max.poll.records": 100,
}
_PRODUCER_SETTINGS: Final = frozenset({"bootstrap_servers", "client_id", "transactional_id"})
_TRANSPORT: Final = frozenset({"_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT"})
_NO_COORDINATOR: Final = frozenset(
    {"NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "_WAIT_COORD"}
)
_NO_FETCHER: Final = frozenset({"_STATE"})
"""The error of a seek before the first fetch."""
_NO_GROUP: Final = "without-a-group"
"""librdkafka requires a group id even for a consumer that is not a member of any group."""


class Librdkafka(Library):
    """confluent-kafka."""

    @override
    def consumer(self, settings: Settings, on_partitions: OnPartitions) -> Consumer:
        return _Consumer(settings, on_partitions)

    @override
    def share_consumer(self, settings: Settings) -> ShareConsumer:
        return _ShareConsumer(settings)

    @override
    def producer(self, settings: Settings) -> Producer:
        return _Producer(settings)

    @override
    def describe(self, settings: Settings, group: str) -> Description:
        admin = AdminClient({"bootstrap.servers": settings["bootstrap_servers"]})
        reported = _refusing(admin.describe_consumer_groups([group])[group].result)
        asked = ck.ConsumerGroupTopicPartitions(group)
        listed = _refusing(admin.list_consumer_group_offsets([asked])[group].result)
        committed = {(each.topic, each.partition): each.offset for each in listed.topic_partitions}
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call] # it has no types
        ends = admin.list_offsets(dict.fromkeys(_bare([*committed]), latest))
        return Description(
            state=reported.state.name,
            assignor=reported.partition_assignor,
            members=[
                (each.client_id, [(one.topic, one.partition) for one in each.assignment.topic_partitions])
                for each in reported.members
            ],
            offsets={
                (each.topic, each.partition): (
                    committed[each.topic, each.partition],
                    _refusing(end.result).offset,
                )
                for each, end in ends.items()
            },
        )


class _Consumer(Consumer):
    def __init__(self, settings: Settings, on_partitions: OnPartitions) -> None:
        properties = {_PROPERTIES[name]: value for name, value in settings.items()} | _OF_CONSUMER
        properties.setdefault("group.id", _NO_GROUP)
        self.handle = ck.Consumer(properties)
        self._on_partitions = on_partitions
        self._errors: list[ClientError] = []

    def _subscribe(self, topics: list[str]) -> None:
        def reported(kind: str, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            self._on_partitions(kind, [(each.topic, each.partition) for each in partitions])

        reported_of = {f"on_{name}": partial(reported, kind) for name, kind in _CALLBACKS.items()}
        _refusing(lambda: self.handle.subscribe(topics, **reported_of))

    @override
    def subscribe(self, topics: Sequence[str]) -> None:
        self._subscribe(list(topics))

    @override
    def subscribe_to_pattern(self, pattern: str) -> None:
        self._subscribe([f"^{pattern}"])

    @override
    def unsubscribe(self) -> None:
        _refusing(self.handle.unsubscribe)

    @override
    def assign(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.assign(_bare(partitions)))

    @override
    def poll(self, *, records_max: int, timeout_s: float) -> Sequence[Delivered]:
        delivered: list[Delivered] = []
        for message in _refusing(lambda: self.handle.consume(records_max, timeout_s)):
            error = message.error()
            if error is None:
                delivered.append(_delivered(message))
            elif error.name() not in _TRANSPORT:
                self._errors.append(_error(error))
        if self._errors and not delivered:
            raise self._errors.pop(0)
        return delivered

    @override
    def commit(self, offsets: Mapping[PartitionKey, int]) -> None:
        committed = _retrying(
            lambda: self.handle.commit(offsets=_with_offsets(offsets), asynchronous=False), _NO_COORDINATOR
        )
        for each in committed or ():
            if each.error is not None:
                raise _error(each.error)

    @override
    def committed(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int | None]:
        reported = _retrying(lambda: self.handle.committed(_bare(partitions), _TIMEOUT_S), _NO_COORDINATOR)
        return {(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in reported}

    @override
    def seek(self, partition: PartitionKey, offset: int) -> None:
        topic, number = partition
        _retrying(lambda: self.handle.seek(ck.TopicPartition(topic, number, offset)), _NO_FETCHER)

    @override
    def pause(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.pause(_bare(partitions)))

    @override
    def resume(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.resume(_bare(partitions)))

    @override
    def positions(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int]:
        reported = _refusing(lambda: self.handle.position(_bare(partitions)))
        return {(each.topic, each.partition): each.offset for each in reported}

    @override
    def close(self) -> None:
        _refusing(self.handle.close)


class _ShareConsumer(ShareConsumer):
    def __init__(self, settings: Settings) -> None:
        properties = {
            _PROPERTIES[name]: value for name, value in settings.items() if name != "group_protocol"
        }
        self._handle = ck.ShareConsumer({**_OF_SHARE_CONSUMER, **properties})
        self._errors: list[ClientError] = []
        _refusing(lambda: self._handle.set_acknowledgement_commit_callback(self._committed))

    def _committed(self, _: object, error: ck.KafkaException | None) -> None:
        if error is not None:
            self._errors.append(_error(error.args[0]))

    @override
    def subscribe(self, topics: Sequence[str]) -> None:
        _refusing(lambda: self._handle.subscribe(list(topics)))

    @override
    def unsubscribe(self) -> None:
        _refusing(self._handle.unsubscribe)

    @override
    def poll(self, *, timeout_s: float) -> Sequence[Delivered]:
        delivered: list[Delivered] = []
        for message in _refusing(lambda: self._handle.poll(timeout_s)):
            error = message.error()
            if error is None:
                count = message.delivery_count()
                delivered.append(replace(_delivered(message), delivery_count=1 if count is None else count))
            elif error.name() not in _TRANSPORT:
                self._errors.append(_error(error))
        if self._errors and not delivered:
            raise self._errors.pop(0)
        return delivered

    @override
    def acknowledge(self, record: Delivered, as_: str) -> None:
        kind = ck.AcknowledgeType[as_.upper()]
        _refusing(lambda: self._handle.acknowledge_offset(*record.partition, record.offset, kind))

    @override
    def commit(self) -> Mapping[PartitionKey, ClientError]:
        committed = _refusing(lambda: self._handle.commit_sync(_TIMEOUT_S))
        # The callback reports the same errors.
        self._errors.clear()
        return {
            (each.topic, each.partition): _error(error.args[0])
            for each, error in committed.items()
            if error is not None
        }

    @override
    def close(self) -> None:
        _refusing(self._handle.close)


class _Producer(Producer):
    def __init__(self, settings: Settings) -> None:
        kept = {_PROPERTIES[name]: settings[name] for name in _PRODUCER_SETTINGS & settings.keys()}
        self._handle = ck.Producer(
            {**kept, "linger.ms": 0, "transaction.timeout.ms": 60_000}
            if "transactional.id" in kept
            else {**kept, "linger.ms": 0}
        )
        self._initialized = False

    @override
    def produce(self, records: Sequence[tuple[PartitionKey, str]]) -> None:
        failed: list[ck.KafkaError] = []

        def reported(error: ck.KafkaError | None, _: ck.Message) -> None:
            if error is not None:
                failed.append(error)

        for (topic, number), value in records:
            produce = partial(
                self._handle.produce, topic, value.encode(), partition=number, on_delivery=reported
            )
            _refusing(produce)
        left = self._handle.flush(_TIMEOUT_S)
        if failed:
            raise _error(failed[0])
        if left:
            raise ClientError(
                "REQUEST_TIMED_OUT", f"{left} records were not acknowledged in {_TIMEOUT_S:g} s"
            )

    @override
    def begin_transaction(self) -> None:
        if not self._initialized:
            _refusing(lambda: self._handle.init_transactions(_TIMEOUT_S))
            self._initialized = True
        _refusing(self._handle.begin_transaction)

    @override
    def send_offsets(self, offsets: Mapping[PartitionKey, int], consumer: Consumer) -> None:
        assert isinstance(consumer, _Consumer)
        metadata = consumer.handle.consumer_group_metadata()
        _refusing(
            lambda: self._handle.send_offsets_to_transaction(_with_offsets(offsets), metadata, _TIMEOUT_S)
        )

    @override
    def commit_transaction(self) -> None:
        _refusing(lambda: self._handle.commit_transaction(_TIMEOUT_S))

    @override
    def abort_transaction(self) -> None:
        _refusing(lambda: self._handle.abort_transaction(_TIMEOUT_S))

    @override
    def close(self) -> None:
        self._handle.flush(_TIMEOUT_S)


_CALLBACKS: Final = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}


def _bare(partitions: Sequence[PartitionKey]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(topic, number) for topic, number in partitions]


def _with_offsets(offsets: Mapping[PartitionKey, int]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]


def _delivered(message: ck.Message) -> Delivered:
    topic, number, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert number is not None
    assert offset is not None
    return Delivered(partition=(topic, number), offset=offset, value=(message.value() or b"").decode())


def _refusing(act: Callable[[], T]) -> T:
    try:
        return act()
    except ck.KafkaException as error:
        raise _error(error.args[0]) from error
    except RuntimeError as error:
        raise ClientError("ILLEGAL_STATE", str(error)) from error


def _retrying(act: Callable[[], T], errors: Collection[str]) -> T:
    """Retry a call that is refused for a while; librdkafka leaves such retries to the application."""
    until_s = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            return act()
        except ck.KafkaException as error:
            if error.args[0].name() not in errors or time.monotonic() > until_s:
                raise _error(error.args[0]) from error
        time.sleep(_RETRY_S)


def _error(error: ck.KafkaError) -> ClientError:
    return ClientError(error.name(), error.str())
