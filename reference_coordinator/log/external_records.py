"""Records that another writer has added to the log, as a release's loader reads them."""

from collections.abc import Sequence

from reference_coordinator.core.ids import Millis
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.log.conversion import to_log_batch
from reference_coordinator.log.record_batch import Record, RecordBatch
from reference_coordinator.profile.profiles import Profile


def external_batch(
    records: Sequence[tuple[bytes, bytes | None]], *, partition: int, base_offset: int, profile: Profile
) -> StoredPartition:
    """Return the batch that keys and values add to a partition.

    Args:
        records: at least one key and value.
        partition: the partition to which they are added.
        base_offset: the offset of the first record.
        profile: the release that will load them.
    """
    stored = RecordBatch(
        base_offset=base_offset,
        last_offset=base_offset + len(records) - 1,
        max_timestamp_ms=Millis(0),
        records=tuple(
            Record(offset=offset, timestamp_ms=Millis(0), key=key, value=value)
            for offset, (key, value) in enumerate(records, base_offset)
        ),
    )
    batch, unreadable = to_log_batch(stored, partition, profile)
    return StoredPartition(batches=(batch,), end_offset=stored.next_offset, unreadable=unreadable)
