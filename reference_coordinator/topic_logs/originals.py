"""The records of a log that become dead letters, as far as they are copied."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.log.record_batch import BadBatchError, Record, RecordBatch, record_size
from reference_coordinator.topic_logs.batch import read_batch
from reference_coordinator.topic_logs.partition_log import PartitionLog

_READ_BYTES: Final = 1 << 20
"""Source: ShareGroupDLQStateManager.DLQ_MAX_FETCH_BYTES (4.4.0)."""


class Originals:
    """The records of a range that fit into one batch of dead letters.

    Source: ShareGroupDLQRecordFetcher (4.4.0).
    """

    def __init__(self, first_offset: int, last_offset: int, max_bytes: int) -> None:
        self.records: dict[int, Record] = {}
        """The copies by offset; without those that are too large by themselves."""
        self.last_resolved = last_offset
        """The last offset of the round; records after it may fit into the next batch."""
        self._next = first_offset
        self._last = last_offset
        self._most = max_bytes
        self._size = 0
        self._is_full = False

    def read(self, log: PartitionLog | Errors) -> None:
        """Read the records. Those that cannot be read are left out.

        Source: ShareGroupDLQRecordFetcher#runFrom (4.4.0).
        """
        if isinstance(log, Errors) or self._next < log.log_start_offset:
            return
        while self._next <= self._last and not self._is_full:
            begun_at = self._next
            found = log.read(begun_at, _READ_BYTES, is_committed=False, takes_one_anyway=True)
            for content in found.contents:
                try:
                    self._collect(read_batch(content))
                except BadBatchError:
                    return
            if self._next == begun_at and not self._is_full:
                return
        self.last_resolved = self._next - 1

    def _collect(self, batch: RecordBatch) -> None:
        """Source: ShareGroupDLQRecordFetcher#collectFromBatch, #collectUncompressed (4.4.0)."""
        base_timestamp = batch.records[0].timestamp_ms if batch.records else 0
        sizes = [
            record_size(each, base_offset=batch.base_offset, base_timestamp=base_timestamp)
            for each in batch.records
        ]
        is_too_large = bool(batch.codec) and sum(sizes) > self._most
        for record, size in zip(batch.records, sizes, strict=True):
            if self._is_full or not self._next <= record.offset <= self._last:
                continue
            if not is_too_large and size <= self._most:
                if self._size + size > self._most:
                    self._is_full = True
                    return
                self.records[record.offset] = record
                self._size += size
            self._next = record.offset + 1
        self._is_full = self._is_full or self._size >= self._most
