"""The number of the log's partitions, checked against the partitions of its groups."""

from collections.abc import Iterable, Mapping
from typing import Final

from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.batches import StoredPartition

_DEFAULT_NUM_PARTITIONS: Final = 50
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"


class MisplacedGroupError(Exception):
    """A group's records are not in the partition of its hash. The message names the group."""


def num_partitions_of(stored: Mapping[int, StoredPartition], *, configured: int | None) -> int:
    """Return the number of partitions: as configured, as found, or Kafka's default.

    A directory may have been copied in part, so the number found is used only if it fits every group.

    Raises:
        MisplacedGroupError: none of the numbers fits every group.
    """
    there = max(stored, default=-1) + 1
    if configured is not None and configured < there:
        raise MisplacedGroupError(f"there is a partition {there - 1}, which is none of {configured}")
    found = (configured,) if configured is not None else (there, max(there, _DEFAULT_NUM_PARTITIONS))
    misplaced = ""
    for candidate in found:
        misplaced = _misplaced(stored, candidate)
        if candidate and not misplaced:
            return candidate
    raise MisplacedGroupError(
        f"{misplaced}: say how many there are with --config {_NUM_PARTITIONS}=N or --partitions N"
    )


def _misplaced(stored: Mapping[int, StoredPartition], num_partitions: int) -> str:
    """Return a message about the first misplaced group; empty if there is none."""
    for partition, found in stored.items():
        for group_id in sorted(_group_ids(found)):
            right = partition_for(group_id, num_partitions)
            if right != partition:
                return (
                    f"group {group_id!r} is in partition {partition}, "
                    f"but of {num_partitions} partitions its is {right}"
                )
    return ""


def _group_ids(found: StoredPartition) -> Iterable[GroupId]:
    return {
        record.group_id
        for batch in found.batches
        for record in batch.records
        if not isinstance(record, EndTransactionMarker)
    }
