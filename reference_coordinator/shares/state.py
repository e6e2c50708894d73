"""The state of share partitions, which a share coordinator stores for the leaders of the partitions.

It is written at once, and outlives the brokers, as Kafka's topic `__share_group_state` does.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.shares.state_batches import StateBatch, combine_state_batches

UNINITIALIZED_START_OFFSET: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_START_OFFSET (4.3.1)."""
NO_EPOCH: Final = -1
_REMEMBERED_STATES: Final = 256


class SharePartitionKey(NamedTuple):
    """A partition as one share group reads it. Source: SharePartitionKey (4.3.1)."""

    group_id: GroupId
    topic_id: TopicId
    partition: int


@value
class ShareGroupOffset:
    """A share group's position in a partition. Source: ShareGroupOffset (4.3.1)."""

    state_epoch: int
    leader_epoch: int = 0
    start_offset: int
    delivery_complete_count: int
    """The number of records from the start offset on that need no more delivery; -1 if unknown."""
    state_batches: tuple[StateBatch, ...] = ()


@value
class KeptShareState:
    """The persisted state of a share partition, which outlives the process."""

    offset: ShareGroupOffset
    leader_epoch: int
    """The highest leader epoch so far."""
    state_epoch: int
    """The highest state epoch so far."""


UNINITIALIZED: Final = ShareGroupOffset(
    state_epoch=0, leader_epoch=0, start_offset=UNINITIALIZED_START_OFFSET, delivery_complete_count=-1
)
"""The summary of a partition without state."""


class SharePartitionStates:
    """The state of every share partition. Source: ShareCoordinatorShard (4.3.1).

    Each request method returns the error if it refuses. Its first arguments identify the partition.
    """

    def __init__(self, partition_count: Callable[[TopicId], int | None]) -> None:
        """Create the object without any state.

        Args:
            partition_count: returns the number of a topic's partitions; None if there is no such topic.
        """
        self._partition_count = partition_count
        self._kept: dict[SharePartitionKey, KeptShareState] = {}
        self._changed: set[SharePartitionKey] | None = None

    def note_changes(self) -> None:
        """Begin to record which partitions' states change, until `take_changes` is called."""
        self._changed = set()

    def take_changes(self) -> Mapping[SharePartitionKey, KeptShareState | None]:
        """Return the states that changed since the last call; None for a state that was deleted."""
        changed = {key: self._kept.get(key) for key in sorted(self._changed or ())}
        self.note_changes()
        return changed

    def restore(self, key: SharePartitionKey, kept: KeptShareState) -> None:
        """Restore the persisted state of a partition."""
        self._kept[key] = kept

    def initialize(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, state_epoch: int, start_offset: int
    ) -> Errors:
        """Initialize a partition's state; with a start offset of -1, the group's configuration decides.

        Source: ShareCoordinatorShard#initializeState, #maybeGetInitializeStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        found = self._kept.get(key)
        if found is not None and state_epoch != NO_EPOCH and found.state_epoch > state_epoch:
            return Errors.FENCED_STATE_EPOCH
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        kept = _initial(state_epoch, start_offset)
        if found is not None:
            kept = replace(
                kept,
                leader_epoch=max(found.leader_epoch, kept.leader_epoch),
                state_epoch=max(found.state_epoch, kept.state_epoch),
            )
        self._keep(key, kept)
        return Errors.NONE

    def delete(self, group_id: GroupId, topic_id: TopicId | None, partition: int) -> Errors:
        """Delete the state of a partition, if it has one.

        Source: ShareCoordinatorShard#deleteState, #maybeGetDeleteStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        self._kept.pop(key, None)
        self._changes(key)
        return Errors.NONE

    def topic_deleted(self, topic_id: TopicId) -> None:
        """Delete the state of all partitions of a deleted topic.

        Decided in: ShareCoordinatorShard#maybeCleanupShareState (4.1.0). The preview of 4.0 keeps it, but
        the reference serves no requests for share state there.
        """
        for key in [each for each in self._kept if each.topic_id == topic_id]:
            del self._kept[key]
            self._changes(key)

    def summary(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int
    ) -> ShareGroupOffset | Errors:
        """Return the group's position in a partition, or `UNINITIALIZED` if there is no state.

        Source: ShareCoordinatorShard#readStateSummary, #maybeGetReadStateSummaryError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        kept = self._kept.get(key)
        return UNINITIALIZED if kept is None else kept.offset

    def read(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, leader_epoch: int
    ) -> ShareGroupOffset | Errors:
        """Return the state to a leader of the partition, and fence its earlier leaders.

        Source: ShareCoordinatorShard#readStateAndMaybeUpdateLeaderEpoch, #maybeGetReadStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        kept = self._kept.get(key)
        if kept is None:
            return Errors.INVALID_REQUEST
        error = self._error(key, kept, leader_epoch=leader_epoch, state_epoch=NO_EPOCH)
        if error is not Errors.NONE:
            return error
        found = kept.offset
        if leader_epoch not in {NO_EPOCH, kept.leader_epoch}:
            led = replace(found, leader_epoch=leader_epoch)
            self._keep(key, replace(kept, offset=led, leader_epoch=leader_epoch))
        return found

    def write(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, written: ShareGroupOffset
    ) -> Errors:
        """Merge a leader's changes into the state; an epoch or offset of -1 is not given.

        Source: ShareCoordinatorShard#writeState, #maybeGetWriteStateError, #merge (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        kept = self._kept.get(key)
        if kept is None:
            return Errors.INVALID_REQUEST
        error = self._error(key, kept, leader_epoch=written.leader_epoch, state_epoch=written.state_epoch)
        if error is not Errors.NONE:
            return error
        found, start_offset = kept.offset, written.start_offset
        if start_offset == UNINITIALIZED_START_OFFSET:
            start_offset = found.start_offset
        merged = replace(
            found,
            start_offset=start_offset,
            delivery_complete_count=written.delivery_complete_count,
            state_batches=combine_state_batches(found.state_batches + written.state_batches, start_offset),
        )
        self._keep(key, replace(kept, offset=merged))
        return Errors.NONE

    def _error(
        self, key: SharePartitionKey, kept: KeptShareState, *, leader_epoch: int, state_epoch: int
    ) -> Errors:
        if leader_epoch != NO_EPOCH and kept.leader_epoch > leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        if state_epoch != NO_EPOCH and kept.state_epoch > state_epoch:
            return Errors.FENCED_STATE_EPOCH
        return Errors.UNKNOWN_TOPIC_OR_PARTITION if self._is_missing(key) else Errors.NONE

    def _is_missing(self, key: SharePartitionKey) -> bool:
        count = self._partition_count(key.topic_id)
        return count is None or key.partition >= count

    def _keep(self, key: SharePartitionKey, kept: KeptShareState) -> None:
        self._kept[key] = kept
        self._changes(key)

    def _changes(self, key: SharePartitionKey) -> None:
        if self._changed is not None:
            self._changed.add(key)


@lru_cache(maxsize=_REMEMBERED_STATES)
def _initial(state_epoch: int, start_offset: int) -> KeptShareState:
    """Return the initial state, cached because a topic's thousands of partitions all have the same one."""
    count = -1 if start_offset == UNINITIALIZED_START_OFFSET else 0
    return KeptShareState(
        offset=ShareGroupOffset(
            state_epoch=state_epoch, start_offset=start_offset, delivery_complete_count=count
        ),
        leader_epoch=0,
        state_epoch=max(state_epoch, NO_EPOCH),
    )
