"""The interface of the share coordinator that the group coordinator uses."""

from collections.abc import Collection, Iterable
from typing import Final, Protocol

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.values import value

UNINITIALIZED_START_OFFSET: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_START_OFFSET (4.3.1)."""
UNINITIALIZED_DELIVERY_COMPLETE_COUNT: Final = -1
"""Source: PartitionFactory.UNINITIALIZED_DELIVERY_COMPLETE_COUNT (4.3.1)."""
_UNEXPECTED: Final = "The server experienced an unexpected error when processing the request."


@value
class PartitionStateSummary:
    """A group's progress in a partition. Source: PartitionStateSummaryData (4.3.1)."""

    start_offset: int = UNINITIALIZED_START_OFFSET
    leader_epoch: int = 0
    delivery_complete_count: int = UNINITIALIZED_DELIVERY_COMPLETE_COUNT


class SharePersister(Protocol):
    """The store of the partition state of share groups. Source: Persister (4.3.1)."""

    def initialize_state(
        self, group_id: GroupId, topic_id: TopicId, partition: int, /, *, state_epoch: int, start_offset: int
    ) -> None:
        """Initialize a partition's state with a start offset. -1 leaves the offset to the first fetch.

        Raises:
            CoordinatorError: the share coordinator refuses the request.

        Source: Persister#initializeState (4.3.1).
        """

    def delete_state(self, group_id: GroupId, topic_id: TopicId, partition: int, /) -> None:
        """Delete a partition's state, if it has one.

        Raises:
            CoordinatorError: the share coordinator refuses the request.

        Source: Persister#deleteState (4.3.1).
        """

    def read_summary(self, group_id: GroupId, topic_id: TopicId, partition: int, /) -> PartitionStateSummary:
        """Return the group's progress in a partition. Without state, it has the uninitialized values.

        Raises:
            CoordinatorError: the share coordinator refuses the request.

        Source: Persister#readSummary (4.3.1).
        """

    def latest_offset(self, topic: str, partition: int, /) -> int:
        """Return the end offset. Decided in: PartitionMetadataClient#listLatestOffsets (4.3.1)."""


def validate_group_topic_partition_data(group_id: GroupId, topics: Iterable[Collection[int]]) -> None:
    """Refuse partitions that no share coordinator is asked about, with all others of the same request.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR.

    Source: DefaultStatePersister#validateGroupTopicPartitionData (4.3.1).
    """
    if not group_id or any(not each or min(each) < 0 for each in topics):
        raise CoordinatorError(Errors.UNKNOWN_SERVER_ERROR, _UNEXPECTED)


class NoShareCoordinator:
    """The default of a group coordinator without a share coordinator. No partition has state."""

    def initialize_state(
        self, _group_id: GroupId, _topic_id: TopicId, _partition: int, *, state_epoch: int, start_offset: int
    ) -> None:
        """Do nothing."""

    def delete_state(self, _group_id: GroupId, _topic_id: TopicId, _partition: int) -> None:
        """Do nothing."""

    def read_summary(self, _group_id: GroupId, _topic_id: TopicId, _partition: int) -> PartitionStateSummary:
        """Return the summary of a partition without state."""
        return PartitionStateSummary()

    def latest_offset(self, _topic: str, _partition: int) -> int:
        """Return the end offset of an empty partition."""
        return 0
