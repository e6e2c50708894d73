"""The segments of a log: when to roll a new one, and which old ones may be deleted.

`PartitionLog` stores the batches; a segment has only its base offset, size and age.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reference_coordinator.core.ids import Millis
from reference_coordinator.topic_logs.settings import LogSettings

_NO_TIMESTAMP: Final = Millis(-1)
_OFFSET_SPAN_MAX: Final = 2**31 - 1


@dataclass(slots=True, kw_only=True)
class LogSegment:
    """One segment. Source: LogSegment (4.3.1)."""

    base_offset: int
    created_ms: Millis
    last_modified_ms: Millis | None = None
    """The time of the last write; None if that was before this process began."""
    size_bytes: int = 0
    first_timestamp_ms: Millis = _NO_TIMESTAMP
    """The largest timestamp of its first batch."""
    max_timestamp_ms: Millis = _NO_TIMESTAMP

    @property
    def largest_timestamp_ms(self) -> Millis | None:
        """The timestamp that its age counts from: the largest of its records, or else its last write.

        Source: LogSegment#largestTimestamp (4.3.1).
        """
        return self.max_timestamp_ms if self.max_timestamp_ms >= 0 else self.last_modified_ms

    def should_roll(
        self, settings: LogSettings, size_bytes: int, timestamp_ms: Millis, last_offset: int, now_ms: Millis
    ) -> bool:
        """Return whether a batch begins a new segment. Indexes never fill up here.

        Source: LogSegment#shouldRoll, LogSegment#timeWaitedForRoll (4.3.1).
        """
        if self.first_timestamp_ms >= 0:
            waited_ms = timestamp_ms - self.first_timestamp_ms
        else:
            waited_ms = now_ms - self.created_ms
        return (
            self.size_bytes > settings.segment_bytes - size_bytes
            or (self.size_bytes > 0 and waited_ms > settings.segment_ms)
            or last_offset - self.base_offset > _OFFSET_SPAN_MAX
        )

    def appended(self, size_bytes: int, timestamp_ms: Millis, now_ms: Millis | None) -> None:
        """Account for an appended batch. Source: LogSegment#append (4.3.1)."""
        if not self.size_bytes:
            self.first_timestamp_ms = timestamp_ms
        self.size_bytes += size_bytes
        self.max_timestamp_ms = max(self.max_timestamp_ms, timestamp_ms)
        self.last_modified_ms = now_ms


class LogSegments:
    """The segments of one log, oldest first; the last is the active one. Source: LocalLog (4.3.1)."""

    def __init__(self) -> None:
        self._all = [LogSegment(base_offset=0, created_ms=Millis(0))]

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def active(self) -> LogSegment:
        """The segment that is written to."""
        return self._all[-1]

    @property
    def size_bytes(self) -> int:
        """The size of all segments. Source: UnifiedLog#size (4.3.1)."""
        return sum(each.size_bytes for each in self._all)

    def before(self, offset: int) -> list[LogSegment]:
        """Return the segments that begin before an offset."""
        return [each for each in self._all if each.base_offset < offset]

    def between(self, from_offset: int, until_offset: int) -> list[LogSegment]:
        """Return the segments from the one that contains an offset, as far as they begin before another.

        Source: LogSegments#values (4.3.1).
        """
        first = max((each.base_offset for each in self._all if each.base_offset <= from_offset), default=0)
        return [each for each in self._all if first <= each.base_offset < until_offset]

    def end_of(self, offset: int, log_end: int) -> int:
        """Return where the segment that contains an offset ends: at the next one or at the end of the log."""
        return next((each.base_offset for each in self._all if each.base_offset > offset), log_end)

    def roll(self, base_offset: int, *, now_ms: Millis) -> None:
        """Begin a new segment, which replaces an active segment without records.

        Source: LocalLog#roll (4.3.1).
        """
        if not self.active.size_bytes:
            self._all.pop()
        self._all.append(LogSegment(base_offset=base_offset, created_ms=now_ms))

    def replace(self, until_offset: int, cleaned: list[LogSegment]) -> None:
        """Replace all segments that begin before an offset by cleaned ones.

        Source: LocalLog#replaceSegments (4.3.1).
        """
        self._all[:] = cleaned + [each for each in self._all if each.base_offset >= until_offset]

    def delete_while(
        self, is_deletable: Callable[[LogSegment, LogSegment | None], bool], end_offset: int, now_ms: Millis
    ) -> int:
        """Delete deletable segments from the oldest on; return the new start offset of the log.

        The active segment may be deleted, too, and is then replaced by a new one. An active segment without
        records is not deleted.

        Args:
            is_deletable: decides about a segment, given the next one.
            end_offset: the end offset of the log.
            now_ms: the time.

        Source: UnifiedLog#deletableSegments, UnifiedLog#deleteSegments (4.3.1).
        """
        count = 0
        for segment, following in pairwise([*self._all, None]):
            assert segment is not None
            if (following is None and not segment.size_bytes) or not is_deletable(segment, following):
                break
            count += 1
        if count == len(self._all):
            self.roll(end_offset, now_ms=now_ms)
        del self._all[:count]
        return self._all[0].base_offset
