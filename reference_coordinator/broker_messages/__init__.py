"""Requests and responses of the APIs that a broker answers without its group coordinator, free of versions.

`broker.kafka_apis` handles them, as the coordinator handles those of `messages`.
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
    """A request for the versions that the broker serves."""

    client_software_name: str = ""
    client_software_version: str = ""
    cluster_id: str | None = None
    """The id of the cluster that the client expects; from v5 on, together with the broker's."""
    node_id: int = -1
    """The id of the broker that the client expects."""
    unsupported: bool = False
    """Whether the request came in a version that the broker lacks, so that it was not read."""


@value
class ApiVersion:
    """The versions of one API, both ends included."""

    api_key: int
    min_version: int
    max_version: int


@value
class SupportedFeatureKey:
    """The levels of a feature that the broker supports, both ends included."""

    name: str
    min_version: int
    max_version: int


@value
class FinalizedFeatureKey:
    """The level of a feature in the cluster, as both maximum and minimum."""

    name: str
    max_version_level: int
    min_version_level: int


@value
class ApiVersionsResponse:
    """The versions and features that the broker serves."""

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
    """A request for brokers and topics; `topics` null means all topics."""

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
    """A partition with its leader and its replicas."""

    error_code: Errors
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@value
class MetadataResponseTopic:
    """A topic, or the error why it cannot be described."""

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
    """The brokers that a partition is assigned to, the preferred leader first."""

    partition_index: int
    broker_ids: tuple[int, ...]


@value
class CreatableTopic:
    """A topic to create; for a number of -1 the broker chooses."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    """The wanted placement of replicas, which determines the number of partitions."""
    configs: tuple[tuple[str, str | None], ...] = ()


@value
class CreateTopicsRequest:
    """A request to create topics."""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: Millis
    validate_only: bool = False


@value
class CreatableTopicConfigs:
    """A configuration of a topic that was created."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool


@value
class CreatableTopicResult:
    """The result for one topic."""

    name: str
    error_code: Errors
    error_message: str | None = None
    topic_id: TopicId | None = None
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[CreatableTopicConfigs, ...] = ()


@value
class CreateTopicsResponse:
    """One result per topic, in request order."""

    topics: tuple[CreatableTopicResult, ...]


@value
class DeleteTopicState:
    """A topic to delete, by its name, or from v6 by its id."""

    name: str | None
    topic_id: TopicId | None = None


@value
class DeleteTopicsRequest:
    """A request to delete topics."""

    topics: tuple[DeleteTopicState, ...]
    timeout_ms: Millis


@value
class DeletableTopicResult:
    """The result for one topic."""

    name: str | None
    topic_id: TopicId | None
    error_code: Errors
    error_message: str | None = None


@value
class DeleteTopicsResponse:
    """One result per topic."""

    responses: tuple[DeletableTopicResult, ...]


@value
class FindCoordinatorRequest:
    """A request for coordinators; up to v3 with exactly one key."""

    key_type: int = 0
    """0 for a group, 1 for a transaction, 2 for a share group."""
    coordinator_keys: tuple[str, ...]


@value
class Coordinator:
    """The coordinator of one key; node -1 with an error."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: Errors
    error_message: str | None


@value
class FindCoordinatorResponse:
    """One entry per key, in request order; up to v3 the mapping turns the entry into the response itself."""

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
"""All requests of connections."""

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
"""All responses to connections."""
