"""The end of a transaction: its offsets take effect or are dropped."""

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.core.map_order import topic_partitions_in_scala_map_order
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.transactional import Offsets


def replay_end_transaction_marker(shard: CoordinatorShard, marker: EndTransactionMarker) -> None:
    """Commit a transaction's offsets, or drop them.

    Source: OffsetMetadataManager#replayEndTransactionMarker (4.3.1),
    GroupMetadataManager#handleTxnCompletion (3.9.2).
    """
    ended = shard.offsets.transactions.take(
        marker.producer_id, lambda group_id: shard.partition_for(group_id) == marker.partition
    )
    if not marker.is_commit:
        return
    for group_id, offsets in ended.items():
        try:
            complete_pending_txn_offset_commit(shard, group_id, offsets)
        except IllegalStateError:
            # No client gets an error: Kafka does this on a separate thread.
            return


def complete_pending_txn_offset_commit(shard: CoordinatorShard, group_id: GroupId, offsets: Offsets) -> None:
    """Commit one group's offsets of a transaction, except where later ones are already committed.

    Raises:
        IllegalStateError: an offset was never written to the log; those after it in the map are lost.

    Source: GroupMetadata#completePendingTxnOffsetCommit (3.9.2).
    """
    in_order = topic_partitions_in_scala_map_order((each.topic, each.partition) for each in offsets)
    for topic, partition in in_order:
        named = TopicPartition(topic=topic, partition=partition)
        if offsets[named].record_offset is None:
            raise IllegalStateError("an offset that was never written is to be committed")
        shard.offsets.put_if_newer(group_id, named, offsets[named])
