"""Produce: write batches of clients to the logs of partitions."""

from collections.abc import Sequence
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.broker.topics import Topic
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.topic_configs import MAX_MESSAGE_BYTES
from reference_coordinator.topic_logs.batch import BatchHeader, keyless_records, read_header
from reference_coordinator.topic_logs.messages import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    RecordError,
    TopicProduceResponse,
    Unanswered,
)
from reference_coordinator.topic_logs.partition_log import PartitionLog
from reference_coordinator.topic_logs.settings import LogSettings, log_settings

_ALL: Final = -1
_NO_ACKS: Final = 0
_REPLICAS: Final = 1
_ERRORS_SHOWN: Final = 3
_FIRST_ABORTABLE: Final = 11
_FIRST_IMPLICIT_ADD: Final = 12
_ADMIN_CLIENT: Final = "__admin_client"
_UNVERIFIED: Final = frozenset(
    {
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.CONCURRENT_TRANSACTIONS,
    }
)
"""Errors that older clients do not retry, and which are therefore replaced by another one."""


def handle_produce(
    broker: Broker, transactions: TransactionApis, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Unanswered:
    """Write the batches of a request, each partition independently.

    Source: KafkaApis#handleProduceRequest, ReplicaManager#handleProduceAppend (4.3.1).
    """
    append = _Append(broker, transactions, request, context)
    responses: list[TopicProduceResponse] = []
    for topic in request.topic_data:
        known = None if topic.topic_id is None else broker.topics.get_by_id(topic.topic_id)
        name = topic.name if known is None else known.name
        is_nameless = topic.topic_id is not None and known is None
        responses.append(
            TopicProduceResponse(
                name=name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    _refused(each.index, Errors.UNKNOWN_TOPIC_ID)
                    if is_nameless
                    else append.respond(name, each)
                    for each in topic.partition_data
                ),
            )
        )
    response = ProduceResponse(responses=tuple(responses))
    return Unanswered(failure=_failure(response)) if request.acks == _NO_ACKS else response


class _Append:
    """The appends of one request."""

    def __init__(
        self, broker: Broker, transactions: TransactionApis, request: ProduceRequest, context: RequestContext
    ) -> None:
        self._broker = broker
        self._transactions = transactions
        self._request = request
        self._context = context

    def respond(self, topic: str, data: PartitionProduceData) -> PartitionProduceResponse:
        """Write a partition's batch, and return its position or the error.

        Source: ReplicaManager#appendRecordsToLeader, Partition#appendRecordsToLeader (4.3.1).
        """
        partition = TopicPartition(topic, data.index)
        header = read_header(data.records, api_version=self._context.api_version)
        log = log_of_leader(self._broker, partition)
        if log is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            return _refused(data.index, log)
        error = self._refusal(topic, header)
        if isinstance(header, Errors) or error is not Errors.NONE:
            return _refused(data.index, error)
        if isinstance(log, Errors):
            return _refused(data.index, log)
        error = self._verify(partition, header)
        if error is not Errors.NONE:
            return _refused(data.index, error)
        return self._append(log, partition, data.records, header)

    def _append(
        self, log: PartitionLog, partition: TopicPartition, records: bytes, header: BatchHeader
    ) -> PartitionProduceResponse:
        epoch = self._broker.cluster.leader_epoch(*partition)
        index, start_offset = partition.partition, log.log_start_offset
        log.settings = self._settings(partition.topic)
        if self._lacks_replicas():
            return _refused(index, Errors.NOT_ENOUGH_REPLICAS, log_start_offset=start_offset)
        keyless = keyless_records(records) if log.settings.is_compacted else ()
        if keyless:
            return _without_keys(partition, keyless, log_start_offset=start_offset)
        try:
            now_ms = self._broker.cluster.now_ms
            appended = log.append_as_leader(records, header, leader_epoch=epoch, now_ms=now_ms)
        except CoordinatorError as refusal:
            return _refused(index, refusal.error, log_start_offset=start_offset)
        self._broker.topics.logs.changed(partition)
        is_compacted = log.settings.is_compacted
        self._broker.cluster.log_manager.wake(self._broker.config, now_ms=now_ms, is_compacted=is_compacted)
        return PartitionProduceResponse(
            index=index,
            error_code=Errors.NONE,
            base_offset=appended.base_offset,
            log_append_time=appended.timestamp_ms,
            log_start_offset=start_offset,
        )

    def _refusal(self, topic: str, header: BatchHeader | Errors) -> Errors:
        """Return the error of a batch that is found without its log, or else NONE."""
        broker, request = self._broker, self._request
        if isinstance(header, Errors):
            return header
        if header.is_transactional and request.transactional_id is None:
            return Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if request.acks not in {_ALL, _NO_ACKS, 1}:
            return Errors.INVALID_REQUIRED_ACKS
        known = broker.topics.get(topic)
        if known is not None and known.is_internal:
            # Coordinators' records are not accepted as bytes: even an admin client is not authorized.
            is_admin = self._context.client_id == _ADMIN_CLIENT
            return Errors.TOPIC_AUTHORIZATION_FAILED if is_admin else Errors.INVALID_TOPIC_EXCEPTION
        if header.size_bytes > self._max_message_bytes(known):
            return Errors.MESSAGE_TOO_LARGE
        return Errors.NONE

    def _settings(self, topic: str) -> LogSettings:
        known = self._broker.topics.get(topic)
        return log_settings(self._broker.config, () if known is None else known.configs)

    def _max_message_bytes(self, topic: Topic | None) -> int:
        """Return a topic's maximum batch size. Source: UnifiedLog#analyzeAndValidateRecords (4.3.1)."""
        configured = {} if topic is None else dict(topic.configs)
        return int(configured.get(MAX_MESSAGE_BYTES, self._broker.config.message_max_bytes))

    def _lacks_replicas(self) -> bool:
        """Source: Partition#appendRecordsToLeader (4.3.1)."""
        is_capped = self._broker.profile.has(Behaviour.MIN_INSYNC_REPLICAS_CAPPED)
        wanted = self._broker.config.min_insync_replicas
        return self._request.acks == _ALL and wanted > _REPLICAS and not is_capped

    def _verify(self, partition: TopicPartition, header: BatchHeader) -> Errors:
        """Verify that the partition is part of the producer's transaction; from v12 on, add it.

        Source: ReplicaManager#maybeSendPartitionsToTransactionCoordinator (4.3.1).
        """
        if self._request.transactional_id is None or not header.is_transactional:
            return Errors.NONE
        version = self._context.api_version
        error = self._transactions.verify_partition(
            self._request.transactional_id,
            header.producer_id,
            header.producer_epoch,
            partition,
            adds=version >= _FIRST_IMPLICIT_ADD,
        )
        if error is Errors.PRODUCER_FENCED:
            return Errors.INVALID_PRODUCER_EPOCH
        if error is Errors.TRANSACTION_ABORTABLE and version < _FIRST_ABORTABLE:
            return Errors.INVALID_TXN_STATE
        is_said_so = error is Errors.CONCURRENT_TRANSACTIONS and version >= _FIRST_IMPLICIT_ADD
        return Errors.NOT_ENOUGH_REPLICAS if error in _UNVERIFIED and not is_said_so else error


def _refused(index: int, error: Errors, *, log_start_offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error, log_start_offset=log_start_offset)


def _without_keys(
    partition: TopicPartition, keyless: Sequence[int], *, log_start_offset: int
) -> PartitionProduceResponse:
    """Refuse a batch for a compacted topic because it has records without keys.

    Source: LogValidator#validateKey, LogValidator#processRecordErrors (4.3.1).
    """
    topic, index = partition
    why = f"Compacted topic cannot accept message without key in topic partition {topic}-{index}."
    shown = ", ".join(f"RecordError(batchIndex={each}, message='{why}')" for each in keyless[:_ERRORS_SHOWN])
    return PartitionProduceResponse(
        index=index,
        error_code=Errors.INVALID_RECORD,
        log_start_offset=log_start_offset,
        record_errors=tuple(RecordError(batch_index=each, batch_index_error_message=why) for each in keyless),
        error_message=f"One or more records have been rejected due to {len(keyless)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]",
    )


def _failure(response: ProduceResponse) -> str | None:
    """Return the reason to close the connection of a client that expects no answer; None without errors."""
    errors = {
        each.error_code.name
        for topic in response.responses
        for each in topic.partition_responses
        if each.error_code is not Errors.NONE
    }
    return f"a Produce that wants no answer failed: {', '.join(sorted(errors))}" if errors else None
