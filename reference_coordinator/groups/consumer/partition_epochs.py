"""Which partitions somebody has, in which epoch: nobody else may have them meanwhile."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import TopicId
from reference_coordinator.groups.consumer.member import AssignedPartitions

PartitionEpochs = Mapping[TopicId, Mapping[int, int]]
"""The epoch of the member that has a partition."""
NO_EPOCH: Final = -1
"""Of a partition that nobody has."""


def remove_partition_epochs(
    current: PartitionEpochs, assignment: AssignedPartitions, expected_epoch: int, *, is_tolerant: bool
) -> PartitionEpochs:
    """Let partitions be nobody's that somebody had in an epoch.

    Raises:
        IllegalStateError: somebody has one in another epoch, and the release does not put up with that.

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
    """Let somebody have partitions in an epoch.

    Raises:
        IllegalStateError: somebody else has one, and not in an earlier epoch.

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
