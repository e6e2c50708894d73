"""Compaction of topics' logs: choose the logs to compact, and replace their segments.

`log.compaction` decides which records remain; this module handles segments.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.log import codecs
from reference_coordinator.log.compaction import compact
from reference_coordinator.log.record_batch import BadBatchError, RecordBatch, encode_batch
from reference_coordinator.topic_logs.batch import read_batch
from reference_coordinator.topic_logs.log_segments import LogSegment
from reference_coordinator.topic_logs.partition_log import PartitionLog, StoredBatch

_NO_TIMESTAMP = Millis(-1)


@value
class LogToClean:
    """The part of a log that can be compacted. Source: LogCleaner.LogToClean (3.9.2)."""

    until_offset: int
    """The base offset of the first segment that may not be compacted yet."""
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool
    """Whether `max.compaction.lag.ms` has passed."""

    @property
    def cleanable_ratio(self) -> float:
        """The fraction of the bytes that can be compacted; 0 for an empty log."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def log_to_clean(log: PartitionLog, *, now_ms: Millis) -> LogToClean | None:
    """Return the part of a log to compact, or None if it is still too small.

    Source: LogCleanerManager#grabFilthiestCompactedLog, LogCleanerManager#cleanableOffsets,
    LogCleanerManager#maxCompactionDelay (3.9.2).
    """
    settings = log.settings
    first_dirty = max(log.cleaned_until, log.log_start_offset)
    active_offset = log.segments.active.base_offset
    dirty = log.segments.between(first_dirty, active_offset) if first_dirty <= active_offset else []
    lag_ms = settings.min_compaction_lag_ms
    too_young = (
        each.base_offset
        for each in dirty
        if lag_ms > 0 and (each.largest_timestamp_ms or 0) > now_ms - lag_ms
    )
    saved_until = active_offset if log.saved_until is None else log.saved_until
    uncleanable = min(log.last_stable_offset, active_offset, saved_until, *too_young)
    # Kafka compacts a segment in part, up to an open transaction; here it waits for that transaction's end.
    until = max(each.base_offset for each in log.segments if each.base_offset <= uncleanable)
    begun_ms = min((each.first_timestamp_ms for each in dirty if each.first_timestamp_ms > 0), default=None)
    found = LogToClean(
        until_offset=until,
        clean_bytes=_size_bytes(log.segments.before(first_dirty)),
        cleanable_bytes=_size_bytes(log.segments.between(first_dirty, until)),
        needs_compaction_now=begun_ms is not None and begun_ms < now_ms - settings.max_compaction_lag_ms,
    )
    is_due = found.cleanable_ratio > settings.min_cleanable_dirty_ratio
    return found if found.cleanable_bytes and (is_due or found.needs_compaction_now) else None


def clean(log: PartitionLog, to_clean: LogToClean, *, now_ms: Millis) -> None:
    """Compact a log up to an offset; leave it unchanged if a batch cannot be decoded.

    Source: Cleaner#doClean, Cleaner#cleanSegments, UnifiedLog#replaceSegments (4.3.1).
    """
    until = log.cleaned_until = to_clean.until_offset
    stored = log.batches_before(until)
    try:
        batches = [read_batch(each.content) for each in stored]
    except BadBatchError:
        # Kafka marks the partition as uncleanable.
        return
    remaining = compact(batches, now_ms=now_ms, delete_retention_ms=log.settings.delete_retention_ms)
    epochs = {each.base_offset: each.leader_epoch for each in stored}
    cleaned = [_stored(each, epochs[each.base_offset]) for each in _with_last_offset(remaining, batches[-1:])]
    groups = list(_grouped(log, until))
    ends = [*(group[0].base_offset for group in groups[1:]), until]
    segments = [_cleaned(group, end, cleaned) for group, end in zip(groups, ends, strict=True)]
    log.replace_before(until, cleaned)
    log.segments.replace(until, segments)


def _size_bytes(segments: Iterable[LogSegment]) -> int:
    return sum(each.size_bytes for each in segments)


def _with_last_offset(remaining: Iterable[RecordBatch], last: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Keep the last batch, even without records, so that readers get beyond its offsets.

    Source: Cleaner#cleanInto, DefaultRecordBatch#writeEmptyHeader (4.3.1).
    """
    kept = None
    for kept in remaining:
        yield kept
    for batch in last:
        if kept is None or kept.base_offset != batch.base_offset:
            yield replace(batch, records=(), codec=codecs.NONE)


def _stored(batch: RecordBatch, leader_epoch: int) -> StoredBatch:
    """Return a batch as stored; its largest timestamp decreases if the newest record was removed.

    Source: MemoryRecords#filterTo (4.3.1).
    """
    newest_ms = max((each.timestamp_ms for each in batch.records), default=_NO_TIMESTAMP)
    if batch.records and not batch.is_log_append_time and newest_ms != batch.max_timestamp_ms:
        batch = replace(batch, max_timestamp_ms=newest_ms)
    return StoredBatch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        max_timestamp_ms=batch.max_timestamp_ms if batch.records else _NO_TIMESTAMP,
        leader_epoch=leader_epoch,
        content=encode_batch(batch),
    )


def _grouped(log: PartitionLog, until: int) -> Iterator[list[LogSegment]]:
    """Group adjacent segments whose total size does not exceed the maximum size of one segment.

    Source: Cleaner#groupSegmentsBySize (4.3.1).
    """
    group: list[LogSegment] = []
    for segment in log.segments.before(until):
        size_bytes = _size_bytes(group) + segment.size_bytes
        if group and size_bytes > log.settings.segment_bytes:
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def _cleaned(group: list[LogSegment], end: int, cleaned: Iterable[StoredBatch]) -> LogSegment:
    """Return the segment that replaces a group.

    Source: Cleaner#cleanSegments (4.3.1).
    """
    inside = [each for each in cleaned if group[0].base_offset <= each.base_offset < end]
    return LogSegment(
        base_offset=group[0].base_offset,
        created_ms=group[0].created_ms,
        last_modified_ms=group[-1].last_modified_ms,
        size_bytes=sum(len(each.content) for each in inside),
        first_timestamp_ms=inside[0].max_timestamp_ms if inside else _NO_TIMESTAMP,
        max_timestamp_ms=max((each.max_timestamp_ms for each in inside), default=_NO_TIMESTAMP),
    )
