"""Processing of transaction requests around the coordinators: routing, markers, error codes by version."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, assert_never

from reference_coordinator.broker.cluster_state import ClusterState
from reference_coordinator.broker.topics import TRANSACTION_STATE_TOPIC
from reference_coordinator.broker.transaction_partitions import (
    append_end_txn_marker,
    marker_result,
    result_of,
    take_part,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    OFFSETS_TOPIC,
    GroupId,
    Millis,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    TransactionalId,
)
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.offsets_log import MarkerHeader
from reference_coordinator.messages import RequestContext, TxnOffsetCommitRequest
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.transactions import messages as txn
from reference_coordinator.transactions.coordinator import Markers, TransactionCoordinator
from reference_coordinator.transactions.state import TransactionState

_FIRST_FENCED_ADD_PARTITIONS: Final = 2
_FIRST_FENCED_ADD_OFFSETS: Final = 2
_FIRST_FENCED_END_TXN: Final = 2
_FIRST_FENCED_INIT_PRODUCER_ID: Final = 4
_FIRST_EPOCH_BUMP_END_TXN: Final = 5
_FIRST_ABORTABLE_TXN_OFFSET_COMMIT: Final = 4
_FIRST_IMPLICIT_TXN_OFFSET_COMMIT: Final = 5


@dataclass(slots=True, kw_only=True)
class TransactionApis:
    """A broker's transaction coordinator, and the requests of other APIs to a transaction's coordinator."""

    profile: Profile
    cluster: ClusterState
    node_id: int
    config: GroupCoordinatorConfig
    _coordinator: TransactionCoordinator = field(init=False)
    _leader: TransactionCoordinator = field(init=False)
    """The coordinator on whichever broker leads, as other brokers reach it."""

    def __post_init__(self) -> None:
        coordinator = partial(
            TransactionCoordinator,
            profile=self.profile,
            store=self.cluster.transactions,
            max_timeout_ms=self.config.transaction_max_timeout_ms,
        )
        self._coordinator = coordinator(owns_log=lambda: self._leader_id() == self.node_id)
        self._leader = coordinator(owns_log=lambda: self._leader_id() is not None)

    def _partition_for(self, group_id: GroupId) -> int:
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def handle(self, request: txn.TransactionRequest, context: RequestContext) -> txn.TransactionResponse:
        """Answer a request, and write the resulting markers. Source: KafkaApis#handle (4.3.1)."""
        match request:
            case txn.InitProducerIdRequest():
                return self._handle_init_producer_id(request, context)
            case txn.AddPartitionsToTxnRequest():
                return self._handle_add_partitions_to_txn(request, context)
            case txn.AddOffsetsToTxnRequest():
                return self._handle_add_offsets_to_txn(request, context)
            case txn.EndTxnRequest():
                return self._handle_end_txn(request, context)
            case txn.WriteTxnMarkersRequest():
                return self._handle_write_txn_markers(request)
            case _:
                assert_never(request)

    def write_parked_markers(self) -> None:
        """Try again to write parked markers, once the group coordinator is available."""
        parked = tuple(self.cluster.transactions.parked)
        self.cluster.transactions.parked.clear()
        for markers in parked:
            if markers.are_written:
                self._end(markers)
            else:
                self._write(markers)

    def verify(self, request: TxnOffsetCommitRequest, context: RequestContext) -> Errors:
        """Verify that the group's partition is part of a transaction; from v5 on, add it.

        Source: ReplicaManager#maybeSendPartitionToTransactionCoordinator,
        AddPartitionsToTxnManager#addOrVerifyTransaction (4.3.1).
        """
        if not request.group_id or not self.profile.has(Behaviour.TXN_COMMIT_VERIFIED):
            return Errors.NONE
        partition = self._partition_for(request.group_id)
        if self._is_former(
            request.producer_epoch, self.cluster.log.producer_epoch(partition, request.producer_id)
        ):
            return Errors.INVALID_PRODUCER_EPOCH
        by_epoch = self.profile.has(Behaviour.VERIFIED_ANEW_FOR_OTHER_EPOCH)
        epoch = request.producer_epoch if by_epoch else None
        if self.cluster.log.has_ongoing_transaction(partition, request.producer_id, epoch):
            return Errors.NONE
        if self._leader_id() is None:
            return Errors.COORDINATOR_NOT_AVAILABLE
        adds = context.api_version >= _FIRST_IMPLICIT_TXN_OFFSET_COMMIT
        error = self._ask(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            TopicPartition(OFFSETS_TOPIC, partition),
            adds=adds,
        )
        if error is Errors.PRODUCER_FENCED:
            return Errors.INVALID_PRODUCER_EPOCH
        if error is Errors.TRANSACTION_ABORTABLE and context.api_version < _FIRST_ABORTABLE_TXN_OFFSET_COMMIT:
            return Errors.INVALID_TXN_STATE
        return error

    def verify_partition(
        self,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partition: TopicPartition,
        *,
        adds: bool,
    ) -> Errors:
        """Verify that the partition of a Produce is part of a transaction, or add it.

        Kafka verified Produce in earlier releases than offsets, but clients that follow the protocol cannot
        tell.

        Source: ReplicaManager#maybeSendPartitionsToTransactionCoordinator (4.3.1).
        """
        if not self.profile.has(Behaviour.TXN_COMMIT_VERIFIED):
            return Errors.NONE
        log = self.cluster.topics.logs.log(partition)
        if self._is_former(producer_epoch, log.producer_epoch(producer_id)):
            return Errors.INVALID_PRODUCER_EPOCH
        if log.has_ongoing_transaction(producer_id, producer_epoch):
            return Errors.NONE
        if self._leader_id() is None:
            return Errors.COORDINATOR_NOT_AVAILABLE
        return self._ask(transactional_id, producer_id, producer_epoch, partition, adds=adds)

    def _is_former(self, producer_epoch: ProducerEpoch, last: ProducerEpoch) -> bool:
        """Return whether an epoch is refused before a transaction coordinator is asked.

        Source: UnifiedLog#maybeStartTransactionVerification (4.1.0).
        """
        return producer_epoch < last and self.profile.has(Behaviour.FORMER_EPOCH_REFUSED_FIRST)

    def abort_timed_out(self, *, now_ms: Millis) -> None:
        """Abort transactions that have timed out.

        Kafka checks every ten seconds; here they are aborted exactly at their timeout.

        Source: TransactionCoordinator#abortTimedOutTransactions (4.3.1).
        """
        timeouts = self.cluster.transactions.timeouts
        if not timeouts or self._leader_id() != self.node_id:
            return
        for transactional_id in [each for each, at_ms in timeouts.items() if at_ms <= now_ms]:
            del timeouts[transactional_id]
            markers = self._coordinator.abort_timed_out_transaction(transactional_id)
            if markers is not None:
                self._write(markers)

    def next_deadline(self) -> Millis | None:
        """Return when the first open transaction times out."""
        timeouts = self.cluster.transactions.timeouts
        return min(timeouts.values()) if timeouts and self._leader_id() == self.node_id else None

    def _ask(
        self,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partition: TopicPartition,
        *,
        adds: bool,
    ) -> Errors:
        """Source: AddPartitionsToTxnManager#addOrVerifyTransaction (4.3.1)."""
        if not adds:
            return self._leader.handle_verify_partitions_in_transaction(
                transactional_id, producer_id, producer_epoch, partition
            )
        error = self._leader.handle_add_partitions_to_transaction(
            transactional_id, producer_id, producer_epoch, (partition,)
        )
        self._schedule_timeout(transactional_id)
        return error

    def _schedule_timeout(self, transactional_id: TransactionalId) -> None:
        """Schedule an open transaction's timeout unless it has one; cancel it if the transaction ended."""
        store = self.cluster.transactions
        transaction = store.transactions.get(transactional_id)
        if transaction is None or transaction.state is not TransactionState.ONGOING:
            store.timeouts.pop(transactional_id, None)
        else:
            at_ms = Millis(self.cluster.now_ms + transaction.transaction_timeout_ms + 1)
            store.timeouts.setdefault(transactional_id, at_ms)

    def _leader_id(self) -> int | None:
        # Transactions are not distributed: the leader of one partition of their log leads all partitions.
        leader = self.cluster.leader(TRANSACTION_STATE_TOPIC, 0)
        return None if leader is None else leader.node_id

    def _handle_init_producer_id(
        self, request: txn.InitProducerIdRequest, context: RequestContext
    ) -> txn.InitProducerIdResponse:
        """Source: KafkaApis#handleInitProducerIdRequest (4.3.1)."""
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return txn.InitProducerIdResponse(
                error_code=Errors.INVALID_REQUEST,
                producer_id=NO_PRODUCER_ID,
                producer_epoch=NO_PRODUCER_EPOCH,
            )
        response, markers = self._coordinator.handle_init_producer_id(request)
        if request.transactional_id is not None:
            self._schedule_timeout(request.transactional_id)
        if markers is not None:
            self._write(markers)
        reported = _fenced(response.error_code, context, _FIRST_FENCED_INIT_PRODUCER_ID)
        return replace(response, error_code=reported)

    def _handle_add_partitions_to_txn(
        self, request: txn.AddPartitionsToTxnRequest, context: RequestContext
    ) -> txn.AddPartitionsToTxnResponse:
        """Source: KafkaApis#handleAddPartitionsToTxnRequest (4.3.1)."""
        results: list[txn.AddPartitionsToTxnResult] = []
        for asked in request.transactions:
            errors = take_part(self._coordinator, self.cluster.topics, asked)
            self._schedule_timeout(asked.transactional_id)
            since = _FIRST_FENCED_ADD_PARTITIONS
            reported = {each: _fenced(error, context, since) for each, error in errors.items()}
            results.append(result_of(asked.transactional_id, reported))
        return txn.AddPartitionsToTxnResponse(results_by_transaction=tuple(results))

    def _handle_add_offsets_to_txn(
        self, request: txn.AddOffsetsToTxnRequest, context: RequestContext
    ) -> txn.AddOffsetsToTxnResponse:
        """Source: KafkaApis#handleAddOffsetsToTxnRequest (4.3.1)."""
        error = self._coordinator.handle_add_partitions_to_transaction(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            (TopicPartition(OFFSETS_TOPIC, self._partition_for(request.group_id)),),
        )
        self._schedule_timeout(request.transactional_id)
        return txn.AddOffsetsToTxnResponse(error_code=_fenced(error, context, _FIRST_FENCED_ADD_OFFSETS))

    def _handle_end_txn(self, request: txn.EndTxnRequest, context: RequestContext) -> txn.EndTxnResponse:
        """Source: KafkaApis#handleEndTxnRequest (4.3.1)."""
        response, markers = self._coordinator.handle_end_transaction(
            request, bumps_epoch=context.api_version >= _FIRST_EPOCH_BUMP_END_TXN
        )
        self._schedule_timeout(request.transactional_id)
        if markers is not None:
            self._write(markers)
        return replace(response, error_code=_fenced(response.error_code, context, _FIRST_FENCED_END_TXN))

    def _write(self, markers: Markers) -> None:
        """Write a transaction's markers; if a log with a newer epoch refuses, the transaction never ends.

        Source: TransactionMarkerRequestCompletionHandler#onComplete (4.3.1).
        """
        for partition in markers.partitions:
            marker = EndTransactionMarker(
                partition=partition.partition,
                producer_id=markers.producer_id,
                producer_epoch=markers.producer_epoch,
                is_commit=markers.is_commit,
            )
            error = self._write_marker(partition.topic, marker, MarkerHeader())
            if error is Errors.NONE:
                self._end(replace(markers, partitions=(partition,), are_written=True))
            elif error is Errors.NOT_LEADER_OR_FOLLOWER:
                self.cluster.transactions.parked.append(replace(markers, partitions=(partition,)))

    def _end(self, markers: Markers) -> None:
        """Record that markers are written, or park them until the group coordinator has loaded them.

        Source: KafkaApis#handleWriteTxnMarkersRequest (3.9.2).
        """
        for partition in markers.partitions:
            is_loaded = self._takes_end_at_once(partition)
            if is_loaded or not self.profile.has(Behaviour.TXN_END_WAITS_FOR_LOAD):
                self._coordinator.marker_written(markers, partition)
            else:
                self.cluster.transactions.parked.append(replace(markers, partitions=(partition,)))

    def _handle_write_txn_markers(self, request: txn.WriteTxnMarkersRequest) -> txn.WriteTxnMarkersResponse:
        """Write markers; return one result for each producer, and none for a producer without partitions.

        Source: KafkaApis#handleWriteTxnMarkersRequest (4.3.1).
        """
        errors: dict[ProducerId, dict[TopicPartition, Errors]] = {}
        for marker in request.markers:
            for topic in marker.topics:
                of_producer = errors.setdefault(marker.producer_id, {})
                of_producer.update(self._write_to(topic, marker))
        return txn.WriteTxnMarkersResponse(
            markers=tuple(
                marker_result(producer_id, of_producer)
                for producer_id, of_producer in errors.items()
                if of_producer
            )
        )

    def _write_to(
        self, topic: txn.WritableTxnMarkerTopic, asked: txn.WritableTxnMarker
    ) -> Iterable[tuple[TopicPartition, Errors]]:
        header = MarkerHeader(
            coordinator_epoch=asked.coordinator_epoch, transaction_version=asked.transaction_version
        )
        for index in topic.partition_indexes:
            error = Errors.UNKNOWN_TOPIC_OR_PARTITION
            if self.cluster.topics.has_partition(topic.name, index):
                marker = EndTransactionMarker(
                    partition=index,
                    producer_id=asked.producer_id,
                    producer_epoch=asked.producer_epoch,
                    is_commit=asked.transaction_result,
                )
                leads = topic.name != OFFSETS_TOPIC or self._leads(index)
                error = (
                    self._write_marker(topic.name, marker, header) if leads else Errors.NOT_LEADER_OR_FOLLOWER
                )
            yield TopicPartition(topic.name, index), error

    def _leads(self, partition: int) -> bool:
        leader = self.cluster.leader(OFFSETS_TOPIC, partition)
        return leader is not None and leader.node_id == self.node_id

    def _write_marker(self, topic: str, marker: EndTransactionMarker, header: MarkerHeader) -> Errors:
        """Write one marker, through the leader of the partition.

        The Java group coordinator writes markers itself, so it must have loaded the partition.

        Source: KafkaApis#handleWriteTxnMarkersRequest (4.3.1).
        """
        if topic == TRANSACTION_STATE_TOPIC:
            return self.cluster.log.append_marker(topic, marker, header)
        if topic != OFFSETS_TOPIC:
            return append_end_txn_marker(self.cluster, topic, marker, header)
        leader = self.cluster.leading_peer(marker.partition)
        is_java = self.profile.coordinator is CoordinatorFamily.JAVA
        if leader is None or (is_java and not leader.coordinates(marker.partition)):
            return Errors.NOT_LEADER_OR_FOLLOWER
        error = self.cluster.log.append_marker(topic, marker, header)
        if error is Errors.NONE:
            leader.transaction_ended(marker)
        return error

    def _takes_end_at_once(self, partition: TopicPartition) -> bool:
        """Return whether a written marker takes effect at once; for offsets, once the log is loaded."""
        if partition.topic != OFFSETS_TOPIC:
            return True
        leader = self.cluster.leading_peer(partition.partition)
        return leader is not None and leader.coordinates(partition.partition)


def _fenced(error: Errors, context: RequestContext, since: int) -> Errors:
    """Convert PRODUCER_FENCED into the error that older versions have for it."""
    if error is Errors.PRODUCER_FENCED and context.api_version < since:
        return Errors.INVALID_PRODUCER_EPOCH
    return error
