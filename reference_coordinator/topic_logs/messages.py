"""Requests and responses about topics' logs, and other client requests that no coordinator handles.

They are independent of API versions. A topic has a name or, in the latest versions of some APIs, an id.
"""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerId, TopicId, TransactionalId
from reference_coordinator.core.values import value


@value
class OfClients:
    """The base class of this module's requests, which distinguishes them from requests to coordinators."""


@value
class PartitionProduceData:
    """Records for a partition, as received."""

    index: int
    records: bytes


@value
class TopicProduceData:
    """Records for a topic."""

    name: str = ""
    topic_id: TopicId | None = None
    partition_data: tuple[PartitionProduceData, ...]


@value
class ProduceRequest(OfClients):
    """A request to write records; with 0 acks, the client expects no answer."""

    transactional_id: TransactionalId | None
    acks: int
    timeout_ms: Millis
    topic_data: tuple[TopicProduceData, ...]


@value
class RecordError:
    """The error of one record of a batch."""

    batch_index: int
    batch_index_error_message: str | None


@value
class PartitionProduceResponse:
    """The offsets of a partition's records, or an error."""

    index: int
    error_code: Errors
    base_offset: int = -1
    log_append_time: Millis | None = None
    """Set only for a duplicate batch; otherwise records keep the timestamps of their producer."""
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None


@value
class TopicProduceResponse:
    """The results for one topic's partitions."""

    name: str
    topic_id: TopicId | None
    partition_responses: tuple[PartitionProduceResponse, ...]


@value
class ProduceResponse:
    """The offsets of the written records."""

    responses: tuple[TopicProduceResponse, ...]


@value
class Unanswered:
    """The result of a request without an answer; if it failed, the connection is closed instead."""

    failure: str | None


@value
class FetchPartition:
    """A partition to fetch from."""

    partition: int
    current_leader_epoch: int = -1
    fetch_offset: int
    partition_max_bytes: int


@value
class FetchTopic:
    """A topic to fetch from."""

    topic: str = ""
    topic_id: TopicId | None = None
    partitions: tuple[FetchPartition, ...]


@value
class FetchRequest(OfClients):
    """A request for records from given offsets on, which waits for a time if there are too few."""

    max_wait_ms: Millis
    min_bytes: int
    max_bytes: int
    is_committed: bool
    """Whether records of open transactions are left out, and aborted transactions are listed."""
    session_id: int = 0
    session_epoch: int = -1
    topics: tuple[FetchTopic, ...]


@value
class AbortedTransactionData:
    """An aborted transaction, whose records in the response are to be skipped."""

    producer_id: ProducerId
    first_offset: int


@value
class FetchPartitionData:
    """Records of a partition."""

    partition_index: int
    error_code: Errors
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: tuple[AbortedTransactionData, ...] | None = None
    preferred_read_replica: int = -1
    records: bytes | None = b""


@value
class FetchableTopicResponse:
    """Records of a topic."""

    topic: str
    topic_id: TopicId | None
    partitions: tuple[FetchPartitionData, ...]


@value
class FetchResponse:
    """Records. The session is always 0: a broker need not support sessions, and this one does not."""

    error_code: Errors
    responses: tuple[FetchableTopicResponse, ...]
    session_id: int = 0


@value
class ListOffsetsPartition:
    """A timestamp to look up; the negative values name special offsets, such as the ends of the log."""

    partition_index: int
    current_leader_epoch: int = -1
    timestamp: Millis


@value
class ListOffsetsTopic:
    """The partitions of one topic."""

    name: str
    partitions: tuple[ListOffsetsPartition, ...]


@value
class ListOffsetsRequest(OfClients):
    """A request for the offsets of timestamps."""

    is_committed: bool
    topics: tuple[ListOffsetsTopic, ...]


@value
class ListOffsetsPartitionResponse:
    """The offset of a timestamp; -1 if there is none."""

    partition_index: int
    error_code: Errors
    timestamp: Millis = Millis(-1)
    offset: int = -1
    leader_epoch: int = -1


@value
class ListOffsetsTopicResponse:
    """The offsets of one topic's partitions."""

    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


@value
class ListOffsetsResponse:
    """The offsets, with one entry for each topic, in request order."""

    topics: tuple[ListOffsetsTopicResponse, ...]


@value
class OffsetForLeaderPartition:
    """A partition, and the epoch whose end offset is requested."""

    partition: int
    current_leader_epoch: int
    leader_epoch: int


@value
class OffsetForLeaderTopic:
    """The partitions of one topic."""

    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


@value
class OffsetForLeaderEpochRequest(OfClients):
    """A request for the end offsets of leader epochs, to detect whether a log was truncated."""

    topics: tuple[OffsetForLeaderTopic, ...]


@value
class EpochEndOffset:
    """The end offset of an epoch."""

    partition: int
    error_code: Errors
    leader_epoch: int = -1
    end_offset: int = -1


@value
class OffsetForLeaderTopicResult:
    """The end offsets of one topic's partitions."""

    topic: str
    partitions: tuple[EpochEndOffset, ...]


@value
class OffsetForLeaderEpochResponse:
    """The end offsets, with one entry for each topic, in request order."""

    topics: tuple[OffsetForLeaderTopicResult, ...]


@value
class DeleteRecordsPartition:
    """A partition, and the offset before which records are deleted; -1 for all records."""

    partition_index: int
    offset: int


@value
class DeleteRecordsTopic:
    """The partitions of one topic."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


@value
class DeleteRecordsRequest(OfClients):
    """A request to delete records."""

    topics: tuple[DeleteRecordsTopic, ...]


@value
class DeleteRecordsPartitionResult:
    """The new start offset of a log."""

    partition_index: int
    error_code: Errors
    low_watermark: int = -1


@value
class DeleteRecordsTopicResult:
    """The new start offsets of one topic's partitions."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


@value
class DeleteRecordsResponse:
    """The new start offsets, with one entry for each topic, in request order."""

    topics: tuple[DeleteRecordsTopicResult, ...]


@value
class CreatePartitionsTopic:
    """A topic, and the number of partitions that it is to have."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None
    """The replicas of each new partition, the leader first; None leaves the choice to the broker."""


@value
class CreatePartitionsRequest(OfClients):
    """A request to add partitions to topics."""

    topics: tuple[CreatePartitionsTopic, ...]
    validate_only: bool


@value
class CreatePartitionsTopicResult:
    """The result for one topic."""

    name: str
    error_code: Errors
    error_message: str | None = None


@value
class CreatePartitionsResponse:
    """The response to a CreatePartitionsRequest, with one result for each topic."""

    results: tuple[CreatePartitionsTopicResult, ...]


@value
class DescribeClusterRequest(OfClients):
    """A request for the brokers of the cluster; endpoint type 1 means brokers."""

    include_cluster_authorized_operations: bool
    endpoint_type: int = 1


@value
class DescribeClusterBroker:
    """A broker's address."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@value
class DescribeClusterResponse:
    """The cluster as the broker sees it."""

    error_code: Errors
    error_message: str | None
    cluster_id: str
    controller_id: int
    brokers: tuple[DescribeClusterBroker, ...]
    cluster_authorized_operations: int
    endpoint_type: int = 1


ClientRequest = (
    ProduceRequest
    | FetchRequest
    | ListOffsetsRequest
    | OffsetForLeaderEpochRequest
    | DeleteRecordsRequest
    | CreatePartitionsRequest
    | DescribeClusterRequest
)
"""All requests of this module."""

ClientResponse = (
    ProduceResponse
    | Unanswered
    | FetchResponse
    | ListOffsetsResponse
    | OffsetForLeaderEpochResponse
    | DeleteRecordsResponse
    | CreatePartitionsResponse
    | DescribeClusterResponse
)
"""All responses of this module."""
