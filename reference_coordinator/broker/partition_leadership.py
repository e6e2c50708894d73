"""The logs that a broker may serve: those that it leads, and whose records clients may read."""

from bisect import bisect_left
from collections.abc import Sequence

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, TopicPartition
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.batches import LogBatch, UnwritableBatchError
from reference_coordinator.log.conversion import to_record_batch
from reference_coordinator.topic_logs.partition_log import PartitionLog

NO_EPOCH = -1


def log_of_leader(
    broker: Broker, partition: TopicPartition, *, current_leader_epoch: int = NO_EPOCH
) -> PartitionLog | Errors:
    """Return a partition's log, or the error if this broker may not serve it.

    The logs of the transaction and share coordinators are not encoded here. They are refused as by a broker
    whose authorizer denies access to them.

    Source: ReplicaManager#getPartitionOrException, Partition#localLogWithEpochOrThrow (4.3.1).
    """
    topic = broker.topics.get(partition.topic)
    if topic is None or not 0 <= partition.partition < topic.num_partitions:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    if topic.is_internal and topic.name != OFFSETS_TOPIC:
        return Errors.TOPIC_AUTHORIZATION_FAILED
    leader_epoch = broker.cluster.leader_epoch(*partition)
    if current_leader_epoch not in {NO_EPOCH, leader_epoch}:
        is_fenced = current_leader_epoch < leader_epoch
        return Errors.FENCED_LEADER_EPOCH if is_fenced else Errors.UNKNOWN_LEADER_EPOCH
    leader = broker.cluster.leader(*partition)
    if leader is None or leader.node_id != broker.node.node_id:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if topic.name == OFFSETS_TOPIC:
        return _offsets_log(broker, partition.partition)
    return broker.topics.logs.log(partition)


def _offsets_log(broker: Broker, partition: int) -> PartitionLog | Errors:
    """Return a partition's log up to its latest record; KAFKA_STORAGE_ERROR if a record cannot be encoded.

    A Fetch that waits for more is answered at its timeout: the coordinator's log does not notify of writes.
    """
    log, kept = broker.topics.logs.log(TopicPartition(OFFSETS_TOPIC, partition)), broker.cluster.log
    if log.compactions != kept.compactions(partition):
        log = broker.topics.logs.renew(TopicPartition(OFFSETS_TOPIC, partition))
        log.compactions = kept.compactions(partition)
    try:
        for batch in _from(kept.batches(partition), log.log_end_offset):
            _mirror(broker, log, batch)
    except UnwritableBatchError:
        return Errors.KAFKA_STORAGE_ERROR
    log.log_end_offset = kept.end_offset(partition)
    return log


def _from(batches: Sequence[LogBatch], offset: int) -> Sequence[LogBatch]:
    return batches[bisect_left(batches, offset, key=lambda batch: batch.base_offset) :]


def _mirror(broker: Broker, log: PartitionLog, batch: LogBatch) -> None:
    if batch.records:
        last = batch.records[-1]
        is_commit = last.is_commit if isinstance(last, EndTransactionMarker) and batch.is_marker else None
        log.append_as_follower(to_record_batch(batch, broker.profile), is_commit=is_commit)
