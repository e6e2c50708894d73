"""The share coordinator, as the group coordinator asks it."""

from typing import Final, Protocol

from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.values import value

UNINITIALIZED_START_OFFSET: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_START_OFFSET (4.3.1)."""
UNINITIALIZED_DELIVERY_COMPLETE_COUNT: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_DELIVERY_COMPLETE_COUNT (4.3.1)."""


@value
class PartitionStateSummary:
    """How far a group is with a partition. Source: PartitionStateSummaryData (4.3.1)."""

    start_offset: int = UNINITIALIZED_START_OFFSET
    leader_epoch: int = 0
    delivery_complete_count: int = UNINITIALIZED_DELIVERY_COMPLETE_COUNT


class SharePersister(Protocol):
    """Where share groups have the state of their partitions. Source: Persister (4.3.1)."""

    def initialize_state(
        self, group_id: GroupId, topic_id: TopicId, partition: int, /, *, state_epoch: int, start_offset: int
    ) -> None:
        """Let a partition have state, from an offset on; -1 leaves the offset to who reads first.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: Persister#initializeState (4.3.1).
        """

    def delete_state(self, group_id: GroupId, topic_id: TopicId, partition: int, /) -> None:
        """Let a partition have no state; one without state stays so.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: Persister#deleteState (4.3.1).
        """

    def read_summary(self, group_id: GroupId, topic_id: TopicId, partition: int, /) -> PartitionStateSummary:
        """How far the group is with a partition; one without state is nowhere.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: Persister#readSummary (4.3.1).
        """

    def latest_offset(self, topic: str, partition: int, /) -> int:
        """Where a partition ends. Decided in: PartitionMetadataClient#listLatestOffsets (4.3.1)."""


class NoShareCoordinator:
    """What a group coordinator has that was given no share coordinator: nothing has state."""

    def initialize_state(
        self, _group_id: GroupId, _topic_id: TopicId, _partition: int, *, state_epoch: int, start_offset: int
    ) -> None:
        """Take note of nothing."""

    def delete_state(self, _group_id: GroupId, _topic_id: TopicId, _partition: int) -> None:
        """Take note of nothing."""

    def read_summary(self, _group_id: GroupId, _topic_id: TopicId, _partition: int) -> PartitionStateSummary:
        """A partition without state."""
        return PartitionStateSummary()

    def latest_offset(self, _topic: str, _partition: int) -> int:
        """An empty partition."""
        return 0
