"""The state of share partitions: what a share coordinator keeps for the leaders of the partitions.

It is written at once, and outlives the brokers, as Kafka's topic `__share_group_state` does.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.shares.state_batches import StateBatch, combine_state_batches

UNINITIALIZED_START_OFFSET: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_START_OFFSET (4.3.1)."""
NO_EPOCH: Final = -1


class SharePartitionKey(NamedTuple):
    """A partition as one share group reads it. Source: SharePartitionKey (4.3.1)."""

    group_id: GroupId
    topic_id: TopicId
    partition: int


@value
class ShareGroupOffset:
    """How far a share group is with a partition. Source: ShareGroupOffset (4.3.1)."""

    state_epoch: int
    leader_epoch: int = 0
    start_offset: int
    delivery_complete_count: int
    """How many records from the start offset on need no delivery any more; -1 if that is not known."""
    state_batches: tuple[StateBatch, ...] = ()


@value
class KeptShareState:
    """What outlives the process of a share partition's state."""

    offset: ShareGroupOffset
    leader_epoch: int
    """The highest that was seen."""
    state_epoch: int
    """The highest that was seen."""


UNINITIALIZED: Final = ShareGroupOffset(
    state_epoch=0, leader_epoch=0, start_offset=UNINITIALIZED_START_OFFSET, delivery_complete_count=-1
)
"""What the summary of a partition without state says."""


class SharePartitionStates:
    """The state of every share partition. Source: ShareCoordinatorShard (4.3.1).

    Each method answers with an error, or does what it says. Its arguments name the partition first.
    """

    def __init__(self, partition_count: Callable[[TopicId], int | None]) -> None:
        """Begin without any.

        Args:
            partition_count: how many partitions a topic has; None if there is no such topic.
        """
        self._partition_count = partition_count
        self._offsets: dict[SharePartitionKey, ShareGroupOffset] = {}
        self._leader_epochs: dict[SharePartitionKey, int] = {}
        """The highest of each that was seen."""
        self._state_epochs: dict[SharePartitionKey, int] = {}
        self._changed: set[SharePartitionKey] = set()

    def take_changes(self) -> Mapping[SharePartitionKey, KeptShareState | None]:
        """Return the state of each partition where it changed since the last time; None where it is gone."""
        changed = {key: self._kept(key) for key in sorted(self._changed)}
        self._changed.clear()
        return changed

    def _kept(self, key: SharePartitionKey) -> KeptShareState | None:
        offset = self._offsets.get(key)
        if offset is None:
            return None
        return KeptShareState(
            offset=offset, leader_epoch=self._leader_epochs[key], state_epoch=self._state_epochs[key]
        )

    def restore(self, key: SharePartitionKey, kept: KeptShareState) -> None:
        """Have the state of a partition as it was."""
        self._offsets[key] = kept.offset
        self._leader_epochs[key] = kept.leader_epoch
        self._state_epochs[key] = kept.state_epoch

    def initialize(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, state_epoch: int, start_offset: int
    ) -> Errors:
        """Begin the state of a partition anew; a start offset of -1 leaves it to the group's configuration.

        Source: ShareCoordinatorShard#initializeState, #maybeGetInitializeStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        if state_epoch != NO_EPOCH and self._state_epochs.get(key, NO_EPOCH) > state_epoch:
            return Errors.FENCED_STATE_EPOCH
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        count = -1 if start_offset == UNINITIALIZED_START_OFFSET else 0
        self._offsets[key] = ShareGroupOffset(
            state_epoch=state_epoch, start_offset=start_offset, delivery_complete_count=count
        )
        self._saw(key, leader_epoch=0, state_epoch=state_epoch)
        return Errors.NONE

    def delete(self, group_id: GroupId, topic_id: TopicId | None, partition: int) -> Errors:
        """Forget the state of a partition, if it has one.

        Source: ShareCoordinatorShard#deleteState, #maybeGetDeleteStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        for known in (self._offsets, self._leader_epochs, self._state_epochs):
            known.pop(key, None)
        self._changed.add(key)
        return Errors.NONE

    def summary(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int
    ) -> ShareGroupOffset | Errors:
        """Return how far the group is, also where there is no state.

        Source: ShareCoordinatorShard#readStateSummary, #maybeGetReadStateSummaryError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        if self._is_missing(key):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        return self._offsets.get(key, UNINITIALIZED)

    def read(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, leader_epoch: int
    ) -> ShareGroupOffset | Errors:
        """Return the state for a leader of the partition, and fence those that led it before.

        Source: ShareCoordinatorShard#readStateAndMaybeUpdateLeaderEpoch, #maybeGetReadStateError (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        found = self._offsets.get(key)
        if found is None:
            return Errors.INVALID_REQUEST
        error = self._error(key, leader_epoch=leader_epoch, state_epoch=NO_EPOCH)
        if error is not Errors.NONE:
            return error
        if leader_epoch not in {NO_EPOCH, self._leader_epochs[key]}:
            self._offsets[key] = replace(found, leader_epoch=leader_epoch)
            self._saw(key, leader_epoch=leader_epoch, state_epoch=found.state_epoch)
        return found

    def write(
        self, group_id: GroupId, topic_id: TopicId | None, partition: int, written: ShareGroupOffset
    ) -> Errors:
        """Merge what a leader of the partition says into the state; -1 says nothing of an epoch or offset.

        Source: ShareCoordinatorShard#writeState, #maybeGetWriteStateError, #merge (4.3.1).
        """
        if topic_id is None or partition < 0:
            return Errors.INVALID_REQUEST
        key = SharePartitionKey(group_id, topic_id, partition)
        found = self._offsets.get(key)
        if found is None:
            return Errors.INVALID_REQUEST
        error = self._error(key, leader_epoch=written.leader_epoch, state_epoch=written.state_epoch)
        if error is not Errors.NONE:
            return error
        start_offset = written.start_offset
        if start_offset == UNINITIALIZED_START_OFFSET:
            start_offset = found.start_offset
        self._offsets[key] = replace(
            found,
            start_offset=start_offset,
            delivery_complete_count=written.delivery_complete_count,
            state_batches=combine_state_batches(found.state_batches + written.state_batches, start_offset),
        )
        self._changed.add(key)
        return Errors.NONE

    def _error(self, key: SharePartitionKey, *, leader_epoch: int, state_epoch: int) -> Errors:
        if leader_epoch != NO_EPOCH and self._leader_epochs[key] > leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        if state_epoch != NO_EPOCH and self._state_epochs[key] > state_epoch:
            return Errors.FENCED_STATE_EPOCH
        return Errors.UNKNOWN_TOPIC_OR_PARTITION if self._is_missing(key) else Errors.NONE

    def _is_missing(self, key: SharePartitionKey) -> bool:
        count = self._partition_count(key.topic_id)
        return count is None or key.partition >= count

    def _saw(self, key: SharePartitionKey, *, leader_epoch: int, state_epoch: int) -> None:
        self._changed.add(key)
        self._leader_epochs[key] = max(self._leader_epochs.get(key, NO_EPOCH), leader_epoch)
        self._state_epochs[key] = max(self._state_epochs.get(key, NO_EPOCH), state_epoch)
