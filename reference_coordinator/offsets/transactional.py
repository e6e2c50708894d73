"""Offsets that wait for the end of their producers' transactions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from reference_coordinator.core.ids import GroupId, ProducerId, TopicPartition
from reference_coordinator.offsets.values import OffsetAndMetadata

Offsets = dict[TopicPartition, OffsetAndMetadata]


@dataclass(slots=True)
class TransactionalOffsets:
    """Offsets by producer, group and partition, in the order in which each key was first used.

    A producer stays registered with a group, even without offsets, until its transaction ends: the Scala
    coordinator does not remove the group until then.

    Source: OffsetMetadataManager.pendingTransactionalOffsets (4.3.1),
    GroupMetadata#pendingTransactionalOffsetCommits (3.9.2).
    """

    _by_producer: dict[ProducerId, dict[GroupId, Offsets]] = field(default_factory=dict)

    def prepare_txn_offset_commit(
        self, producer_id: ProducerId, group_id: GroupId, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Record a transaction's offsets, whether they are already in the log or still being written.

        Source: GroupMetadata#prepareTxnOffsetCommit (3.9.2).
        """
        self._by_producer.setdefault(producer_id, {}).setdefault(group_id, {}).update(offsets)

    def on_txn_offset_commit_append(
        self,
        producer_id: ProducerId,
        group_id: GroupId,
        partition: TopicPartition,
        offset: OffsetAndMetadata,
        *,
        record_offset: int,
    ) -> None:
        """Record the position in the log of an offset that has now been written.

        Source: GroupMetadata#onTxnOffsetCommitAppend (3.9.2).
        """
        offsets = self._by_producer.get(producer_id, {}).get(group_id, {})
        if offsets.get(partition) == offset:
            offsets[partition] = replace(offset, record_offset=record_offset)

    def fail_pending_txn_offset_commit(
        self, producer_id: ProducerId, group_id: GroupId, partition: TopicPartition
    ) -> None:
        """Remove a partition's offset, whichever it is, because one could not be written.

        Source: GroupMetadata#failPendingTxnOffsetCommit (3.9.2).
        """
        groups = self._by_producer.get(producer_id, {})
        offsets = groups.get(group_id, {})
        offsets.pop(partition, None)
        if not offsets:
            groups.pop(group_id, None)

    def take(self, producer_id: ProducerId, wanted: Callable[[GroupId], bool]) -> dict[GroupId, Offsets]:
        """End a producer's transaction for the wanted groups and return their offsets in it."""
        groups = self._by_producer.get(producer_id, {})
        return {group_id: groups.pop(group_id) for group_id in tuple(groups) if wanted(group_id)}

    def clear(self, group_id: GroupId, partition: TopicPartition) -> None:
        """Remove a partition's offsets of all producers.

        Source: OpenTransactions#clear (4.3.1), GroupMetadata#removeOffsets (3.9.2).
        """
        for groups in self._by_producer.values():
            groups.get(group_id, {}).pop(partition, None)

    def forget_group(self, group_id: GroupId) -> None:
        """Remove a group from all transactions."""
        for groups in self._by_producer.values():
            groups.pop(group_id, None)

    def group_ids(self) -> tuple[GroupId, ...]:
        """Return the groups with which a producer is registered."""
        return tuple(dict.fromkeys(each for groups in self._by_producer.values() for each in groups))

    def partitions(self, group_id: GroupId) -> tuple[TopicPartition, ...]:
        """Return the partitions of a group that have offsets in open transactions.

        Decided in: OpenTransactions#forEachTopicPartition (4.3.1).
        """
        return tuple(
            dict.fromkeys(each for groups in self._by_producer.values() for each in groups.get(group_id, {}))
        )

    def contains(self, group_id: GroupId, partition: TopicPartition) -> bool:
        """Return whether a partition has offsets. Source: OpenTransactions#contains (4.3.1)."""
        return any(partition in groups.get(group_id, {}) for groups in self._by_producer.values())

    def by_producer(self) -> Iterator[tuple[ProducerId, GroupId, TopicPartition, OffsetAndMetadata]]:
        """Yield every offset with its producer, group and partition."""
        for producer_id, groups in self._by_producer.items():
            for group_id, offsets in groups.items():
                for partition, offset in offsets.items():
                    yield producer_id, group_id, partition, offset

    def has_transactions(self, group_id: GroupId) -> bool:
        """Return whether a producer is registered with a group, with or without offsets."""
        return any(group_id in groups for groups in self._by_producer.values())
