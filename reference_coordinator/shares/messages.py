"""ShareFetch and ShareAcknowledge, and partition leaders' requests to the share coordinator (KIP-932)."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.shares.state_batches import StateBatch
from reference_coordinator.topic_logs.messages import OfClients


@value
class OfShares(OfClients):
    """The base class of the requests in this module."""


@value
class AcknowledgementBatch:
    """The acknowledgement of a range of records, with one type for all of them or one for each."""

    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...] = ()
    """0 gap (there is no such record), 1 accept, 2 release, 3 reject, 4 renew."""


@value
class SharePartitionRequest:
    """A partition that is fetched from, or whose records are acknowledged."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@value
class ShareTopicRequest:
    """The partitions of one topic in a share request."""

    topic_id: TopicId | None
    partitions: tuple[SharePartitionRequest, ...]


@value
class ForgottenShareTopic:
    """Partitions to remove from a share session."""

    topic_id: TopicId | None
    partitions: tuple[int, ...] = ()


@value
class ShareFetchRequest(OfShares):
    """A request to acquire records, which may also acknowledge others."""

    group_id: GroupId | None = None
    member_id: str | None
    share_session_epoch: int
    """0 opens a share session, -1 closes it."""
    max_wait_ms: Millis
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int = 0
    """0 whole batches, 1 no more records than requested."""
    is_renew_ack: bool = False
    topics: tuple[ShareTopicRequest, ...]
    forgotten_topics_data: tuple[ForgottenShareTopic, ...] = ()


@value
class ShareAcknowledgeRequest(OfShares):
    """A request to acknowledge records."""

    group_id: GroupId | None = None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool = False
    topics: tuple[ShareTopicRequest, ...]


@value
class LeaderIdAndEpoch:
    """The current leader of a partition, if it is not the broker that was asked."""

    leader_id: int = 0
    leader_epoch: int = 0


@value
class AcquiredRecords:
    """Records that a member has acquired, all with the same delivery count."""

    first_offset: int
    last_offset: int
    delivery_count: int


@value
class ShareFetchPartitionData:
    """The records of a partition, and the result of its acknowledgements."""

    partition_index: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None
    acknowledge_error_code: Errors = Errors.NONE
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    records: bytes | None = b""
    acquired_records: tuple[AcquiredRecords, ...] = ()


@value
class ShareFetchableTopicResponse:
    """The records and results of one topic's partitions."""

    topic_id: TopicId | None
    partitions: tuple[ShareFetchPartitionData, ...]


@value
class NodeEndpoint:
    """The address of a leader named in the response."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@value
class ShareFetchResponse:
    """The acquired records, and the results of the acknowledgements."""

    error_code: Errors
    error_message: str | None = None
    acquisition_lock_timeout: Millis = Millis(0)
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


@value
class ShareAcknowledgePartitionData:
    """The result of the acknowledgements of a partition."""

    partition_index: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


@value
class ShareAcknowledgeTopicResponse:
    """The results of the acknowledgements of one topic's partitions."""

    topic_id: TopicId | None
    partitions: tuple[ShareAcknowledgePartitionData, ...]


@value
class ShareAcknowledgeResponse:
    """The results of the acknowledgements."""

    error_code: Errors
    error_message: str | None = None
    acquisition_lock_timeout: Millis = Millis(0)
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


@value
class StatePartition:
    """A partition in a request for share state; fields that an API does not have keep their defaults."""

    partition: int
    state_epoch: int = -1
    leader_epoch: int = -1
    start_offset: int = -1
    delivery_complete_count: int = -1
    state_batches: tuple[StateBatch, ...] = ()


@value
class StateTopic:
    """The partitions of one topic in a request for share state."""

    topic_id: TopicId | None
    partitions: tuple[StatePartition, ...]


@value
class OfShareState(OfShares):
    """The base class of the requests to the share coordinator."""

    group_id: GroupId
    topics: tuple[StateTopic, ...]


@value
class InitializeShareGroupStateRequest(OfShareState):
    """A request to initialize the state of partitions."""


@value
class ReadShareGroupStateRequest(OfShareState):
    """A leader's request for the state of its partitions."""


@value
class WriteShareGroupStateRequest(OfShareState):
    """A leader's request to write changes of the state."""


@value
class DeleteShareGroupStateRequest(OfShareState):
    """A request to delete the state of partitions."""


@value
class ReadShareGroupStateSummaryRequest(OfShareState):
    """A request for a group's start offsets, without the state batches."""


@value
class StatePartitionResult:
    """The result for a partition, with its state if that was requested."""

    partition: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: tuple[StateBatch, ...] = ()


@value
class StateTopicResult:
    """The results for one topic's partitions."""

    topic_id: TopicId | None
    partitions: tuple[StatePartitionResult, ...]


@value
class ShareGroupStateResponse:
    """The response to any of the five state requests, with one result for each topic."""

    results: tuple[StateTopicResult, ...] = ()


StateRequest = (
    InitializeShareGroupStateRequest
    | ReadShareGroupStateRequest
    | WriteShareGroupStateRequest
    | DeleteShareGroupStateRequest
    | ReadShareGroupStateSummaryRequest
)
ShareRequest = ShareFetchRequest | ShareAcknowledgeRequest | StateRequest
"""All requests of this module."""
ShareResponse = ShareFetchResponse | ShareAcknowledgeResponse | ShareGroupStateResponse
"""All responses of this module."""
