"""The log of one partition: batches by offset, open transactions and aborted transactions."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.core.values import value
from reference_coordinator.log.record_batch import RecordBatch, encode_batch
from reference_coordinator.topic_logs.batch import (
    BatchHeader,
    marker_batch,
    marker_of,
    place_of,
    stamped,
    timestamps,
    validate_batch,
)
from reference_coordinator.topic_logs.log_segments import LogSegment, LogSegments
from reference_coordinator.topic_logs.producers import ProducerStateEntry
from reference_coordinator.topic_logs.settings import LogSettings

NO_OFFSET = -1
NO_EPOCH = -1


@value
class StoredBatch:
    """A batch with its position in the log."""

    base_offset: int
    last_offset: int
    max_timestamp_ms: Millis
    leader_epoch: int
    content: bytes


@value
class Appended:
    """The position of a batch in the log."""

    base_offset: int
    timestamp_ms: Millis | None = None
    """The timestamp of the earlier batch, if this one is a duplicate."""


@value
class AbortedTransaction:
    """An aborted transaction, whose records are ignored. Source: AbortedTxn (4.3.1)."""

    producer_id: ProducerId
    first_offset: int
    last_offset: int
    """The offset of its marker."""
    last_stable_offset: int
    """A reader that stops at or before this offset is not affected by later aborted transactions."""


@value
class FetchedRecords:
    """The result of reading a log."""

    contents: tuple[bytes, ...]
    """Whole batches, in order."""
    size_bytes: int
    aborted_transactions: tuple[AbortedTransaction, ...]
    is_older_segment: bool = False
    """Whether there are more records to read in a later segment."""


@value
class OffsetOfTimestamp:
    """The offset found for a timestamp; -1 if there is none."""

    offset: int = NO_OFFSET
    timestamp_ms: Millis = Millis(-1)
    leader_epoch: int = -1


class PartitionLog:
    """Source: UnifiedLog (4.3.1). It has one replica, so every write is committed at once."""

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.log_end_offset = 0
        """The offset of the next record, which is also the high watermark."""
        self.compactions = 0
        """How often the coordinator's log, if it is one, had been compacted when this log was created."""
        self.settings = LogSettings()
        """The retention and compaction settings of the topic."""
        self.segments = LogSegments()
        self.cleaned_until = 0
        """The offset up to which it was compacted. Source: LogCleanerManager#cleanableOffsets (4.3.1)."""
        self.saved_until: int | None = None
        """The offset up to which batches are on disk; later ones must stay in memory. None without a disk."""
        self._batches: list[StoredBatch] = []
        self._last_offsets: list[int] = []
        self._producers: dict[ProducerId, ProducerStateEntry] = {}
        self._ongoing: dict[ProducerId, int] = {}
        """The first offsets of open transactions, in ascending order."""
        self._aborted: list[AbortedTransaction] = []
        self._marker_offsets: list[int] = []

    @property
    def last_stable_offset(self) -> int:
        """Where the first open transaction, if any, begins. Source: UnifiedLog#lastStableOffset (4.3.1)."""
        return next(iter(self._ongoing.values()), self.log_end_offset)

    def append_as_leader(
        self, records: bytes, header: BatchHeader, *, leader_epoch: int, now_ms: Millis | None = None
    ) -> Appended:
        """Append a producer's batch, unless it is a duplicate.

        Raises:
            CoordinatorError: with the error that the producer gets.

        Source: UnifiedLog#append (4.3.1).
        """
        if (error := validate_batch(header)) is not Errors.NONE:
            raise CoordinatorError(error)
        delta, timestamp_ms = header.last_offset_delta, header.max_timestamp_ms
        if not header.has_producer_id:
            return Appended(base_offset=self._append(records, delta, timestamp_ms, leader_epoch, now_ms))
        producer = self._producers.get(header.producer_id, ProducerStateEntry())
        duplicate = producer.find_duplicate_batch(header)
        if duplicate is not None:
            return Appended(base_offset=duplicate.first_offset, timestamp_ms=duplicate.timestamp_ms)
        producer.validate_data_batch(header)
        base_offset = self._append(records, delta, timestamp_ms, leader_epoch, now_ms)
        producer.data_appended(header, base_offset)
        self._producers[header.producer_id] = producer
        if header.is_transactional:
            self._ongoing.setdefault(header.producer_id, base_offset)
        return Appended(base_offset=base_offset)

    def append_end_txn_marker(
        self,
        marker: EndTransactionMarker,
        *,
        coordinator_epoch: int,
        transaction_version: int,
        leader_epoch: int,
        now_ms: Millis,
    ) -> Errors:
        """Append the end marker of a transaction, whether or not the transaction wrote to this log.

        Source: ProducerAppendInfo#appendEndTxnMarker, ProducerStateManager#completeTxn (4.3.1).
        """
        producer = self._producers.get(marker.producer_id, ProducerStateEntry())
        error = producer.validate_marker(marker.producer_epoch, coordinator_epoch, transaction_version)
        if error is not Errors.NONE:
            return error
        content = marker_batch(
            marker.producer_id,
            marker.producer_epoch,
            is_commit=marker.is_commit,
            coordinator_epoch=coordinator_epoch,
            now_ms=now_ms,
        )
        offset = self._append(content, 0, now_ms, leader_epoch, now_ms)
        producer.marker_appended(marker.producer_epoch, coordinator_epoch)
        self._producers[marker.producer_id] = producer
        self._complete(marker.producer_id, offset, is_commit=marker.is_commit)
        return Errors.NONE

    def append_as_follower(self, batch: RecordBatch, *, is_commit: bool | None) -> None:
        """Append a batch of a coordinator's log at its offset there; it may be an end marker.

        Source: UnifiedLog#appendAsFollower (4.3.1).
        """
        self.log_end_offset = batch.base_offset
        delta = batch.last_offset - batch.base_offset
        self._append(encode_batch(batch), delta, batch.max_timestamp_ms, batch.partition_leader_epoch)
        if is_commit is not None:
            self._complete(batch.producer_id, batch.last_offset, is_commit=is_commit)
        elif batch.is_transactional:
            self._ongoing.setdefault(batch.producer_id, batch.base_offset)

    def restore(self, records: bytes, header: BatchHeader) -> None:
        """Restore a batch that was written to this log earlier, and the producer state from it.

        Source: LogSegment#recover, ProducerStateManager#update (4.3.1).
        """
        self.log_end_offset, leader_epoch = place_of(records)
        offset = self._append(records, header.last_offset_delta, header.max_timestamp_ms, leader_epoch)
        if not header.has_producer_id:
            return
        producer = self._producers.setdefault(header.producer_id, ProducerStateEntry())
        if header.is_control:
            is_commit, coordinator_epoch = marker_of(records)
            producer.marker_appended(header.producer_epoch, coordinator_epoch)
            self._complete(header.producer_id, offset, is_commit=is_commit)
            return
        producer.data_appended(header, offset)
        if header.is_transactional:
            self._ongoing.setdefault(header.producer_id, offset)

    def largest_producer_id(self) -> int:
        """Return the largest producer id in the log's producer state; -1 for none."""
        return max(self._producers, default=-1)

    def has_ongoing_transaction(self, producer_id: ProducerId, producer_epoch: ProducerEpoch) -> bool:
        """Return whether a producer has an open transaction in this log.

        Source: UnifiedLog#hasOngoingTransaction (4.3.1).
        """
        return producer_id in self._ongoing and self.producer_epoch(producer_id) == producer_epoch

    def producer_epoch(self, producer_id: ProducerId) -> ProducerEpoch:
        """Return the last epoch that a producer had in this log; -1 for none."""
        return self._producers.get(producer_id, ProducerStateEntry()).producer_epoch

    def read(
        self, fetch_offset: int, max_bytes: int, *, is_committed: bool, takes_one_anyway: bool
    ) -> FetchedRecords:
        """Read whole batches of one segment, beginning with the batch that contains an offset.

        Args:
            fetch_offset: where to begin; not beyond the end of the log.
            max_bytes: the maximum size of the batches read.
            is_committed: whether to stop at the last stable offset, and to return aborted transactions.
            takes_one_anyway: whether the first batch is read even if it exceeds the maximum size.

        Source: UnifiedLog#read, LocalLog#read, #addAbortedTransactions (4.3.1).
        """
        end = self.last_stable_offset if is_committed else self.log_end_offset
        contents: list[bytes] = []
        size_bytes, upper_bound = 0, fetch_offset
        segment_end = end
        for batch in self.batches_from(fetch_offset):
            size_bytes += len(batch.content)
            is_too_large = size_bytes > max_bytes and not (takes_one_anyway and not contents)
            if not contents:
                segment_end = min(end, self.segments.end_of(batch.base_offset, end))
            if batch.base_offset >= segment_end or is_too_large:
                size_bytes -= len(batch.content)
                break
            contents.append(batch.content)
            upper_bound = batch.last_offset + 1
        aborted = self._collect_aborted_transactions(fetch_offset, upper_bound) if is_committed else ()
        return FetchedRecords(
            contents=tuple(contents),
            size_bytes=size_bytes,
            aborted_transactions=aborted,
            is_older_segment=segment_end < end,
        )

    def offset_by_timestamp(self, timestamp_ms: Millis, *, is_committed: bool) -> OffsetOfTimestamp:
        """Find the first record not older than a time. Source: UnifiedLog#fetchOffsetByTimestamp (4.3.1)."""
        end = self.last_stable_offset if is_committed else self.log_end_offset
        for batch in self._batches:
            if batch.max_timestamp_ms >= timestamp_ms and batch.last_offset >= self.log_start_offset:
                found = _first_not_before(batch, timestamp_ms, self.log_start_offset)
                return found if found.offset < end else OffsetOfTimestamp()
        return OffsetOfTimestamp()

    def offset_of_max_timestamp(self) -> OffsetOfTimestamp:
        """Find the record with the largest timestamp; the first one if there are several.

        Source: UnifiedLog#fetchOffsetByTimestamp (4.3.1).
        """
        youngest = max(self._batches, key=lambda each: each.max_timestamp_ms, default=None)
        return (
            OffsetOfTimestamp()
            if youngest is None
            else _first_not_before(youngest, youngest.max_timestamp_ms, self.log_start_offset)
        )

    def end_offset_for_epoch(self, leader_epoch: int, *, current_epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to a given one, and its end offset; -1 for both if there is none.

        Source: LeaderEpochFileCache#endOffsetFor, UnifiedLog#endOffsetForEpoch (4.3.1).
        """
        if leader_epoch == current_epoch:
            return leader_epoch, self.log_end_offset
        if leader_epoch == NO_EPOCH:
            return NO_EPOCH, NO_OFFSET
        at = bisect_right(self._batches, leader_epoch, key=lambda batch: batch.leader_epoch)
        if leader_epoch > current_epoch or not self._batches:
            return NO_EPOCH, NO_OFFSET
        if at == 0:
            return leader_epoch, self.log_start_offset
        end = self._batches[at].base_offset if at < len(self._batches) else self.log_end_offset
        return self._batches[at - 1].leader_epoch, end

    def earliest_epoch(self, *, current_epoch: int) -> int:
        """Return the epoch of the first batch. Source: LeaderEpochFileCache#earliestEntry (4.3.1)."""
        return self._batches[0].leader_epoch if self._batches else current_epoch

    def delete_records(self, offset: int) -> None:
        """Delete the records before an offset, which is not beyond the log's end.

        Source: UnifiedLog#maybeIncrementLogStartOffset (4.3.1).
        """
        self.log_start_offset = max(self.log_start_offset, offset)
        self.trim()

    def delete_segments(
        self, is_deletable: Callable[[LogSegment, LogSegment | None], bool], *, now_ms: Millis
    ) -> None:
        """Delete segments from the oldest on; see `LogSegments.delete_while`."""
        begins = self.segments.delete_while(is_deletable, self.log_end_offset, now_ms)
        self.delete_records(begins)

    def trim(self) -> None:
        """Drop the batches before the start offset, except those that have to be written to disk first."""
        until = self.log_start_offset if self.saved_until is None else self._least_saved()
        gone = bisect_left(self._last_offsets, until)
        del self._batches[:gone], self._last_offsets[:gone]
        gone = bisect_left(self._marker_offsets, until)
        del self._aborted[:gone], self._marker_offsets[:gone]

    def batches_before(self, offset: int) -> Sequence[StoredBatch]:
        """Return the batches that end before an offset."""
        return self._batches[: bisect_left(self._last_offsets, offset)]

    def replace_before(self, offset: int, cleaned: Sequence[StoredBatch]) -> None:
        """Replace the batches that end before an offset by those left after compaction."""
        count = bisect_left(self._last_offsets, offset)
        self._batches[:count] = cleaned
        self._last_offsets[:count] = (each.last_offset for each in cleaned)

    def _complete(self, producer_id: ProducerId, marker_offset: int, *, is_commit: bool) -> None:
        """Source: ProducerStateManager#completeTxn, TransactionIndex#append (4.3.1)."""
        first_offset = self._ongoing.pop(producer_id, None)
        if first_offset is not None and not is_commit:
            self._marker_offsets.append(marker_offset)
            self._aborted.append(
                AbortedTransaction(
                    producer_id=producer_id,
                    first_offset=first_offset,
                    last_offset=marker_offset,
                    last_stable_offset=self.last_stable_offset,
                )
            )

    def _least_saved(self) -> int:
        return min(self.log_start_offset, self.saved_until or 0)

    def batches_from(self, offset: int) -> Iterator[StoredBatch]:
        """Return the batches from the one on that has an offset."""
        for at in range(bisect_left(self._last_offsets, offset), len(self._batches)):
            yield self._batches[at]

    def _append(
        self,
        content: bytes,
        last_delta: int,
        max_timestamp_ms: Millis,
        leader_epoch: int,
        now_ms: Millis | None = None,
    ) -> int:
        """Append a batch, in a new segment if the active one is full or old; a restored batch has no time.

        Source: UnifiedLog#append, UnifiedLog#maybeRoll (4.3.1).
        """
        base_offset = self.log_end_offset
        size, last_offset, at_ms = len(content), base_offset + last_delta, now_ms or Millis(0)
        if self.segments.active.should_roll(self.settings, size, max_timestamp_ms, last_offset, at_ms):
            self.segments.roll(base_offset, now_ms=at_ms)
        self.segments.active.appended(size, max_timestamp_ms, now_ms)
        self._batches.append(
            StoredBatch(
                base_offset=base_offset,
                last_offset=last_offset,
                max_timestamp_ms=max_timestamp_ms,
                leader_epoch=leader_epoch,
                content=stamped(content, base_offset=base_offset, leader_epoch=leader_epoch),
            )
        )
        self._last_offsets.append(last_offset)
        self.log_end_offset = last_offset + 1
        return base_offset

    def _collect_aborted_transactions(
        self, start_offset: int, upper_bound_offset: int
    ) -> tuple[AbortedTransaction, ...]:
        """Source: TransactionIndex#collectAbortedTxns (4.3.1)."""
        found: list[AbortedTransaction] = []
        for at in range(bisect_left(self._marker_offsets, start_offset), len(self._aborted)):
            transaction = self._aborted[at]
            if transaction.first_offset < upper_bound_offset:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound_offset:
                break
        return tuple(found)


def _first_not_before(batch: StoredBatch, timestamp_ms: Millis, start_offset: int) -> OffsetOfTimestamp:
    """Source: LogSegment#findOffsetByTimestamp (4.3.1)."""
    at = next(
        (
            (offset, each)
            for offset, each in timestamps(batch.content)
            if each >= timestamp_ms and offset >= start_offset
        ),
        (max(batch.base_offset, start_offset), batch.max_timestamp_ms),
    )
    return OffsetOfTimestamp(offset=at[0], timestamp_ms=at[1], leader_epoch=batch.leader_epoch)
