"""Offsets of transactions."""

from faults.corpus import Replacement, fault
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.core.records import OffsetCommitTombstone
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.transactional import Offsets


@fault(
    "marker-beats-a-later-commit",
    "offsets.txn_commit:complete_pending_txn_offset_commit",
    source="redpanda-data/redpanda#31483 (CORE-17000), KAFKA-5247",
    saw="a plain commit is undone by the end of a transaction that began before it",
    red=("transactions/commit/plain-commit-after",),
)
def marker_beats_a_later_commit(
    healthy: Replacement, shard: CoordinatorShard, group_id: GroupId, offsets: Offsets
) -> None:
    """The offsets of an ended transaction count, whatever was committed meanwhile."""
    del healthy
    for partition, offset in offsets.items():
        shard.offsets.put(group_id, partition, offset)


@fault(
    "tombstones-leave-staged-offsets",
    "offsets.shard:CoordinatorShard._replay_offset_tombstone",
    source="redpanda-data/redpanda#31622",
    saw="an offset that was deleted while a transaction had it staged is back with the transaction's end",
    red=("transactions/delete/pending-offset",),
)
def tombstones_leave_staged_offsets(
    healthy: Replacement, shard: CoordinatorShard, record: OffsetCommitTombstone
) -> None:
    """A tombstone removes committed offsets only."""
    del healthy
    partition = TopicPartition(topic=record.topic, partition=record.partition)
    shard.offsets.remove(record.group_id, partition)


@fault(
    "deleted-groups-leave-staged-offsets",
    "offsets.expiration:all_partitions",
    source="redpanda-data/redpanda#31622",
    saw="an offset that a transaction had staged in a deleted group is in its successor after a restart",
    red=("transactions/delete/group-made-anew",),
)
def deleted_groups_leave_staged_offsets(
    healthy: Replacement, shard: CoordinatorShard, group_id: GroupId
) -> tuple[TopicPartition, ...]:
    """No tombstone is written for an offset that only a transaction has."""
    del healthy
    return tuple(shard.offsets.of_group(group_id))
