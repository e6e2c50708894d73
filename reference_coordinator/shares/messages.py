"""ShareFetch and ShareAcknowledge, and what leaders of partitions ask of the share coordinator (KIP-932)."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.shares.state_batches import StateBatch
from reference_coordinator.topic_logs.messages import OfClients


@value
class OfShares(OfClients):
    """What is asked in this module."""


@value
class AcknowledgementBatch:
    """What became of records: one type for all of them, or one for each."""

    first_offset: int
    last_offset: int
    acknowledge_types: tuple[int, ...] = ()
    """0 there is no such record, 1 accept, 2 release, 3 reject, 4 renew."""


@value
class SharePartitionRequest:
    """A partition that is fetched from, or whose records are acknowledged."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@value
class ShareTopicRequest:
    """The same for a topic."""

    topic_id: TopicId | None
    partitions: tuple[SharePartitionRequest, ...]


@value
class ForgottenShareTopic:
    """Partitions that a share session is to forget."""

    topic_id: TopicId | None
    partitions: tuple[int, ...] = ()


@value
class ShareFetchRequest(OfShares):
    """Asks for records to process, and says what became of others."""

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
    """0 whole batches, 1 no more records than are asked for."""
    is_renew_ack: bool = False
    topics: tuple[ShareTopicRequest, ...]
    forgotten_topics_data: tuple[ForgottenShareTopic, ...] = ()


@value
class ShareAcknowledgeRequest(OfShares):
    """Says what became of records."""

    group_id: GroupId | None = None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool = False
    topics: tuple[ShareTopicRequest, ...]


@value
class LeaderIdAndEpoch:
    """Who leads a partition in place of who was asked."""

    leader_id: int = 0
    leader_epoch: int = 0


@value
class AcquiredRecords:
    """Records that a member has now, all of them delivered equally often."""

    first_offset: int
    last_offset: int
    delivery_count: int


@value
class ShareFetchPartitionData:
    """Records of a partition, and how it went with those that were acknowledged."""

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
    """The same for a topic."""

    topic_id: TopicId | None
    partitions: tuple[ShareFetchPartitionData, ...]


@value
class NodeEndpoint:
    """How to reach a leader that is named."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@value
class ShareFetchResponse:
    """Records to process."""

    error_code: Errors
    error_message: str | None = None
    acquisition_lock_timeout: Millis = Millis(0)
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


@value
class ShareAcknowledgePartitionData:
    """How it went with the records of a partition."""

    partition_index: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


@value
class ShareAcknowledgeTopicResponse:
    """The same for a topic."""

    topic_id: TopicId | None
    partitions: tuple[ShareAcknowledgePartitionData, ...]


@value
class ShareAcknowledgeResponse:
    """How it went."""

    error_code: Errors
    error_message: str | None = None
    acquisition_lock_timeout: Millis = Millis(0)
    responses: tuple[ShareAcknowledgeTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()


@value
class StatePartition:
    """A partition whose state is asked for or told; what an API lacks stays at its default."""

    partition: int
    state_epoch: int = -1
    leader_epoch: int = -1
    start_offset: int = -1
    delivery_complete_count: int = -1
    state_batches: tuple[StateBatch, ...] = ()


@value
class StateTopic:
    """The same for a topic."""

    topic_id: TopicId | None
    partitions: tuple[StatePartition, ...]


@value
class OfShareState(OfShares):
    """What is asked of the share coordinator."""

    group_id: GroupId
    topics: tuple[StateTopic, ...]


@value
class InitializeShareGroupStateRequest(OfShareState):
    """Asks for the state of partitions to begin."""


@value
class ReadShareGroupStateRequest(OfShareState):
    """Asks for the state of partitions, as their leader."""


@value
class WriteShareGroupStateRequest(OfShareState):
    """Says what has changed, as the leader."""


@value
class DeleteShareGroupStateRequest(OfShareState):
    """Asks for the state to be forgotten."""


@value
class ReadShareGroupStateSummaryRequest(OfShareState):
    """Asks how far a group is."""


@value
class StatePartitionResult:
    """How it went for a partition, and its state where that was asked for."""

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
    """The same for a topic."""

    topic_id: TopicId | None
    partitions: tuple[StatePartitionResult, ...]


@value
class ShareGroupStateResponse:
    """One result a topic, of any of the five requests."""

    results: tuple[StateTopicResult, ...] = ()


StateRequest = (
    InitializeShareGroupStateRequest
    | ReadShareGroupStateRequest
    | WriteShareGroupStateRequest
    | DeleteShareGroupStateRequest
    | ReadShareGroupStateSummaryRequest
)
ShareRequest = ShareFetchRequest | ShareAcknowledgeRequest | StateRequest
"""What is asked."""
ShareResponse = ShareFetchResponse | ShareAcknowledgeResponse | ShareGroupStateResponse
"""What is answered."""
