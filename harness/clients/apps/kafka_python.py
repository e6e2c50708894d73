"""Clients that use kafka-python."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import kafka  # type: ignore[import-untyped] # it has no types
from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import OffsetSpec  # type: ignore[import-untyped] # it has no types
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor  # type: ignore[import-untyped] # it has no types
from kafka.coordinator.assignors.range import RangePartitionAssignor  # type: ignore[import-untyped] # it has no types
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # type: ignore[import-untyped] # it has no types
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # type: ignore[import-untyped] # it has no types
from kafka.structs import OffsetAndMetadata  # type: ignore[import-untyped] # it has no types
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
_POLL_S_MIN: Final = 1.0
_POLL_AFTER_CHANGE_S: Final = 5.0
"""kafka-python 3.0.12 forgets a join that outlasts the poll() that began it, unless a heartbeat caused it:
`ConsumerCoordinator.need_rejoin` compares with what was sent, not with what was answered."""
_ASSIGNORS: Final = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_OF_CONSUMER: Final = {
    "enable_auto_commit": False,
    "fetch_max_wait_ms": 100,
    "reconnect_backoff_max_ms": 1000,
    "allow_auto_create_topics": False,
    "metrics_enabled": False,
}
_PRODUCER_SETTINGS: Final = frozenset({"bootstrap_servers", "client_id", "transactional_id"})
_TRANSPORT: Final = frozenset(
    {"KAFKA_CONNECTION", "NODE_NOT_READY", "KAFKA_TIMEOUT", "REQUEST_TIMED_OUT", "NO_BROKERS_AVAILABLE"}
)


class KafkaPython(Library):
    """kafka-python."""

    @override
    def consumer(self, settings: Settings, on_partitions: OnPartitions) -> Consumer:
        return _Consumer(settings, on_partitions)

    @override
    def share_consumer(self, settings: Settings) -> ShareConsumer:
        raise ClientError("UNSUPPORTED", "kafka-python has no share groups")

    @override
    def producer(self, settings: Settings) -> Producer:
        return _Producer(settings)

    @override
    def describe(self, settings: Settings, group: str) -> Description:
        admin = KafkaAdminClient(bootstrap_servers=settings["bootstrap_servers"])
        try:
            reported = _refusing(lambda: admin.describe_groups([group]))[group]
            committed = _refusing(lambda: admin.list_group_offsets([group]))[group]
            latest = dict.fromkeys(committed, OffsetSpec.LATEST)
            ends = _refusing(lambda: admin.list_partition_offsets(latest)) if latest else {}
        finally:
            admin.close()
        return Description(
            state=reported["group_state"].upper(),
            assignor=reported["protocol_data"],
            members=[(each["client_id"], _owned(each)) for each in reported["members"]],
            offsets={
                (each.topic, each.partition): (committed[each].offset, ends[each].offset) for each in ends
            },
        )


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # it has no types
    def __init__(self, on_partitions: OnPartitions) -> None:
        self._on_partitions = on_partitions

    @override
    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        self._on_partitions("assigned", _pairs(assigned))

    @override
    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        self._on_partitions("revoked", _pairs(revoked))

    @override
    def on_partitions_lost(self, lost: Sequence[TopicPartition]) -> None:
        self._on_partitions("lost", _pairs(lost))


class _Consumer(Consumer):
    def __init__(self, settings: Settings, on_partitions: OnPartitions) -> None:
        properties: dict[str, object] = {**settings, **_OF_CONSUMER}
        assignor = properties.pop("assignor", None)
        if assignor is not None:
            properties["partition_assignment_strategy"] = [_ASSIGNORS[str(assignor)]]
        self.handle = KafkaConsumer(**properties)
        self._listener = _Listener(on_partitions)
        self._next_poll_s = _POLL_S_MIN

    @override
    def subscribe(self, topics: Sequence[str]) -> None:
        if self.handle.subscription():
            self._next_poll_s = _POLL_AFTER_CHANGE_S
        _refusing(lambda: self.handle.subscribe(topics=list(topics), listener=self._listener))
        # A consumer that joins before it has the topics' partitions must join again, and may forget to.
        _refusing(self.handle.topics)

    @override
    def subscribe_to_pattern(self, pattern: str) -> None:
        _refusing(lambda: self.handle.subscribe(pattern=f"^{pattern}", listener=self._listener))

    @override
    def unsubscribe(self) -> None:
        _refusing(self.handle.unsubscribe)

    @override
    def assign(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.assign([TopicPartition(*each) for each in partitions]))

    @override
    def poll(self, *, records_max: int, timeout_s: float) -> Sequence[Delivered]:
        timeout_ms = max(timeout_s, self._next_poll_s) * 1000
        self._next_poll_s = _POLL_S_MIN
        try:
            batches = _refusing(lambda: self.handle.poll(timeout_ms, max_records=records_max))
        except ClientError as error:
            if error.name in _TRANSPORT:
                return ()
            raise
        return [
            Delivered(
                partition=(record.topic, record.partition),
                offset=record.offset,
                value=(record.value or b"").decode(),
            )
            for batch in batches.values()
            for record in batch
        ]

    @override
    def commit(self, offsets: Mapping[PartitionKey, int]) -> None:
        _refusing(lambda: self.handle.commit(_with_offsets(offsets), timeout_ms=_TIMEOUT_S * 1000))

    @override
    def committed(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int | None]:
        timeout_ms = _TIMEOUT_S * 1000
        return {
            each: _refusing(partial(self.handle.committed, TopicPartition(*each), timeout_ms=timeout_ms))
            for each in partitions
        }

    @override
    def seek(self, partition: PartitionKey, offset: int) -> None:
        _refusing(lambda: self.handle.seek(TopicPartition(*partition), offset))

    @override
    def pause(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.pause(*[TopicPartition(*each) for each in partitions]))

    @override
    def resume(self, partitions: Sequence[PartitionKey]) -> None:
        _refusing(lambda: self.handle.resume(*[TopicPartition(*each) for each in partitions]))

    @override
    def positions(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int]:
        return {each: _refusing(partial(self.handle.position, TopicPartition(*each))) for each in partitions}

    @override
    def close(self) -> None:
        _refusing(self.handle.close)


class _Producer(Producer):
    def __init__(self, settings: Settings) -> None:
        kept = {name: settings[name] for name in _PRODUCER_SETTINGS & settings.keys()}
        self._handle = KafkaProducer(**kept, metrics_enabled=False)
        self._initialized = False

    @override
    def produce(self, records: Sequence[tuple[PartitionKey, str]]) -> None:
        futures = [
            _refusing(partial(self._handle.send, topic, value.encode(), partition=number))
            for (topic, number), value in records
        ]
        for future in futures:
            _refusing(partial(future.get, timeout=_TIMEOUT_S))

    @override
    def begin_transaction(self) -> None:
        if not self._initialized:
            _refusing(self._handle.init_transactions)
            self._initialized = True
        _refusing(self._handle.begin_transaction)

    @override
    def send_offsets(self, offsets: Mapping[PartitionKey, int], consumer: Consumer) -> None:
        assert isinstance(consumer, _Consumer)
        metadata = consumer.handle.group_metadata()
        _refusing(lambda: self._handle.send_offsets_to_transaction(_with_offsets(offsets), metadata))

    @override
    def commit_transaction(self) -> None:
        _refusing(self._handle.commit_transaction)

    @override
    def abort_transaction(self) -> None:
        _refusing(self._handle.abort_transaction)

    @override
    def close(self) -> None:
        self._handle.close(timeout=_TIMEOUT_S)


def _owned(member: Mapping[str, Any]) -> list[PartitionKey]:
    return [
        (each["topic"], number)
        for each in member["member_assignment"]["assigned_partitions"]
        for number in each["partitions"]
    ]


def _pairs(partitions: Sequence[TopicPartition]) -> list[PartitionKey]:
    return [(each.topic, each.partition) for each in partitions]


def _with_offsets(offsets: Mapping[PartitionKey, int]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {TopicPartition(*each): OffsetAndMetadata(offset, "", -1) for each, offset in offsets.items()}


def _refusing(act: Callable[[], T]) -> T:
    try:
        return act()
    except kafka.errors.KafkaError as error:
        raise ClientError(_name(error), str(error)) from error


def _name(error: Exception) -> str:
    """Return Kafka's name for an error: `FENCED_INSTANCE_ID` for `FencedInstanceIdError`."""
    words = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?=[A-Z]|$)", type(error).__name__.removesuffix("Error"))
    return "_".join(words).upper()
