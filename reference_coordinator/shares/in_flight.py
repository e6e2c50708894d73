"""Records in flight: those that a member of a share group has acquired, and their states."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from reference_coordinator.core.ids import Millis
from reference_coordinator.shares.settings import ShareSettings

NOBODY: Final = ""
"""The member id of records that are not acquired. Source: SharePartition.EMPTY_MEMBER_ID (4.3.1)."""


class RecordState(IntEnum):
    """The delivery state of records, with Kafka's numbers. Source: RecordState (4.3.1)."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """To be archived once it is in the dead letter topic, from 4.4 on."""
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        """Whether they will not be delivered again."""
        return self in {RecordState.ACKNOWLEDGED, RecordState.ARCHIVED}


@dataclass(slots=True)
class InFlightState:
    """The state of one record, or of all records of a batch. Source: InFlightState (4.3.1)."""

    state: RecordState
    delivery_count: int
    member_id: str = NOBODY
    lock_ends_ms: Millis | None = None
    """When the acquisition lock of the member times out."""
    before: "tuple[RecordState, int, str] | None" = None
    """The state, delivery count and member before a transition that is not written yet."""
    is_archived_for_good: bool = False

    @property
    def is_acquirable(self) -> bool:
        """Whether a member may acquire it now."""
        return self.state is RecordState.AVAILABLE and self.before is None

    @property
    def is_settled(self) -> bool:
        """Whether it will not be delivered again, and this state is written."""
        return self.state.is_terminal and self.before is None

    def try_update(self, state: RecordState, delta: int, settings: ShareSettings, member_id: str) -> None:
        """Change the state of records that have no transition to be written.

        Records that have reached the delivery limit are archived instead of becoming available, if need be
        by way of the dead letter topic.

        Source: InFlightState#tryUpdateState (4.4.0).
        """
        if (
            state is RecordState.AVAILABLE
            and delta >= 0
            and self.delivery_count >= settings.delivery_count_limit
        ):
            state = RecordState.ARCHIVING if settings.has_dead_letters else RecordState.ARCHIVED
        self.state = state
        if state is not RecordState.ARCHIVED:
            self.delivery_count += delta
        self.member_id = member_id

    def start_transition(self, state: RecordState, delta: int, settings: ShareSettings) -> None:
        """Start a transition from the acquired state, to be written or rolled back.

        Source: InFlightState#startStateTransition (4.3.1).
        """
        before = (self.state, self.delivery_count, self.member_id)
        self.try_update(state, delta, settings, NOBODY)
        self.before = before

    def complete_transition(self, *, is_written: bool) -> None:
        """Complete or roll back a transition. Source: InFlightState#completeStateTransition (4.3.1)."""
        assert self.before is not None
        if is_written or self.is_archived_for_good:
            self.lock_ends_ms = None
        else:
            self.state, self.delivery_count, self.member_id = self.before
        self.before = None

    def archive(self) -> None:
        """Archive it for good, also if a pending write fails. Source: InFlightState#archive (4.3.1)."""
        self.is_archived_for_good = True
        self.state, self.member_id, self.lock_ends_ms = RecordState.ARCHIVED, NOBODY, None


@dataclass(slots=True)
class InFlightBatch:
    """Records that were acquired together. Source: InFlightBatch (4.3.1)."""

    first_offset: int
    last_offset: int
    batch: InFlightState
    """The state of all records, while `offsets` is empty."""
    offsets: dict[int, InFlightState] = field(default_factory=dict)
    """The state of each record, once their states differ."""

    def states(self) -> Iterator[tuple[int, int, InFlightState]]:
        """Yield each range of records with a state of its own: first offset, last offset, state."""
        if not self.offsets:
            yield self.first_offset, self.last_offset, self.batch
            return
        for offset, state in self.offsets.items():
            yield offset, offset, state

    def split(self) -> None:
        """Give each record its own state.

        Source: InFlightBatch#maybeInitializeOffsetStateUpdate (4.3.1).
        """
        if not self.offsets:
            whole = self.batch
            self.offsets = {
                offset: InFlightState(whole.state, whole.delivery_count, whole.member_id, whole.lock_ends_ms)
                for offset in range(self.first_offset, self.last_offset + 1)
            }

    def is_within(self, first_offset: int, last_offset: int) -> bool:
        """Return whether all its records are in a range. Source: SharePartition#checkForFullMatch (4.3.1)."""
        return first_offset <= self.first_offset and self.last_offset <= last_offset

    def has_within(self, offset: int) -> bool:
        """Return whether an offset is in the batch, but is not its first.

        Source: SharePartition#checkForStartOffsetWithinBatch (4.3.1).
        """
        return self.first_offset < offset <= self.last_offset

    def state_at(self, offset: int) -> InFlightState:
        """Return the state of a record."""
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
        """Return the last batch that begins at or before an offset."""
        at = bisect_right(self._firsts, offset)
        return self._batches[at - 1] if at else None

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """Return the batches whose first offset is between two offsets, both inclusive."""
        return self._batches[
            bisect_left(self._firsts, first_offset) : bisect_right(self._firsts, last_offset)
        ]

    def put(self, batch: InFlightBatch) -> None:
        """Add a batch, replacing one with the same first offset."""
        at = bisect_left(self._firsts, batch.first_offset)
        if at < len(self._firsts) and self._firsts[at] == batch.first_offset:
            self._batches[at] = batch
        else:
            self._firsts.insert(at, batch.first_offset)
            self._batches.insert(at, batch)

    def remove_before(self, offset: int) -> None:
        """Remove the batches that begin before an offset."""
        at = bisect_left(self._firsts, offset)
        del self._firsts[:at], self._batches[:at]
