"""The share coordinator of a cluster, as far as the group coordinator asks it."""

from reference_coordinator.broker.topics import Topics
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicId, TopicPartition
from reference_coordinator.core.values import value
from reference_coordinator.groups.share_persister import UNINITIALIZED_START_OFFSET, PartitionStateSummary


@value
class _State:
    state_epoch: int
    summary: PartitionStateSummary


class ClusterSharePersister:
    """The state of all share partitions. Source: ShareCoordinatorShard (4.3.1)."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._states: dict[tuple[GroupId, TopicId, int], _State] = {}

    def initialize_state(
        self, group_id: GroupId, topic_id: TopicId, partition: int, *, state_epoch: int, start_offset: int
    ) -> None:
        """Let a partition have state.

        Raises:
            CoordinatorError: FENCED_STATE_EPOCH.

        Source: ShareCoordinatorShard#initializeState (4.3.1).
        """
        key = (group_id, topic_id, partition)
        known = self._states.get(key)
        if known is not None and state_epoch < known.state_epoch:
            raise CoordinatorError(Errors.FENCED_STATE_EPOCH)
        done = -1 if start_offset == UNINITIALIZED_START_OFFSET else 0
        summary = PartitionStateSummary(start_offset=start_offset, delivery_complete_count=done)
        self._states[key] = _State(state_epoch=state_epoch, summary=summary)

    def delete_state(self, group_id: GroupId, topic_id: TopicId, partition: int) -> None:
        """Let a partition have no state. Source: ShareCoordinatorShard#deleteState (4.3.1)."""
        self._states.pop((group_id, topic_id, partition), None)

    def read_summary(self, group_id: GroupId, topic_id: TopicId, partition: int) -> PartitionStateSummary:
        """How far the group is. Source: ShareCoordinatorShard#readStateSummary (4.3.1)."""
        known = self._states.get((group_id, topic_id, partition))
        return PartitionStateSummary() if known is None else known.summary

    def latest_offset(self, topic: str, partition: int) -> int:
        """Where a partition ends."""
        return self._topics.logs.log(TopicPartition(topic, partition)).log_end_offset
