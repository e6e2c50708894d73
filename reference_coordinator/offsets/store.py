"""The committed offsets of the groups, and those being written to the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.offsets.transactional import TransactionalOffsets
from reference_coordinator.offsets.values import OffsetAndMetadata


@dataclass(slots=True)
class OffsetStore:
    """Offsets by group and partition.

    Source: OffsetMetadataManager (4.3.1), which stores offsets apart from their group, so that they may
    outlive it in the log, and GroupMetadata (3.9.2).
    """

    _committed: dict[GroupId, dict[TopicPartition, OffsetAndMetadata]] = field(default_factory=dict)
    _pending: dict[GroupId, dict[TopicPartition, OffsetAndMetadata]] = field(default_factory=dict)
    transactions: TransactionalOffsets = field(default_factory=TransactionalOffsets)
    """Offsets of transactions that have not ended."""

    def of_group(self, group_id: GroupId) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return a group's committed offsets, in the order of their first commit."""
        return self._committed.get(group_id, {})

    def groups_with_any(self) -> tuple[GroupId, ...]:
        """Return the groups that have offsets, committed or in open transactions."""
        return tuple(dict.fromkeys((*self._committed, *self.transactions.group_ids())))

    def put_if_newer(self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """Commit an offset unless one with a later position in the log is already committed."""
        current = self._committed.get(group_id, {}).get(partition)
        if current is None or current.older_than(offset):
            self.put(group_id, partition, offset)

    def put(self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """Commit an offset."""
        self._committed.setdefault(group_id, {})[partition] = offset

    def remove(self, group_id: GroupId, partition: TopicPartition) -> bool:
        """Remove a committed offset; return whether there was one."""
        offsets = self._committed.get(group_id, {})
        removed = offsets.pop(partition, None)
        if not offsets:
            self._committed.pop(group_id, None)
        return removed is not None

    def group_ids(self) -> tuple[GroupId, ...]:
        """Return the groups with any offsets, including offsets that are still being written."""
        return tuple(dict.fromkeys((*self.groups_with_any(), *self._pending)))

    def forget_group(self, group_id: GroupId) -> None:
        """Remove all offsets of a group."""
        self._committed.pop(group_id, None)
        self._pending.pop(group_id, None)
        self.transactions.forget_group(group_id)

    def prepare_offset_commit(
        self, group_id: GroupId, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Mark offsets as being written. Source: GroupMetadata#prepareOffsetCommit (3.9.2)."""
        self._pending.setdefault(group_id, {}).update(offsets)

    def forget_pending(
        self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata | None = None
    ) -> None:
        """Drop a partition's pending offset, if it is the given one or none is given.

        Decided in: GroupMetadata#failPendingOffsetWrite (3.9.2).
        """
        pending = self._pending.get(group_id, {})
        if offset is None or pending.get(partition) == offset:
            pending.pop(partition, None)
        if not pending:
            self._pending.pop(group_id, None)

    def has_pending_offset_commits_for_topic_partition(
        self, group_id: GroupId, partition: TopicPartition
    ) -> bool:
        """Return whether an offset of the partition is being written.

        Source: GroupMetadata#hasPendingOffsetCommitsForTopicPartition (3.9.2).
        """
        return partition in self._pending.get(group_id, {})

    def has_offsets(self, group_id: GroupId) -> bool:
        """Return whether a group has offsets, committed or being written, or an open transaction.

        Source: GroupMetadata#hasOffsets (3.9.2).
        """
        return (
            group_id in self._committed
            or group_id in self._pending
            or self.transactions.has_transactions(group_id)
        )
