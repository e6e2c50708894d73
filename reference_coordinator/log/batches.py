"""What the log is made of, whether it has bytes or not: one append is one batch of a partition."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from reference_coordinator.core.effects import Producer
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value, whole_value


@whole_value
class LogBatch:
    """Records that were appended together: some of a coordinator's, or the end of a transaction."""

    base_offset: int
    timestamp_ms: Millis
    records: tuple[CoordinatorRecord, ...]
    """Those that the profile's coordinator knows."""
    producer: Producer | None = None
    """Set where the batch is part of a transaction, or ends one."""
    coordinator_epoch: int | None = None
    """Of the transaction coordinator that ends one; None for records."""
    offsets: tuple[int, ...] | None = None
    """Of each record; None where they follow one another, as they are appended."""

    @property
    def is_marker(self) -> bool:
        """Whether it ends a transaction."""
        return self.coordinator_epoch is not None

    def with_offsets(self) -> Iterator[tuple[int, CoordinatorRecord]]:
        """Each record with its offset."""
        if self.offsets is None:
            return enumerate(self.records, self.base_offset)
        return zip(self.offsets, self.records, strict=True)


class UnreadableLogError(Exception):
    """A loader fails on a partition; the message says on which record, why, and what comes of it."""


@value
class UnreadableRecord:
    """The first record of a partition that a loader of the profile fails on."""

    partition: int
    offset: int
    reason: str
    fails_partition: bool
    """Or else the partition is owned as if it were empty."""

    def __str__(self) -> str:
        """Name the record and what comes of it."""
        outcome = (
            "the partition fails to load, and its groups are answered NOT_COORDINATOR"
            if self.fails_partition
            else "nothing of the partition is loaded, and it is owned as if it were empty"
        )
        return f"record {self.offset} of partition {self.partition} cannot be read: {self.reason}; {outcome}"


@value
class StoredPartition:
    """A partition as it was found in a store."""

    batches: tuple[LogBatch, ...]
    end_offset: int
    unreadable: UnreadableRecord | None = None


class StoreError(Exception):
    """A batch could not be stored, or nobody knows whether it was; nothing more is taken."""


class StoreFullError(StoreError):
    """There is no room; what is there is as it was, and the next write may find some."""


class UnwritableBatchError(Exception):
    """A batch cannot be written in Kafka's format; the store is as it was."""


class RecordStore(Protocol):
    """Where batches outlive the process."""

    def load(self) -> Mapping[int, StoredPartition]:
        """Return what was stored before, by partition."""

    def append(self, partition: int, batch: LogBatch) -> None:
        """Store a batch; it is there for good when this returns.

        Raises:
            StoreError: it may not be.
            UnwritableBatchError: it is not.
        """

    def delete(self) -> None:
        """Forget all partitions.

        Raises:
            StoreError: some may be left.
        """
