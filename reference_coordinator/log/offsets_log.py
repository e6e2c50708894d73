"""The log of the coordinator: records by partition, and the state of their producers.

Records are kept as objects, and are encoded only for a store. The state includes producers of other topics,
because end markers may be written there.
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
"""A partition is first compacted when it reaches either bound; later, at twice what compaction left."""
_PartitionOfProducer = tuple[str, int, ProducerId]


@dataclass(slots=True, kw_only=True)
class ProducerState:
    """The state of one producer in one partition. Source: ProducerStateEntry (4.3.1)."""

    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NO_COORDINATOR_EPOCH
    has_ongoing_transaction: bool = False


@value
class MarkerHeader:
    """The fields of an end marker that are not part of `EndTransactionMarker`."""

    coordinator_epoch: int = 0
    transaction_version: int = 0


@dataclass(slots=True)
class _PartitionLog:
    batches: list[LogBatch]
    end_offset: int
    timestamp_ms: Millis
    """The latest timestamp of a record; records without one get it, too."""
    unreadable: UnreadableRecord | None
    external_count: int = 0
    amount: Amount = _NOTHING
    compacted_from: Amount = _COMPACTED_FROM
    """The next compaction starts when the log reaches either bound."""
    compactions: int = 0
    measured: int = 0
    """The number of batches counted in `measured_bytes`."""
    measured_bytes: int = 0

    def add(self, batches: Iterable[LogBatch], *, keeps_emptied: bool) -> None:
        """Add batches; compact the log once up to half of it may have been overwritten.

        Kafka compacts full segments of which half was overwritten. No reader relies on overwritten records.
        """
        added = tuple(batches)
        self.batches.extend(added)
        self.amount += amount_of(added)
        if self.amount.reaches(self.compacted_from):
            self.batches = compacted(self.batches, keeps_emptied=keeps_emptied)
            self.amount = amount_of(self.batches)
            self.compacted_from = _COMPACTED_FROM.or_more(self.amount + self.amount)
            self.compactions += 1
            self.measured = self.measured_bytes = 0

    def size_bytes(self, size_of: Callable[[LogBatch], int]) -> int:
        """Return the total size; measure only the batches since the last call or compaction."""
        self.measured_bytes += sum(map(size_of, islice(self.batches, self.measured, None)))
        self.measured = len(self.batches)
        return self.measured_bytes


class OffsetsLog:
    """Source: UnifiedLog, ProducerStateManager (4.3.1)."""

    def __init__(self, store: RecordStore | None = None) -> None:
        """Create the log from a store, or empty and without a store."""
        self._store = store
        self.keeps_emptied_groups = True
        """Whether loaders know a simple group that lost its last offset. Set before anything is written."""
        self._partitions: dict[int, _PartitionLog] = {}
        self._producers: dict[_PartitionOfProducer, ProducerState] = {}
        for partition, stored in sorted(store.load().items()) if store else ():
            self._restore(partition, stored)

    @property
    def records(self) -> list[CoordinatorRecord]:
        """All readable records, by partition, oldest first; overwritten ones may be missing."""
        found = (self._partitions[partition] for partition in self.partitions())
        readable = (each for each in found if each.unreadable is None or each.external_count)
        return [record for each in readable for batch in each.batches for record in batch.records]

    def append(self, append: AppendRecords) -> Errors:
        """Append records, unless their producer's epoch is older than the newest one so far.

        On NONE they are in the store, if there is one. On KAFKA_STORAGE_ERROR that is unknown.

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
        """Append records of another writer, without notifying the coordinator of the partition.

        Source: ReplicaManager#appendRecords (4.3.1).
        """
        assert self._store is None, "a store has what a coordinator writes, and nothing else"
        found = self._partition(partition)
        found.add(added.batches, keeps_emptied=self.keeps_emptied_groups)
        found.end_offset = added.end_offset
        found.unreadable = found.unreadable or added.unreadable
        found.external_count += 1

    def external_count(self, partition: int) -> int:
        """Return how often another writer has written to a partition."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.external_count

    def append_marker(self, topic: str, marker: EndTransactionMarker, header: MarkerHeader) -> Errors:
        """Append the end marker of a transaction.

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
        """Return the records of a partition that a loader replays, including markers, oldest first.

        Raises:
            UnreadableLogError: the profile's loader fails on a record. It is raised by this call, not
                during the iteration; `Lifecycle.fail` handles the consequence.
        """
        return (record for _, record in self.read_with_offsets(partition))

    def read_with_offsets(self, partition: int) -> Iterator[tuple[int, CoordinatorRecord]]:
        """Read records with their offsets; offsets have gaps where records were compacted.

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
        """Return the batches of a partition, for a writer that copies them."""
        found = self._partitions.get(partition)
        return () if found is None else tuple(found.batches)

    def size_bytes(self, partition: int, size_of: Callable[[LogBatch], int]) -> int:
        """Return the size of a partition; `size_of` must always return the same size for a batch."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.size_bytes(size_of)

    def compactions(self, partition: int) -> int:
        """Return how often a partition was compacted."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.compactions

    def end_offset(self, partition: int) -> int:
        """Return the offset of a partition's next record. Source: UnifiedLog#logEndOffset (4.3.1)."""
        found = self._partitions.get(partition)
        return 0 if found is None else found.end_offset

    def partitions(self) -> tuple[int, ...]:
        """Return the partitions to which anything was ever appended."""
        return tuple(sorted(self._partitions))

    def unreadable(self) -> tuple[UnreadableRecord, ...]:
        """Return the records that loaders fail on, at most one of each partition."""
        found = (self._partitions[partition].unreadable for partition in self.partitions())
        return tuple(each for each in found if each is not None)

    def delete(self) -> None:
        """Delete everything, because the topic `__consumer_offsets` was deleted."""
        if self._store is not None:
            with suppress(StoreError):  # after the error, the store accepts nothing more
                self._store.delete()
        self._partitions.clear()
        for known in [each for each in self._producers if each[0] == OFFSETS_TOPIC]:
            del self._producers[known]

    def has_ongoing_transaction(
        self, partition: int, producer_id: ProducerId, producer_epoch: ProducerEpoch | None
    ) -> bool:
        """Return whether a producer, with the epoch if given, has an open transaction in a partition.

        Source: UnifiedLog#hasOngoingTransaction (4.3.1).
        """
        known = self._producers.get((OFFSETS_TOPIC, partition, producer_id))
        return (
            known is not None
            and known.has_ongoing_transaction
            and producer_epoch in {None, known.producer_epoch}
        )

    def producer_epoch(self, partition: int, producer_id: ProducerId) -> ProducerEpoch:
        """Return the last epoch that a producer had in a partition; -1 for none."""
        return self._producers.get((OFFSETS_TOPIC, partition, producer_id), ProducerState()).producer_epoch

    def largest_producer_id(self) -> int:
        """Return the largest producer id in any partition; -1 for none. New ids are assigned after it."""
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
        found.add((batch,), keeps_emptied=self.keeps_emptied_groups)
        found.end_offset += len(records)
        found.timestamp_ms = batch.timestamp_ms
        return Errors.NONE

    def _partition(self, partition: int) -> _PartitionLog:
        return self._partitions.setdefault(partition, _PartitionLog([], 0, Millis(0), None))

    def _restore(self, partition: int, stored: StoredPartition) -> None:
        """Source: ProducerStateManager#update (4.3.1)."""
        timestamp_ms = max((batch.timestamp_ms for batch in stored.batches), default=Millis(0))
        found = _PartitionLog([], stored.end_offset, timestamp_ms, stored.unreadable)
        found.add(stored.batches, keeps_emptied=self.keeps_emptied_groups)
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
    """Return the time at which a record was written; 0 if it does not contain one.

    The core passes no time to its log, and the write time of a tombstone or a marker is not visible anywhere.
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
