"""Requests and responses of transactions, free of versions, but for TxnOffsetCommit, which is the group's."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    GroupId,
    Millis,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    TransactionalId,
)
from reference_coordinator.core.values import value


@value
class InitProducerIdRequest:
    """A producer asks who it is; without a transactional id it will not have transactions."""

    transactional_id: TransactionalId | None
    transaction_timeout_ms: Millis
    producer_id: ProducerId = NO_PRODUCER_ID
    """Who it was, if it goes on after an error."""
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@value
class InitProducerIdResponse:
    """Who the producer is from now on."""

    error_code: Errors
    producer_id: ProducerId
    producer_epoch: ProducerEpoch


@value
class AddPartitionsToTxnTransaction:
    """Partitions that a transaction will write to, or only asks after."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


@value
class AddPartitionsToTxnRequest:
    """A producer announces where its transaction will write; from v4 on brokers do, for several."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...]


@value
class AddPartitionsToTxnPartitionResult:
    """Whether a partition takes part."""

    partition_index: int
    partition_error_code: Errors


@value
class AddPartitionsToTxnTopicResult:
    """Whether a topic's partitions take part."""

    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


@value
class AddPartitionsToTxnResult:
    """The same for a transaction."""

    transactional_id: TransactionalId
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


@value
class AddPartitionsToTxnResponse:
    """One entry a transaction; up to v3 the mapping makes the only one the response itself."""

    results_by_transaction: tuple[AddPartitionsToTxnResult, ...]
    error_code: Errors = Errors.NONE


@value
class AddOffsetsToTxnRequest:
    """A producer announces that its transaction will bring offsets for a group."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group_id: GroupId


@value
class AddOffsetsToTxnResponse:
    """Whether the group's partition takes part."""

    error_code: Errors


@value
class EndTxnRequest:
    """A producer commits or aborts its transaction."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    committed: bool


@value
class EndTxnResponse:
    """Whether the transaction is decided; from v5 on with the producer's new epoch."""

    error_code: Errors
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@value
class WritableTxnMarkerTopic:
    """Partitions of one topic that a marker is for."""

    name: str
    partition_indexes: tuple[int, ...]


@value
class WritableTxnMarker:
    """The end of one producer's transaction."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    transaction_result: bool
    """True for a commit."""
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: int
    transaction_version: int = 0


@value
class WriteTxnMarkersRequest:
    """Ends transactions in the logs of partitions. Brokers send it to each other, but a client may too."""

    markers: tuple[WritableTxnMarker, ...]


@value
class WritableTxnMarkerPartitionResult:
    """How it went for one partition."""

    partition_index: int
    error_code: Errors


@value
class WritableTxnMarkerTopicResult:
    """How it went for one topic's partitions."""

    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@value
class WritableTxnMarkerResult:
    """How it went for one producer."""

    producer_id: ProducerId
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@value
class WriteTxnMarkersResponse:
    """One entry a producer."""

    markers: tuple[WritableTxnMarkerResult, ...]


TransactionRequest = (
    InitProducerIdRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | EndTxnRequest
    | WriteTxnMarkersRequest
)
"""What the broker answers without its group coordinator."""

TransactionResponse = (
    InitProducerIdResponse
    | AddPartitionsToTxnResponse
    | AddOffsetsToTxnResponse
    | EndTxnResponse
    | WriteTxnMarkersResponse
)
"""What it answers."""
