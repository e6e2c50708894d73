"""Requests and responses about topics' logs, and what else clients ask of a broker beside its coordinators.

They are free of versions. A topic has a name or, in the latest versions of some, an id.
"""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerId, TopicId, TransactionalId
from reference_coordinator.core.values import value


@value
class OfClients:
    """What is asked in this module, so that one look tells it from what coordinators are asked."""


@value
class PartitionProduceData:
    """Records for a partition, as they came."""

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
    """Brings records; with 0 acks nobody wants to hear of it."""

    transactional_id: TransactionalId | None
    acks: int
    timeout_ms: Millis
    topic_data: tuple[TopicProduceData, ...]


@value
class RecordError:
    """What is wrong with one record of a batch."""

    batch_index: int
    batch_index_error_message: str | None


@value
class PartitionProduceResponse:
    """Where a partition's records are."""

    index: int
    error_code: Errors
    base_offset: int = -1
    log_append_time: Millis | None = None
    """Only of a batch that was there already; else records keep the time that their producer gave them."""
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None


@value
class TopicProduceResponse:
    """The same for a topic."""

    name: str
    topic_id: TopicId | None
    partition_responses: tuple[PartitionProduceResponse, ...]


@value
class ProduceResponse:
    """Where the records are."""

    responses: tuple[TopicProduceResponse, ...]


@value
class Unanswered:
    """Stands for the answer where a client wants none; if it failed, its connection is closed instead."""

    failure: str | None


@value
class FetchPartition:
    """What is wanted of a partition."""

    partition: int
    current_leader_epoch: int = -1
    fetch_offset: int
    partition_max_bytes: int


@value
class FetchTopic:
    """What is wanted of a topic."""

    topic: str = ""
    topic_id: TopicId | None = None
    partitions: tuple[FetchPartition, ...]


@value
class FetchRequest(OfClients):
    """Asks for records from offsets on, and waits for a while if there are too few."""

    max_wait_ms: Millis
    min_bytes: int
    max_bytes: int
    is_committed: bool
    """Whether records of open transactions are left out, and those that were aborted named."""
    session_id: int = 0
    session_epoch: int = -1
    topics: tuple[FetchTopic, ...]


@value
class AbortedTransactionData:
    """A transaction whose records among those that are sent do not count."""

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
    """Records. The session is always 0: a broker need not keep sessions, and this one does not."""

    error_code: Errors
    responses: tuple[FetchableTopicResponse, ...]
    session_id: int = 0


@value
class ListOffsetsPartition:
    """A time to look for; the negative ones are names of ends of the log."""

    partition_index: int
    current_leader_epoch: int = -1
    timestamp: Millis


@value
class ListOffsetsTopic:
    """The same for a topic."""

    name: str
    partitions: tuple[ListOffsetsPartition, ...]


@value
class ListOffsetsRequest(OfClients):
    """Asks which offsets belong to which times."""

    is_committed: bool
    topics: tuple[ListOffsetsTopic, ...]


@value
class ListOffsetsPartitionResponse:
    """The offset of a time; -1 where there is none."""

    partition_index: int
    error_code: Errors
    timestamp: Millis = Millis(-1)
    offset: int = -1
    leader_epoch: int = -1


@value
class ListOffsetsTopicResponse:
    """The same for a topic."""

    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


@value
class ListOffsetsResponse:
    """One entry a topic, in request order."""

    topics: tuple[ListOffsetsTopicResponse, ...]


@value
class OffsetForLeaderPartition:
    """The epoch whose end is asked for."""

    partition: int
    current_leader_epoch: int
    leader_epoch: int


@value
class OffsetForLeaderTopic:
    """The same for a topic."""

    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


@value
class OffsetForLeaderEpochRequest(OfClients):
    """Asks where epochs end, to find out whether a log was cut off."""

    topics: tuple[OffsetForLeaderTopic, ...]


@value
class EpochEndOffset:
    """Where an epoch ends."""

    partition: int
    error_code: Errors
    leader_epoch: int = -1
    end_offset: int = -1


@value
class OffsetForLeaderTopicResult:
    """The same for a topic."""

    topic: str
    partitions: tuple[EpochEndOffset, ...]


@value
class OffsetForLeaderEpochResponse:
    """One entry a topic, in request order."""

    topics: tuple[OffsetForLeaderTopicResult, ...]


@value
class DeleteRecordsPartition:
    """Before which offset records may go; -1 for all."""

    partition_index: int
    offset: int


@value
class DeleteRecordsTopic:
    """The same for a topic."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


@value
class DeleteRecordsRequest(OfClients):
    """Asks to forget records."""

    topics: tuple[DeleteRecordsTopic, ...]


@value
class DeleteRecordsPartitionResult:
    """From where on a log goes now."""

    partition_index: int
    error_code: Errors
    low_watermark: int = -1


@value
class DeleteRecordsTopicResult:
    """The same for a topic."""

    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


@value
class DeleteRecordsResponse:
    """One entry a topic, in request order."""

    topics: tuple[DeleteRecordsTopicResult, ...]


@value
class CreatePartitionsTopic:
    """How many partitions a topic is to have."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None
    """The brokers of each new partition, the one that leads first; None leaves them to the broker."""


@value
class CreatePartitionsRequest(OfClients):
    """Asks for more partitions."""

    topics: tuple[CreatePartitionsTopic, ...]
    validate_only: bool


@value
class CreatePartitionsTopicResult:
    """How it went for one topic."""

    name: str
    error_code: Errors
    error_message: str | None = None


@value
class CreatePartitionsResponse:
    """One result a topic."""

    results: tuple[CreatePartitionsTopicResult, ...]


@value
class DescribeClusterRequest(OfClients):
    """Asks for the brokers; endpoint type 1 is theirs."""

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
"""What is asked."""

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
"""What is answered."""
