"""Records in flight: those that were given to a member of a share group, and what became of them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from reference_coordinator.core.ids import Millis

NOBODY: Final = ""
"""Who has records that are not acquired. Source: SharePartition.EMPTY_MEMBER_ID (4.3.1)."""


class RecordState(IntEnum):
    """What records are, by Kafka's numbers. Source: RecordState (4.3.1)."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        """Whether they will not be delivered again."""
        return self in {RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}


@dataclass(slots=True)
class InFlightState:
    """The state of one record, or of a batch whose records are all in it. Source: InFlightState (4.3.1)."""

    state: RecordState
    delivery_count: int
    member_id: str = NOBODY
    lock_ends_ms: Millis | None = None
    """When it is taken from the member that has it."""
    before: "tuple[RecordState, int, str] | None" = None
    """What it was before a transition that is not written yet: state, delivery count and member."""
    is_archived_for_good: bool = False

    @property
    def is_acquirable(self) -> bool:
        """Whether a member may have it now."""
        return self.state is RecordState.AVAILABLE and self.before is None

    @property
    def is_settled(self) -> bool:
        """Whether it will not be delivered again, and that is written."""
        return self.state.is_terminal and self.before is None

    def try_update(self, state: RecordState, delta: int, max_delivery_count: int, member_id: str) -> bool:
        """Change it, unless a transition is not written yet; return whether it changed.

        Records that may not be delivered again are archived in place of becoming available.

        Source: InFlightState#tryUpdateState (4.3.1).
        """
        if self.before is not None:
            return False
        if state is RecordState.AVAILABLE and delta >= 0 and self.delivery_count >= max_delivery_count:
            state = RecordState.ARCHIVED
        self.state = state
        if state is not RecordState.ARCHIVED:
            self.delivery_count += delta
        self.member_id = member_id
        return True

    def start_transition(self, state: RecordState, delta: int, max_delivery_count: int) -> None:
        """Change a state that is acquired, until the change is written or taken back.

        Source: InFlightState#startStateTransition (4.3.1).
        """
        before = (self.state, self.delivery_count, self.member_id)
        self.try_update(state, delta, max_delivery_count, NOBODY)
        self.before = before

    def complete_transition(self, *, is_written: bool) -> None:
        """Let a change be, or take it back. Source: InFlightState#completeStateTransition (4.3.1)."""
        assert self.before is not None
        if is_written or self.is_archived_for_good:
            self.lock_ends_ms = None
        else:
            self.state, self.delivery_count, self.member_id = self.before
        self.before = None

    def archive(self) -> None:
        """Let it not be delivered again, whatever is written. Source: InFlightState#archive (4.3.1)."""
        self.is_archived_for_good = True
        self.state, self.member_id, self.lock_ends_ms = RecordState.ARCHIVED, NOBODY, None


@dataclass(slots=True)
class InFlightBatch:
    """Records that were acquired together. Source: InFlightBatch (4.3.1)."""

    first_offset: int
    last_offset: int
    batch: InFlightState
    """Of all of them, as long as `offsets` has none."""
    offsets: dict[int, InFlightState] = field(default_factory=dict)
    """Of each of them, once they differ."""

    def states(self) -> Iterator[tuple[int, int, InFlightState]]:
        """Return what has a state of its own: first offset, last offset, state."""
        if not self.offsets:
            yield self.first_offset, self.last_offset, self.batch
            return
        for offset, state in self.offsets.items():
            yield offset, offset, state

    def split(self) -> None:
        """Give each record a state of its own.

        Source: InFlightBatch#maybeInitializeOffsetStateUpdate (4.3.1).
        """
        if not self.offsets:
            whole = self.batch
            self.offsets = {
                offset: InFlightState(whole.state, whole.delivery_count, whole.member_id, whole.lock_ends_ms)
                for offset in range(self.first_offset, self.last_offset + 1)
            }

    def is_within(self, first_offset: int, last_offset: int) -> bool:
        """Whether all of its records are. Source: SharePartition#checkForFullMatch (4.3.1)."""
        return first_offset <= self.first_offset and self.last_offset <= last_offset

    def has_within(self, offset: int) -> bool:
        """Whether an offset is in it, but not its first.

        Source: SharePartition#checkForStartOffsetWithinBatch (4.3.1).
        """
        return self.first_offset < offset <= self.last_offset

    def state_at(self, offset: int) -> InFlightState:
        """The state of a record."""
        return self.offsets[offset] if self.offsets else self.batch


class InFlightBatches:
    """The batches of a partition by their first offsets. Source: SharePartition.cachedState (4.3.1)."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[InFlightBatch] = []

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[InFlightBatch]:
        return iter(tuple(self._batches))

    def __getitem__(self, at: int) -> InFlightBatch:
        return self._batches[at]

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that begins at an offset or before."""
        at = bisect_right(self._firsts, offset)
        return self._batches[at - 1] if at else None

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches that begin from one offset to another."""
        return self._batches[
            bisect_left(self._firsts, first_offset) : bisect_right(self._firsts, last_offset)
        ]

    def put(self, batch: InFlightBatch) -> None:
        """Add a batch, in the place of one with the same first offset."""
        at = bisect_left(self._firsts, batch.first_offset)
        if at < len(self._firsts) and self._firsts[at] == batch.first_offset:
            self._batches[at] = batch
        else:
            self._firsts.insert(at, batch.first_offset)
            self._batches.insert(at, batch)

    def remove_before(self, offset: int) -> None:
        """Forget the batches that begin before an offset."""
        at = bisect_left(self._firsts, offset)
        del self._firsts[:at], self._batches[:at]
