"""The batches of the log, independent of bytes: one append is one batch of a partition."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from reference_coordinator.core.effects import Producer
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value, whole_value


@whole_value
class LogBatch:
    """Records that were appended together: those of a coordinator, or the end marker of a transaction."""

    base_offset: int
    timestamp_ms: Millis
    records: tuple[CoordinatorRecord, ...]
    """The records of the types that the profile's coordinator supports."""
    producer: Producer | None = None
    """Set if the batch is part of a transaction, or ends one."""
    coordinator_epoch: int | None = None
    """The epoch of the transaction coordinator, for an end marker; None for records."""
    offsets: tuple[int, ...] | None = None
    """The offset of each record; None if they are consecutive, as they are when appended."""

    @property
    def is_marker(self) -> bool:
        """Whether it is the end marker of a transaction."""
        return self.coordinator_epoch is not None

    def with_offsets(self) -> Iterator[tuple[int, CoordinatorRecord]]:
        """Return each record with its offset."""
        if self.offsets is None:
            return enumerate(self.records, self.base_offset)
        return zip(self.offsets, self.records, strict=True)


class UnreadableLogError(Exception):
    """A loader fails on a partition. The message contains the record, the reason and the consequence."""


@value
class UnreadableRecord:
    """The first record of a partition that a loader of the profile fails on."""

    partition: int
    offset: int
    reason: str
    fails_partition: bool
    """If not, the partition is owned as if it were empty."""

    def __str__(self) -> str:
        """Describe the record, the reason and the consequence."""
        outcome = (
            "the partition fails to load, and its groups are answered NOT_COORDINATOR"
            if self.fails_partition
            else "nothing of the partition is loaded, and it is owned as if it were empty"
        )
        return f"record {self.offset} of partition {self.partition} cannot be read: {self.reason}; {outcome}"


@value
class StoredPartition:
    """A partition as loaded from a store."""

    batches: tuple[LogBatch, ...]
    end_offset: int
    unreadable: UnreadableRecord | None = None


class StoreError(Exception):
    """A batch was not stored, or it is unknown whether it was; the store accepts nothing more."""


class StoreFullError(StoreError):
    """The disk is full; the stored data is unchanged, and a later write may succeed."""


class UnwritableBatchError(Exception):
    """A batch cannot be written in Kafka's format; the store is unchanged."""


class RecordStore(Protocol):
    """A store in which batches outlive the process."""

    def load(self) -> Mapping[int, StoredPartition]:
        """Return the partitions that were stored before, by number."""

    def append(self, partition: int, batch: LogBatch) -> None:
        """Store a batch durably before returning.

        Raises:
            StoreError: it may not be stored.
            UnwritableBatchError: it is not stored.
        """

    def delete(self) -> None:
        """Delete all partitions.

        Raises:
            StoreError: some may be left.
        """
