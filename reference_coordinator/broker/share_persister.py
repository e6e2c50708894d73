"""The interface of a cluster's share coordinator for the group coordinator."""

from reference_coordinator.broker.topics import Topics
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicId, TopicPartition
from reference_coordinator.groups.share_persister import PartitionStateSummary
from reference_coordinator.shares.state import SharePartitionStates


class ClusterSharePersister:
    """The state of all share partitions, for the group coordinator. Source: DefaultStatePersister (4.3.1)."""

    def __init__(self, states: SharePartitionStates, topics: Topics) -> None:
        self._states = states
        self._topics = topics

    def initialize_state(
        self, group_id: GroupId, topic_id: TopicId, partition: int, *, state_epoch: int, start_offset: int
    ) -> None:
        """Initialize the state of a partition.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: DefaultStatePersister#initializeState (4.3.1).
        """
        _check(self._states.initialize(group_id, topic_id, partition, state_epoch, start_offset))

    def delete_state(self, group_id: GroupId, topic_id: TopicId, partition: int) -> None:
        """Delete the state of a partition.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: DefaultStatePersister#deleteState (4.3.1).
        """
        _check(self._states.delete(group_id, topic_id, partition))

    def read_summary(self, group_id: GroupId, topic_id: TopicId, partition: int) -> PartitionStateSummary:
        """Return the group's position in a partition.

        Raises:
            CoordinatorError: the share coordinator refuses it.

        Source: DefaultStatePersister#readSummary (4.3.1).
        """
        known = self._states.summary(group_id, topic_id, partition)
        if isinstance(known, Errors):
            raise CoordinatorError(known)
        return PartitionStateSummary(
            start_offset=known.start_offset,
            leader_epoch=known.leader_epoch,
            delivery_complete_count=known.delivery_complete_count,
        )

    def latest_offset(self, topic: str, partition: int) -> int:
        """Return the end offset of a partition."""
        return self._topics.logs.log(TopicPartition(topic, partition)).log_end_offset


def _check(error: Errors) -> None:
    if error is not Errors.NONE:
        raise CoordinatorError(error)
