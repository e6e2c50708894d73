"""The owned partitions of a group and the epochs of their owners. A partition has at most one owner."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import TopicId
from reference_coordinator.groups.consumer.member import AssignedPartitions

PartitionEpochs = Mapping[TopicId, Mapping[int, int]]
"""By topic and partition, the epoch of the member that owns the partition."""
NO_EPOCH: Final = -1
"""The epoch of a partition without an owner."""


def remove_partition_epochs(
    current: PartitionEpochs, assignment: AssignedPartitions, expected_epoch: int, *, is_tolerant: bool
) -> PartitionEpochs:
    """Remove the ownership of partitions that a member owned in an epoch.

    Raises:
        IllegalStateError: a partition is not owned in that epoch, and the release does not tolerate that.

    Source: ConsumerGroup#removePartitionEpochs (4.3.1).
    """
    after = dict(current)
    for topic_id, partitions in assignment.items():
        left = dict(after.get(topic_id, {}))
        for partition in partitions:
            if left.get(partition) == expected_epoch:
                del left[partition]
            elif not is_tolerant:
                raise IllegalStateError("the partition is still owned at a different epoch")
        after[topic_id] = left
        if not left:
            del after[topic_id]
    return after


def add_partition_epochs(
    current: PartitionEpochs, assignment: AssignedPartitions, epoch: int, *, is_tolerant: bool
) -> PartitionEpochs:
    """Record that a member owns partitions in an epoch.

    Raises:
        IllegalStateError: a partition already has an owner, unless the release tolerates an earlier epoch.

    Source: ConsumerGroup#addPartitionEpochs (4.3.1).
    """
    after = dict(current)
    for topic_id, partitions in assignment.items():
        owned = dict(after.get(topic_id, {}))
        for partition in partitions:
            before = owned.get(partition)
            if before is not None and not (is_tolerant and before < epoch):
                raise IllegalStateError("the partition is still owned")
            owned[partition] = epoch
        after[topic_id] = owned
    return after
