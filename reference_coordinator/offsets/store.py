"""The committed offsets of the groups, and those on their way to the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.offsets.transactional import TransactionalOffsets
from reference_coordinator.offsets.values import OffsetAndMetadata


@dataclass(slots=True)
class OffsetStore:
    """Offsets by group and partition.

    Source: OffsetMetadataManager (4.3.1), where offsets live apart from their group and may outlive
    it in the log, and GroupMetadata (3.9.2).
    """

    _committed: dict[GroupId, dict[TopicPartition, OffsetAndMetadata]] = field(default_factory=dict)
    _pending: dict[GroupId, dict[TopicPartition, OffsetAndMetadata]] = field(default_factory=dict)
    transactions: TransactionalOffsets = field(default_factory=TransactionalOffsets)
    """Offsets of transactions that have not ended."""

    def of_group(self, group_id: GroupId) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """A group's committed offsets, in the order of their first commit."""
        return self._committed.get(group_id, {})

    def groups_with_any(self) -> tuple[GroupId, ...]:
        """The groups that have offsets, committed or of open transactions."""
        return tuple(dict.fromkeys((*self._committed, *self.transactions.group_ids())))

    def put_if_newer(self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """Let an offset be committed unless one that stands later in the log already is."""
        current = self._committed.get(group_id, {}).get(partition)
        if current is None or current.older_than(offset):
            self.put(group_id, partition, offset)

    def put(self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """Let an offset be committed."""
        self._committed.setdefault(group_id, {})[partition] = offset

    def remove(self, group_id: GroupId, partition: TopicPartition) -> bool:
        """Forget a committed offset; whether there was one."""
        offsets = self._committed.get(group_id, {})
        removed = offsets.pop(partition, None)
        if not offsets:
            self._committed.pop(group_id, None)
        return removed is not None

    def group_ids(self) -> tuple[GroupId, ...]:
        """The groups of which anything is known, be it on its way."""
        return tuple(dict.fromkeys((*self.groups_with_any(), *self._pending)))

    def forget_group(self, group_id: GroupId) -> None:
        """Forget everything about a group."""
        self._committed.pop(group_id, None)
        self._pending.pop(group_id, None)
        self.transactions.forget_group(group_id)

    def prepare_offset_commit(
        self, group_id: GroupId, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Note offsets on their way to the log. Source: GroupMetadata#prepareOffsetCommit (3.9.2)."""
        self._pending.setdefault(group_id, {}).update(offsets)

    def forget_pending(
        self, group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata | None = None
    ) -> None:
        """End the way of an offset, or of whatever is on the way for a partition.

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
        """Whether an offset is on its way.

        Source: GroupMetadata#hasPendingOffsetCommitsForTopicPartition (3.9.2).
        """
        return partition in self._pending.get(group_id, {})

    def has_offsets(self, group_id: GroupId) -> bool:
        """Whether there are offsets, committed or on their way, or was a transaction that has not ended.

        Source: GroupMetadata#hasOffsets (3.9.2).
        """
        return (
            group_id in self._committed
            or group_id in self._pending
            or self.transactions.has_transactions(group_id)
        )
