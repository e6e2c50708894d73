"""Partitions of clients' topics in transactions: add them, and write end markers to them."""

from collections.abc import Mapping

from reference_coordinator.broker.cluster_state import ClusterState
from reference_coordinator.broker.topics import Topics
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ProducerId, TopicPartition, TransactionalId
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.offsets_log import MarkerHeader
from reference_coordinator.transactions import messages as txn
from reference_coordinator.transactions.coordinator import TransactionCoordinator


def take_part(
    coordinator: TransactionCoordinator, topics: Topics, asked: txn.AddPartitionsToTxnTransaction
) -> Mapping[TopicPartition, Errors]:
    """Add partitions to a transaction, or only verify them; if one does not exist, none is added.

    Source: KafkaApis#handleAddPartitionsToTxnRequest (4.3.1).
    """
    missing = {each for each in asked.partitions if not topics.has_partition(*each)}
    if missing:
        return {
            each: Errors.UNKNOWN_TOPIC_OR_PARTITION if each in missing else Errors.OPERATION_NOT_ATTEMPTED
            for each in asked.partitions
        }
    producer = (asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        verify = coordinator.handle_verify_partitions_in_transaction
        return {each: verify(*producer, each) for each in asked.partitions}
    error = coordinator.handle_add_partitions_to_transaction(*producer, asked.partitions)
    return dict.fromkeys(asked.partitions, error)


def result_of(
    transactional_id: TransactionalId, errors: Mapping[TopicPartition, Errors]
) -> txn.AddPartitionsToTxnResult:
    """Return the errors of a transaction's partitions, grouped by topic.

    Source: AddPartitionsToTxnResponse#resultForTransaction (4.3.1).
    """
    return txn.AddPartitionsToTxnResult(
        transactional_id=transactional_id,
        topic_results=tuple(
            txn.AddPartitionsToTxnTopicResult(
                name=topic,
                results_by_partition=tuple(
                    txn.AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
                    for index, error in of_topic
                ),
            )
            for topic, of_topic in _by_topic(errors).items()
        ),
    )


def marker_result(
    producer_id: ProducerId, errors: Mapping[TopicPartition, Errors]
) -> txn.WritableTxnMarkerResult:
    """Return the errors of a producer's markers, grouped by topic.

    Source: WriteTxnMarkersResponse#errorsByProducerId (4.3.1).
    """
    return txn.WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=tuple(
            txn.WritableTxnMarkerTopicResult(
                name=topic,
                partitions=tuple(
                    txn.WritableTxnMarkerPartitionResult(partition_index=index, error_code=error)
                    for index, error in of_topic
                ),
            )
            for topic, of_topic in _by_topic(errors).items()
        ),
    )


def _by_topic(errors: Mapping[TopicPartition, Errors]) -> Mapping[str, list[tuple[int, Errors]]]:
    found: dict[str, list[tuple[int, Errors]]] = {}
    for partition, error in errors.items():
        found.setdefault(partition.topic, []).append((partition.partition, error))
    return found


def append_end_txn_marker(
    cluster: ClusterState, topic: str, marker: EndTransactionMarker, header: MarkerHeader
) -> Errors:
    """Write an end marker to a client topic's log; return NONE if the partition no longer exists.

    Source: TransactionMarkerChannelManager#addTxnMarkersToBrokerQueue (4.3.1).
    """
    partition = TopicPartition(topic, marker.partition)
    if not cluster.topics.has_partition(*partition):
        return Errors.NONE
    logs = cluster.topics.logs
    error = logs.log(partition).append_end_txn_marker(
        marker,
        coordinator_epoch=header.coordinator_epoch,
        transaction_version=header.transaction_version,
        leader_epoch=cluster.leader_epoch(*partition),
        now_ms=cluster.now_ms,
    )
    logs.changed(partition)
    return error
