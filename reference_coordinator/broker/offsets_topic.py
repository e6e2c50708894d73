"""`__consumer_offsets` as clients read it: the coordinator's records, encoded as a release writes them."""

from bisect import bisect_left
from collections.abc import Sequence

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, TopicPartition
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.batches import LogBatch, UnwritableBatchError
from reference_coordinator.log.conversion import to_record_batch
from reference_coordinator.topic_logs.partition_log import PartitionLog


def offsets_log_of_leader(broker: Broker, partition: int) -> PartitionLog | Errors:
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
