"""The segments of a log: when a new one begins, and which old ones may be deleted.

Batches lie in `PartitionLog`; a segment says only where it begins, how large it is and how old.
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
    """When something was written to it; None if that was before this process began."""
    size_bytes: int = 0
    first_timestamp_ms: Millis = _NO_TIMESTAMP
    """The largest timestamp of its first batch."""
    max_timestamp_ms: Millis = _NO_TIMESTAMP

    @property
    def largest_timestamp_ms(self) -> Millis | None:
        """How old it is: by its records, or else by its last write.

        Source: LogSegment#largestTimestamp (4.3.1).
        """
        return self.max_timestamp_ms if self.max_timestamp_ms >= 0 else self.last_modified_ms

    def should_roll(
        self, settings: LogSettings, size_bytes: int, timestamp_ms: Millis, last_offset: int, now_ms: Millis
    ) -> bool:
        """Whether a batch begins a new segment. Indexes never fill up here.

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
        """Count a batch. Source: LogSegment#append (4.3.1)."""
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
        """The one that is written to."""
        return self._all[-1]

    @property
    def size_bytes(self) -> int:
        """Of all of them. Source: UnifiedLog#size (4.3.1)."""
        return sum(each.size_bytes for each in self._all)

    def before(self, offset: int) -> list[LogSegment]:
        """Return the segments that begin before an offset."""
        return [each for each in self._all if each.base_offset < offset]

    def between(self, from_offset: int, until_offset: int) -> list[LogSegment]:
        """Return the segments from the one on that has an offset, that begin before another.

        Source: LogSegments#values (4.3.1).
        """
        first = max((each.base_offset for each in self._all if each.base_offset <= from_offset), default=0)
        return [each for each in self._all if first <= each.base_offset < until_offset]

    def roll(self, base_offset: int, *, now_ms: Millis) -> None:
        """Begin a new segment; an active one without records is begun anew.

        Source: LocalLog#roll (4.3.1).
        """
        if not self.active.size_bytes:
            self._all.pop()
        self._all.append(LogSegment(base_offset=base_offset, created_ms=now_ms))

    def replace(self, until_offset: int, cleaned: list[LogSegment]) -> None:
        """Put cleaned segments in the place of all that begin before an offset.

        Source: LocalLog#replaceSegments (4.3.1).
        """
        self._all[:] = cleaned + [each for each in self._all if each.base_offset >= until_offset]

    def delete_while(
        self, is_deletable: Callable[[LogSegment, LogSegment | None], bool], end_offset: int, now_ms: Millis
    ) -> int:
        """Delete segments from the oldest on, as long as they may be; return where the log begins then.

        The active segment may be deleted like others; then a new one takes its place. One without records
        stays.

        Args:
            is_deletable: decides about a segment, given the next one.
            end_offset: where the log ends.
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
