"""Retention: delete the segments of a log that are too old or exceed its maximum size."""

from reference_coordinator.core.ids import Millis
from reference_coordinator.topic_logs.log_segments import LogSegment
from reference_coordinator.topic_logs.partition_log import PartitionLog


def delete_old_segments(log: PartitionLog, *, now_ms: Millis) -> bool:
    """Delete the segments of a log that its settings do not retain; return whether its start moved.

    Source: UnifiedLog#deleteOldSegments (4.3.1).
    """
    start_offset = log.log_start_offset
    _delete_log_start_offset_breached_segments(log, now_ms)
    if log.settings.is_deleted:
        _delete_retention_size_breached_segments(log, now_ms)
        _delete_retention_ms_breached_segments(log, now_ms)
    return log.log_start_offset != start_offset


def _delete_log_start_offset_breached_segments(log: PartitionLog, now_ms: Millis) -> None:
    """Source: UnifiedLog#deleteLogStartOffsetBreachedSegments (4.3.1)."""

    def is_deletable(_: LogSegment, following: LogSegment | None) -> bool:
        return following is not None and following.base_offset <= log.log_start_offset

    log.delete_segments(is_deletable, now_ms=now_ms)


def _delete_retention_size_breached_segments(log: PartitionLog, now_ms: Millis) -> None:
    """Source: UnifiedLog#deleteRetentionSizeBreachedSegments (4.3.1)."""
    retention_bytes = log.settings.retention_bytes
    if retention_bytes < 0:
        return
    too_many = log.segments.size_bytes - retention_bytes

    def is_deletable(segment: LogSegment, _: LogSegment | None) -> bool:
        nonlocal too_many
        is_too_much = too_many >= segment.size_bytes
        too_many -= segment.size_bytes if is_too_much else 0
        return is_too_much

    log.delete_segments(is_deletable, now_ms=now_ms)


def _delete_retention_ms_breached_segments(log: PartitionLog, now_ms: Millis) -> None:
    """Source: UnifiedLog#deleteRetentionMsBreachedSegments (4.3.1)."""
    retention_ms = log.settings.retention_ms
    if retention_ms < 0:
        return

    def is_deletable(segment: LogSegment, _: LogSegment | None) -> bool:
        written_ms = segment.largest_timestamp_ms
        return written_ms is not None and now_ms - written_ms > retention_ms

    log.delete_segments(is_deletable, now_ms=now_ms)
