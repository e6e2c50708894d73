"""The log behind the coordinator: records by partition, and what it remembers of their producers.

Records are kept as they are; bytes are made where a store wants them. Producers of other topics are
remembered too, since the end of a transaction may be written there.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from reference_coordinator.core.consumer_records import (
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupTargetAssignmentMetadataRecord,
)
from reference_coordinator.core.effects import AppendRecords, Producer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import NO_PRODUCER_EPOCH, OFFSETS_TOPIC, Millis, ProducerEpoch, ProducerId
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    OffsetCommitRecord,
)
from reference_coordinator.core.streams_records import StreamsGroupTargetAssignmentMetadataRecord
from reference_coordinator.core.values import value
from reference_coordinator.log.batches import (
    LogBatch,
    RecordStore,
    StoredPartition,
    StoreError,
    UnreadableLogError,
    UnreadableRecord,
    UnwritableBatchError,
)
from reference_coordinator.log.memory import Amount, amount_of, compacted

_FIRST_STRICT_TRANSACTION_VERSION: Final = 2
_SHORT_MAX: Final = 2**15 - 1
_NO_COORDINATOR_EPOCH: Final = -1
_NOTHING: Final = Amount()
_COMPACTED_FROM: Final = Amount(records=1024, size_bytes=4 * 1024 * 1024)
"""What a partition has of one or the other when it is compacted first; later, twice as much as was left."""
_PartitionOfProducer = tuple[str, int, ProducerId]


@dataclass(slots=True, kw_only=True)
class ProducerState:
    """What a partition remembers of a producer. Source: ProducerStateEntry (4.3.1)."""

    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NO_COORDINATOR_EPOCH
    has_ongoing_transaction: bool = False


@value
class MarkerHeader:
    """What comes with the end of a transaction, beside what it says."""

    coordinator_epoch: int = 0
    transaction_version: int = 0


@dataclass(slots=True)
class _PartitionLog:
    batches: list[LogBatch]
    end_offset: int
    timestamp_ms: Millis
    """The latest that a record brought; those that bring none have it too."""
    unreadable: UnreadableRecord | None
    external_count: int = 0
    amount: Amount = _NOTHING
    compacted_from: Amount = _COMPACTED_FROM
    """What it has of one or the other when it is compacted the next time."""
    compactions: int = 0
    measured: int = 0
    """How many batches `measured_bytes` is about."""
    measured_bytes: int = 0

    def add(self, batches: Iterable[LogBatch]) -> None:
        """Take in batches, and leave out what was overwritten once there may be as much of it as of the rest.

        Kafka compacts segments that are full, and half of which was overwritten. Nobody counts on the rest.
        """
        added = tuple(batches)
        self.batches.extend(added)
        self.amount += amount_of(added)
        if self.amount.reaches(self.compacted_from):
            self.batches = compacted(self.batches)
            self.amount = amount_of(self.batches)
            self.compacted_from = _COMPACTED_FROM.or_more(self.amount + self.amount)
            self.compactions += 1
            self.measured = self.measured_bytes = 0

    def size_bytes(self, size_of: Callable[[LogBatch], int]) -> int:
        """Look only at what came since somebody asked, or since the last compaction."""
        self.measured_bytes += sum(map(size_of, islice(self.batches, self.measured, None)))
        self.measured = len(self.batches)
        return self.measured_bytes


class OffsetsLog:
    """Source: UnifiedLog, ProducerStateManager (4.3.1)."""

    def __init__(self, store: RecordStore | None = None) -> None:
        """Begin with what the store has, or with nothing, and nowhere to keep it."""
        self._store = store
        self._partitions: dict[int, _PartitionLog] = {}
        self._producers: dict[_PartitionOfProducer, ProducerState] = {}
        for partition, stored in sorted(store.load().items()) if store else ():
            self._restore(partition, stored)

    @property
    def records(self) -> list[CoordinatorRecord]:
        """By partition, oldest first, of all that can be read; what was overwritten may be missing."""
        found = (self._partitions[partition] for partition in self.partitions())
        readable = (each for each in found if each.unreadable is None or each.external_count)
        return [record for each in readable for batch in each.batches for record in batch.records]

    def append(self, append: AppendRecords) -> Errors:
        """Take in records, unless their producer's epoch is older than one that was seen.

        On NONE they are in the store, if there is one. KAFKA_STORAGE_ERROR says that nobody knows.

        Source: ProducerAppendInfo#appendDataBatch (4.3.1).
        """
        producer = append.producer
        if producer is not None:
            known = self._producer(OFFSETS_TOPIC, append.partition, producer.producer_id)
            if producer.producer_epoch < known.producer_epoch:
                return Errors.INVALID_PRODUCER_EPOCH
        error = self._write(append.partition, append.records, producer, None)
        if producer is not None and error is Errors.NONE:
            self._data_written(append.partition, producer)
        return error

    def append_external(self, partition: int, added: StoredPartition) -> None:
        """Take in what somebody else has written; whoever coordinates the partition is not told.

        Source: ReplicaManager#appendRecords (4.3.1).
        """
        assert self._store is None, "a store has what a coordinator writes, and nothing else"
        found = self._partition(partition)
        found.add(added.batches)
        found.end_offset = added.end_offset
        found.unreadable = found.unreadable or added.unreadable
        found.external_count += 1

    def external_count(self, partition: int) -> int:
        """How often somebody else has written to a partition."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.external_count

    def append_marker(self, topic: str, marker: EndTransactionMarker, header: MarkerHeader) -> Errors:
        """Take in the end of a transaction.

        Source: ProducerAppendInfo#appendEndTxnMarker (4.3.1).
        """
        known = self._producer(topic, marker.partition, marker.producer_id)
        if _is_too_old(known, marker.producer_epoch, header.transaction_version):
            return Errors.INVALID_PRODUCER_EPOCH
        if header.coordinator_epoch < known.coordinator_epoch:
            return Errors.TRANSACTION_COORDINATOR_FENCED
        producer = Producer(producer_id=marker.producer_id, producer_epoch=marker.producer_epoch)
        if topic == OFFSETS_TOPIC:
            error = self._write(marker.partition, (marker,), producer, header.coordinator_epoch)
            if error is not Errors.NONE:
                return error
        self._marker_written(topic, marker.partition, producer, header.coordinator_epoch)
        return Errors.NONE

    def read(self, partition: int) -> Iterable[CoordinatorRecord]:
        """What a loader replays of a partition, markers included, oldest first.

        Raises:
            UnreadableLogError: the profile's loader fails on a record, at once and not on the way there:
                `Lifecycle.fail` says what comes of it.
        """
        return (record for _, record in self.read_with_offsets(partition))

    def read_with_offsets(self, partition: int) -> Iterator[tuple[int, CoordinatorRecord]]:
        """The same, each record with its offset; the numbers have gaps where records were compacted away.

        Raises:
            UnreadableLogError: as `read`.
        """
        found = self._partitions.get(partition)
        if found is None:
            return iter(())
        if found.unreadable is not None:
            raise UnreadableLogError(str(found.unreadable))
        return (each for batch in tuple(found.batches) for each in batch.with_offsets())

    def batches(self, partition: int) -> tuple[LogBatch, ...]:
        """What a partition is made of, for who writes it elsewhere."""
        found = self._partitions.get(partition)
        return () if found is None else tuple(found.batches)

    def size_bytes(self, partition: int, size_of: Callable[[LogBatch], int]) -> int:
        """How large a partition is, given how large a batch is, which never changes."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.size_bytes(size_of)

    def compactions(self, partition: int) -> int:
        """How often overwritten records of a partition were left out."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.compactions

    def end_offset(self, partition: int) -> int:
        """Where the partition's next record will stand. Source: UnifiedLog#logEndOffset (4.3.1)."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.end_offset

    def partitions(self) -> tuple[int, ...]:
        """The partitions that anything was ever appended to."""
        return tuple(sorted(self._partitions))

    def unreadable(self) -> tuple[UnreadableRecord, ...]:
        """What loaders fail on, at most one record of each partition."""
        found = (self._partitions[partition].unreadable for partition in self.partitions())
        return tuple(each for each in found if each is not None)

    def delete(self) -> None:
        """Lose everything, as the topic of this name is no more."""
        if self._store is not None:
            with suppress(StoreError):  # which then takes nothing more
                self._store.delete()
        self._partitions.clear()
        for known in [each for each in self._producers if each[0] == OFFSETS_TOPIC]:
            del self._producers[known]

    def has_ongoing_transaction(
        self, partition: int, producer_id: ProducerId, producer_epoch: ProducerEpoch | None
    ) -> bool:
        """Whether a producer, of that epoch if one is given, has written to a partition and not ended it.

        Source: UnifiedLog#hasOngoingTransaction (4.3.1).
        """
        known = self._producers.get((OFFSETS_TOPIC, partition, producer_id))
        return (
            known is not None
            and known.has_ongoing_transaction
            and producer_epoch in {None, known.producer_epoch}
        )

    def largest_producer_id(self) -> int:
        """The largest that any partition remembers, -1 for none: who gives out ids goes on behind it."""
        return max((producer_id for _, _, producer_id in self._producers), default=-1)

    def _write(
        self,
        partition: int,
        records: tuple[CoordinatorRecord, ...],
        producer: Producer | None,
        coordinator_epoch: int | None,
    ) -> Errors:
        if not records:
            return Errors.NONE
        found = self._partition(partition)
        batch = LogBatch(
            base_offset=found.end_offset,
            timestamp_ms=max(found.timestamp_ms, *map(_timestamp_ms, records)),
            records=records,
            producer=producer,
            coordinator_epoch=coordinator_epoch,
        )
        if self._store is not None:
            try:
                self._store.append(partition, batch)
            except StoreError:
                return Errors.KAFKA_STORAGE_ERROR
            except UnwritableBatchError:
                return Errors.UNKNOWN_SERVER_ERROR
        found.add((batch,))
        found.end_offset += len(records)
        found.timestamp_ms = batch.timestamp_ms
        return Errors.NONE

    def _partition(self, partition: int) -> _PartitionLog:
        return self._partitions.setdefault(partition, _PartitionLog([], 0, Millis(0), None))

    def _restore(self, partition: int, stored: StoredPartition) -> None:
        """Source: ProducerStateManager#update (4.3.1)."""
        timestamp_ms = max((batch.timestamp_ms for batch in stored.batches), default=Millis(0))
        found = _PartitionLog([], stored.end_offset, timestamp_ms, stored.unreadable)
        found.add(stored.batches)
        self._partitions[partition] = found
        for batch in stored.batches:
            if batch.producer is not None and batch.coordinator_epoch is not None:
                self._marker_written(OFFSETS_TOPIC, partition, batch.producer, batch.coordinator_epoch)
            elif batch.producer is not None:
                self._data_written(partition, batch.producer)

    def _data_written(self, partition: int, producer: Producer) -> None:
        known = self._producer(OFFSETS_TOPIC, partition, producer.producer_id)
        known.producer_epoch = producer.producer_epoch
        known.has_ongoing_transaction = True

    def _marker_written(self, topic: str, partition: int, producer: Producer, coordinator_epoch: int) -> None:
        known = self._producer(topic, partition, producer.producer_id)
        known.producer_epoch = producer.producer_epoch
        known.coordinator_epoch = coordinator_epoch
        known.has_ongoing_transaction = False

    def _producer(self, topic: str, partition: int, producer_id: ProducerId) -> ProducerState:
        return self._producers.setdefault((topic, partition, producer_id), ProducerState())


def _timestamp_ms(record: CoordinatorRecord) -> Millis:
    """When a record was written, as far as it says so.

    The core tells its log no time, and what a tombstone or a marker was written at shows nowhere.
    """
    match record:
        case OffsetCommitRecord():
            return record.commit_timestamp_ms
        case GroupMetadataRecord():
            return record.current_state_timestamp_ms
        case ConsumerGroupTargetAssignmentMetadataRecord() | StreamsGroupTargetAssignmentMetadataRecord():
            return record.assignment_timestamp_ms
        case ConsumerGroupRegularExpressionRecord():
            return record.timestamp_ms
        case _:
            return Millis(0)


def _is_too_old(known: ProducerState, producer_epoch: ProducerEpoch, transaction_version: int) -> bool:
    """Source: ProducerAppendInfo#checkProducerEpoch (4.3.1)."""
    if transaction_version < _FIRST_STRICT_TRANSACTION_VERSION:
        return producer_epoch < known.producer_epoch
    is_repeated = producer_epoch == known.producer_epoch and (
        not known.has_ongoing_transaction or producer_epoch == _SHORT_MAX
    )
    return producer_epoch <= known.producer_epoch and not is_repeated
