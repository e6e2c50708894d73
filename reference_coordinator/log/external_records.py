"""Records that somebody else has put into the log, as a loader of a release will make of them."""

from collections.abc import Sequence

from reference_coordinator.core.ids import Millis
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.log.conversion import to_log_batch
from reference_coordinator.log.record_batch import Record, RecordBatch
from reference_coordinator.profile.profiles import Profile


def external_batch(
    records: Sequence[tuple[bytes, bytes | None]], *, partition: int, base_offset: int, profile: Profile
) -> StoredPartition:
    """Return keys and values as what they add to a partition.

    Args:
        records: at least one.
        partition: where they are put.
        base_offset: where the first of them stands.
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
