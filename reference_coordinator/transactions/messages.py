"""Version-independent requests and responses of transactions, except TxnOffsetCommit (a group request)."""

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
    """A producer's request for its id and epoch; without a transactional id it has no transactions."""

    transactional_id: TransactionalId | None
    transaction_timeout_ms: Millis
    producer_id: ProducerId = NO_PRODUCER_ID
    """The producer's current id, if it continues after an error."""
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@value
class InitProducerIdResponse:
    """The producer's new id and epoch."""

    error_code: Errors
    producer_id: ProducerId
    producer_epoch: ProducerEpoch


@value
class AddPartitionsToTxnTransaction:
    """Partitions to add to a transaction, or only to verify."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


@value
class AddPartitionsToTxnRequest:
    """A request to add partitions to a producer's transaction; from v4 on, a broker's for several."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...]


@value
class AddPartitionsToTxnPartitionResult:
    """The result for one partition."""

    partition_index: int
    partition_error_code: Errors


@value
class AddPartitionsToTxnTopicResult:
    """The results for one topic's partitions."""

    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


@value
class AddPartitionsToTxnResult:
    """The results for one transaction."""

    transactional_id: TransactionalId
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


@value
class AddPartitionsToTxnResponse:
    """One result for each transaction; up to v3, the wire mapping writes the only result as the response."""

    results_by_transaction: tuple[AddPartitionsToTxnResult, ...]
    error_code: Errors = Errors.NONE


@value
class AddOffsetsToTxnRequest:
    """A request to add a group's offsets to a producer's transaction."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group_id: GroupId


@value
class AddOffsetsToTxnResponse:
    """The result of adding the group's partition of `__consumer_offsets`."""

    error_code: Errors


@value
class EndTxnRequest:
    """A producer's request to commit or abort its transaction."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    committed: bool


@value
class EndTxnResponse:
    """The result of the commit or abort; from v5 on with the producer's new epoch."""

    error_code: Errors
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@value
class WritableTxnMarkerTopic:
    """The partitions of one topic to which a marker is written."""

    name: str
    partition_indexes: tuple[int, ...]


@value
class WritableTxnMarker:
    """The end marker of one producer's transaction."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    transaction_result: bool
    """True for a commit."""
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: int
    transaction_version: int = 0


@value
class WriteTxnMarkersRequest:
    """A request to write end markers to partitions. Brokers send it to each other; a client may, too."""

    markers: tuple[WritableTxnMarker, ...]


@value
class WritableTxnMarkerPartitionResult:
    """The result for one partition."""

    partition_index: int
    error_code: Errors


@value
class WritableTxnMarkerTopicResult:
    """The results for one topic's partitions."""

    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@value
class WritableTxnMarkerResult:
    """The results for one producer."""

    producer_id: ProducerId
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@value
class WriteTxnMarkersResponse:
    """The response to a WriteTxnMarkersRequest, with one result for each producer."""

    markers: tuple[WritableTxnMarkerResult, ...]


TransactionRequest = (
    InitProducerIdRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | EndTxnRequest
    | WriteTxnMarkersRequest
)
"""The requests that the broker answers without its group coordinator."""

TransactionResponse = (
    InitProducerIdResponse
    | AddPartitionsToTxnResponse
    | AddOffsetsToTxnResponse
    | EndTxnResponse
    | WriteTxnMarkersResponse
)
"""The broker's answers to these requests."""
