"""Requests and responses of the APIs that a broker answers without its group coordinator, free of versions.

They are to `kafka_apis` what `messages` are to the coordinator.
"""

from reference_coordinator.broker_messages.tools import ToolRequest, ToolResponse
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest, GroupResponse
from reference_coordinator.shares.messages import ShareRequest, ShareResponse
from reference_coordinator.topic_logs.messages import ClientRequest, ClientResponse
from reference_coordinator.transactions.messages import TransactionRequest, TransactionResponse


@value
class ApiVersionsRequest:
    """Asks which versions the broker serves."""

    client_software_name: str = ""
    client_software_version: str = ""
    cluster_id: str | None = None
    """Of the cluster that the client means; from v5 on, together with the broker."""
    node_id: int = -1
    """Of the broker that it means."""
    unsupported: bool = False
    """The request came in a version that the broker does not have, and was not read."""


@value
class ApiVersion:
    """The versions of one API, both ends included."""

    api_key: int
    min_version: int
    max_version: int


@value
class SupportedFeatureKey:
    """The levels of a feature that the broker could have, both ends included."""

    name: str
    min_version: int
    max_version: int


@value
class FinalizedFeatureKey:
    """The level of a feature that the cluster has, said twice."""

    name: str
    max_version_level: int
    min_version_level: int


@value
class ApiVersionsResponse:
    """What the broker serves."""

    error_code: Errors
    api_keys: tuple[ApiVersion, ...]
    supported_features: tuple[SupportedFeatureKey, ...] = ()
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()
    finalized_features_epoch: int = -1


@value
class MetadataRequestTopic:
    """A topic by its name, or from v12 by its id."""

    name: str | None
    topic_id: TopicId | None = None


@value
class MetadataRequest:
    """Asks for brokers and topics; `topics` null means all of them."""

    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


@value
class MetadataResponseBroker:
    """A broker's address."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@value
class MetadataResponsePartition:
    """A partition: who leads it, and who has it."""

    error_code: Errors
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@value
class MetadataResponseTopic:
    """A topic, or why it cannot be shown."""

    error_code: Errors
    name: str | None
    topic_id: TopicId | None
    is_internal: bool
    partitions: tuple[MetadataResponsePartition, ...]
    topic_authorized_operations: int


@value
class MetadataResponse:
    """The cluster as the broker sees it."""

    brokers: tuple[MetadataResponseBroker, ...]
    cluster_id: str | None
    controller_id: int
    topics: tuple[MetadataResponseTopic, ...]
    cluster_authorized_operations: int
    error_code: Errors = Errors.NONE


@value
class CreatableReplicaAssignment:
    """The brokers that are to have a partition, the one that leads first."""

    partition_index: int
    broker_ids: tuple[int, ...]


@value
class CreatableTopic:
    """A topic to create; -1 leaves a number to the broker."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    """Where replicas are wanted; they say how many partitions there are."""
    configs: tuple[tuple[str, str | None], ...] = ()


@value
class CreateTopicsRequest:
    """Asks for topics to be created."""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: Millis
    validate_only: bool = False


@value
class CreatableTopicConfigs:
    """How a topic that was created is configured."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool


@value
class CreatableTopicResult:
    """How it went for one topic."""

    name: str
    error_code: Errors
    error_message: str | None = None
    topic_id: TopicId | None = None
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[CreatableTopicConfigs, ...] = ()


@value
class CreateTopicsResponse:
    """One result a topic, in request order."""

    topics: tuple[CreatableTopicResult, ...]


@value
class DeleteTopicState:
    """A topic to delete, by its name, or from v6 by its id."""

    name: str | None
    topic_id: TopicId | None = None


@value
class DeleteTopicsRequest:
    """Asks for topics to be deleted."""

    topics: tuple[DeleteTopicState, ...]
    timeout_ms: Millis


@value
class DeletableTopicResult:
    """How it went for one topic."""

    name: str | None
    topic_id: TopicId | None
    error_code: Errors
    error_message: str | None = None


@value
class DeleteTopicsResponse:
    """One result a topic."""

    responses: tuple[DeletableTopicResult, ...]


@value
class FindCoordinatorRequest:
    """Asks who coordinates; up to v3 exactly one key."""

    key_type: int = 0
    """0 a group, 1 a transaction, 2 a share group."""
    coordinator_keys: tuple[str, ...]


@value
class Coordinator:
    """Who coordinates one key; node -1 with an error."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: Errors
    error_message: str | None


@value
class FindCoordinatorResponse:
    """One entry a key, in request order; up to v3 the mapping makes it the response itself."""

    coordinators: tuple[Coordinator, ...]


BrokerRequest = (
    ApiVersionsRequest
    | MetadataRequest
    | CreateTopicsRequest
    | DeleteTopicsRequest
    | FindCoordinatorRequest
    | TransactionRequest
    | ClientRequest
    | ShareRequest
    | ToolRequest
    | GroupRequest
)
"""Everything that a connection may ask."""

BrokerResponse = (
    ApiVersionsResponse
    | MetadataResponse
    | CreateTopicsResponse
    | DeleteTopicsResponse
    | FindCoordinatorResponse
    | TransactionResponse
    | ClientResponse
    | ShareResponse
    | ToolResponse
    | GroupResponse
)
"""Everything that a connection may be told."""
