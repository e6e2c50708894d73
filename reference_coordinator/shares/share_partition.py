"""A partition as one share group reads it: its records in flight, and the next fetch offset."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.timers import Timers
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.shares.in_flight import InFlightBatch, InFlightBatches, InFlightState, RecordState
from reference_coordinator.shares.settings import ShareSettings
from reference_coordinator.shares.state import ShareGroupOffset, SharePartitionKey, SharePartitionStates
from reference_coordinator.shares.state_batches import StateBatch

_PERSISTER_ERRORS: Final = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.FENCED_LEADER_EPOCH: Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.FENCED_STATE_EPOCH: Errors.NOT_LEADER_OR_FOLLOWER,
}


CLIENT_REJECT: Final = "Offset rejected by client."
DELIVERY_COUNT_EXCEEDED: Final = "Offset delivery count exceeded the threshold."
"""Source: ShareGroupDLQManager (4.4.0)."""


@value
class DeadLetters:
    """Records that go to the dead letter topic together. Source: ShareGroupDLQRecordParameter (4.4.0)."""

    first_offset: int
    last_offset: int
    delivery_count: int
    cause: str


@value
class AcquisitionLock:
    """The lock on acquired records, which are released unless the member acknowledges them in time."""

    key: SharePartitionKey
    first_offset: int
    last_offset: int


class Locks:
    """The acquisition locks of a broker, by the time at which they time out."""

    def __init__(self) -> None:
        self.timers: Timers[int, AcquisitionLock] = Timers()
        self._ids = count()

    def add(self, lock: AcquisitionLock, ends_ms: Millis) -> None:
        """Schedule the timeout of a lock."""
        self.timers.schedule(next(self._ids), ends_ms, lock)


@value
class Transition:
    """A transition to be written: the new state, and the range of its records."""

    first_offset: int
    last_offset: int
    state: InFlightState
    cause: str = ""
    """Why the records go to the dead letter topic, if they do."""

    def as_state_batch(self) -> StateBatch:
        """Return the state batch to write for the transition."""
        return StateBatch(
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            delivery_state=self.state.state.value,
            delivery_count=self.state.delivery_count,
        )


class SharePartition:
    """Source: SharePartition (4.3.1). Its writes complete at once."""

    def __init__(
        self,
        *,
        key: SharePartitionKey,
        leader_epoch: int,
        states: SharePartitionStates,
        settings: Callable[[], ShareSettings],
        locks: Locks,
        sends_dead_letters: Callable[[DeadLetters], None],
        profile: Profile,
    ) -> None:
        self.key = key
        self.settings = settings
        """Returns the current settings of the group."""
        self.profile = profile
        self.cached = InFlightBatches()
        self.start_offset = 0
        """The first record that is not settled."""
        self.end_offset = 0
        """The last record in flight."""
        self.finds_next_fetch_offset = False
        """Whether records in flight may be available, so that the next fetch offset has to be searched."""
        self.gap: tuple[int, int] | None = None
        """The window in which the state that was read may lack records that were in flight: its start
        offset, and the end offset at that time. Source: SharePartition.GapWindow (4.3.1)."""
        self.delivery_complete_count = 0
        self.is_fenced = False
        """Whether another instance has replaced this one."""
        self._leader_epoch = leader_epoch
        self._states = states
        self._locks = locks
        self._sends_dead_letters = sends_dead_letters
        self._state_epoch = 0

    def initialize(self, offset_to_begin_with: Callable[[], int]) -> Errors:
        """Read the state. Source: SharePartition#maybeInitialize (4.3.1)."""
        read = self._states.read(*self.key, leader_epoch=self._leader_epoch)
        if isinstance(read, Errors):
            return _persister_error(read)
        self.start_offset = read.start_offset if read.start_offset >= 0 else offset_to_begin_with()
        self._state_epoch = read.state_epoch
        next_offset, gap_start = self.start_offset, -1
        for each in read.state_batches:
            if gap_start < 0 and each.first_offset > next_offset:
                gap_start = next_offset
            next_offset = each.last_offset + 1
            if not self._knows(each.delivery_state):
                return Errors.UNKNOWN_SERVER_ERROR
            state = InFlightState(RecordState(each.delivery_state), each.delivery_count)
            self.cached.put(InFlightBatch(each.first_offset, each.last_offset, state))
            if state.state.is_terminal:
                self.delivery_complete_count += each.last_offset - each.first_offset + 1
        self.end_offset = self.start_offset
        if self.cached:
            self.finds_next_fetch_offset = True
            self.end_offset = self.cached[-1].last_offset
            self.gap = (gap_start, self.end_offset) if gap_start >= 0 else None
            self.move_start_offset()
        if self.profile.has(Behaviour.SHARE_DEAD_LETTERS):
            self._resume_archiving()
        return Errors.NONE

    def active_gap(self) -> int | None:
        """Return the start offset of the gap window, unless records after the window were acquired.

        Source: SharePartition#isPersisterReadGapWindowActive (4.3.1).
        """
        return self.gap[0] if self.gap is not None and self.gap[1] == self.end_offset else None

    def acquired_until(self, offset: int) -> None:
        """Narrow the gap. Source: SharePartition#maybeUpdatePersisterGapWindowStartOffset (4.3.1)."""
        if self.gap is not None:
            is_within = self.gap[1] == self.end_offset and offset <= self.gap[1]
            self.gap = (offset, self.gap[1]) if is_within else None

    def next_fetch_offset(self) -> int:
        """Return the offset to read from next. Source: SharePartition#nextFetchOffset (4.3.1)."""
        if not self.cached or self.start_offset > self.cached[-1].last_offset:
            self.finds_next_fetch_offset = False
            return self.end_offset
        if not self.finds_next_fetch_offset:
            return self.end_offset + 1
        found = self._first_available()
        if found is not None:
            return found
        self.finds_next_fetch_offset = False
        return self.end_offset + 1

    def can_acquire(self) -> bool:
        """Return whether a fetch may acquire records. Source: SharePartition#canAcquireRecords (4.3.1)."""
        if self.next_fetch_offset() != self.end_offset + 1:
            return True
        return self.in_flight_count() < self.settings().max_record_locks

    def in_flight_count(self) -> int:
        """Return the number of records in flight. Source: SharePartition#numInFlightRecords (4.3.1)."""
        return self.end_offset - self.start_offset + 1 if self.cached else 0

    def lock(self, state: InFlightState, first_offset: int, last_offset: int, *, now_ms: Millis) -> None:
        """Lock acquired records, and schedule the timeout of the lock.

        Source: SharePartition#scheduleAcquisitionLockTimeout (4.3.1).
        """
        ends_ms = Millis(now_ms + self.settings().record_lock_duration_ms)
        state.lock_ends_ms = ends_ms
        lock = AcquisitionLock(key=self.key, first_offset=first_offset, last_offset=last_offset)
        self._locks.add(lock, ends_ms)

    def count_within(self, first_offset: int, last_offset: int) -> int:
        """Return the number of records of a range that are at or after the start offset.

        Source: SharePartition#numInFlightRecordsInBatch (4.3.1).
        """
        return max(0, last_offset - max(self.start_offset, first_offset) + 1)

    def write(self, batches: Iterable[StateBatch]) -> Errors:
        """Write the state of records. Source: SharePartition#writeShareGroupState (4.3.1)."""
        written = ShareGroupOffset(
            state_epoch=self._state_epoch,
            leader_epoch=self._leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            state_batches=tuple(batches),
        )
        return _persister_error(self._states.write(*self.key, written))

    def move_start_offset(self) -> bool:
        """Remove the records before the first one that is not settled; return whether there were any.

        Source: SharePartition#maybeUpdateCachedStateAndOffsets, #canMoveStartOffset,
        #findLastOffsetAcknowledgedAndMetadata (4.3.1).
        """
        first = self.cached.floor(self.start_offset)
        if first is None or first.last_offset < self.start_offset:
            return False
        if not first.state_at(self.start_offset).is_settled:
            return False
        settled, settled_count = self._settled_until()
        if settled < 0:
            return False
        if settled == self.cached[-1].last_offset:
            self.start_offset = self.end_offset = settled + 1
            self.cached.remove_before(settled + 1)
            self.delivery_complete_count = 0
            return True
        batch = self.cached.floor(settled)
        assert batch is not None
        if settled == batch.last_offset:
            following = self.cached.between(settled + 1, self.cached[-1].first_offset)[0]
            self.start_offset = max(self.start_offset, following.first_offset)
            gap = self.active_gap()
            if gap is not None:
                self.start_offset = min(gap, self.start_offset)
            self.cached.remove_before(settled + 1)
        else:
            self.start_offset = max(self.start_offset, settled + 1)
            self.cached.remove_before(batch.first_offset)
        self.delivery_complete_count -= settled_count
        return True

    def archive_dead_letters(self, transitions: Iterable[Transition]) -> bool:
        """Send records to the dead letter topic, and archive them even if that fails.

        Returns:
            Whether the start offset moved.

        Source: SharePartition#initiateDLQAndArchive (4.4.0).
        """
        has_moved = False
        for each in transitions:
            if each.state.state is not RecordState.ARCHIVING:
                continue
            letters = DeadLetters(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_count=each.state.delivery_count,
                cause=each.cause,
            )
            self._sends_dead_letters(letters)
            each.state.archive()
            self.delivery_complete_count += self.count_within(each.first_offset, each.last_offset)
            self.write((each.as_state_batch(),))
            has_moved = self.move_start_offset() or has_moved
        return has_moved

    def _knows(self, delivery_state: int) -> bool:
        """Source: RecordState#forId (4.3.0)."""
        if delivery_state == RecordState.ARCHIVING:
            return self.profile.has(Behaviour.SHARE_STATE_MAY_BE_ARCHIVING)
        return delivery_state in set(RecordState)

    def _resume_archiving(self) -> None:
        """Source: SharePartition#maybeResumeDlqArchiving (4.4.0)."""
        limit = self.settings().delivery_count_limit
        self.archive_dead_letters(
            Transition(
                first_offset=batch.first_offset,
                last_offset=batch.last_offset,
                state=batch.batch,
                cause=DELIVERY_COUNT_EXCEEDED if batch.batch.delivery_count >= limit else CLIENT_REJECT,
            )
            for batch in self.cached
        )

    def log_start_moved(self, log_start_offset: int) -> None:
        """Archive records that were deleted from the log, except those that a member has acquired.

        Source: SharePartition#updateCacheAndOffsets (4.3.1).
        """
        if log_start_offset <= self.start_offset:
            return
        if not self.cached:
            self.start_offset = self.end_offset = log_start_offset
            self.delivery_complete_count = 0
            return
        removed = self._terminal_count_before(log_start_offset)
        self.archive(self.start_offset, log_start_offset, self.cached, RecordState.AVAILABLE, counts=False)
        self.start_offset = log_start_offset
        self.delivery_complete_count -= removed
        self.end_offset = max(self.end_offset, self.start_offset)

    def archive(
        self,
        first_offset: int,
        end_offset: int,
        batches: Iterable[InFlightBatch],
        state: RecordState,
        *,
        counts: bool,
    ) -> None:
        """Archive the records in a state, up to but excluding an offset.

        Source: SharePartition#archiveRecords (4.3.1).
        """
        for batch in batches:
            if batch.first_offset >= end_offset:
                break
            if not batch.offsets and batch.batch.state is not state:
                continue
            if not batch.is_within(first_offset, end_offset - 1):
                batch.split()
            for first, last, each in batch.states():
                is_meant = (first >= first_offset and last < end_offset) and each.state is state
                if is_meant:
                    each.archive()
                    if counts:
                        self.delivery_complete_count += last - first + 1

    def _first_available(self) -> int | None:
        gap = self.active_gap()
        for batch in self.cached:
            if gap is not None and batch.first_offset > gap:
                return gap
            if gap is not None:
                gap = max(batch.last_offset + 1, gap)
            for first, _, state in batch.states():
                if self._may_be_fetched(state):
                    return first
        return None

    def _may_be_fetched(self, state: InFlightState) -> bool:
        skips = self.profile.has(Behaviour.SHARE_FETCH_AWAITS_WRITES)
        return state.is_acquirable if skips else state.state is RecordState.AVAILABLE

    def _settled_until(self) -> tuple[int, int]:
        settled, settled_count = -1, 0
        gap = self.active_gap()
        for batch in self.cached:
            if gap is not None and batch.last_offset >= gap:
                break
            for first, last, state in batch.states():
                if not state.is_settled:
                    return settled, settled_count
                settled = last
                settled_count += self.count_within(first, last)
        return settled, settled_count

    def _terminal_count_before(self, offset: int) -> int:
        return sum(
            self.count_within(first, min(last, offset - 1))
            for batch in self.cached
            for first, last, state in batch.states()
            if first < offset and state.state.is_terminal
        )


def _persister_error(error: Errors) -> Errors:
    """Return the error for the fetching member. Source: SharePartition#fetchPersisterError (4.3.1)."""
    if error is Errors.NONE:
        return error
    return _PERSISTER_ERRORS.get(error, Errors.UNKNOWN_SERVER_ERROR)
