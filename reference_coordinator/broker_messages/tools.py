"""Requests and responses of administrators' tools.

They are free of versions; fields have kio's names.
"""

from reference_coordinator.broker_messages.acls import (
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from reference_coordinator.broker_messages.inspection import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    OfTools,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, ProducerEpoch, ProducerId, TopicId, TransactionalId
from reference_coordinator.core.values import value


@value
class DescribeConfigsResource:
    """A resource to describe, by Kafka's number of its type; without keys, all of its configurations."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None


@value
class DescribeConfigsRequest(OfTools):
    """A request to describe configurations."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False


@value
class DescribeConfigsSynonym:
    """A possible source of a value; the first one with a value applies."""

    name: str
    value: str | None
    source: int


@value
class DescribeConfigsResourceResult:
    """One configuration."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_default: bool
    config_type: int
    is_sensitive: bool = False
    synonyms: tuple[DescribeConfigsSynonym, ...] = ()
    documentation: str | None = None


@value
class DescribeConfigsResult:
    """The configurations of one resource, or the error why there are none."""

    error_code: Errors
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


@value
class DescribeConfigsResponse:
    """One result per resource, in request order."""

    results: tuple[DescribeConfigsResult, ...]


@value
class AlterableConfig:
    """A change: 0 sets, 1 deletes, 2 appends to a list, 3 removes from one."""

    name: str
    config_operation: int
    value: str | None


@value
class AlterConfigsResource:
    """A resource to change, by Kafka's number of its type."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@value
class IncrementalAlterConfigsRequest(OfTools):
    """A request to change configurations."""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@value
class AlterConfigsResourceResponse:
    """The result for one resource."""

    error_code: Errors
    error_message: str | None
    resource_type: int
    resource_name: str


@value
class IncrementalAlterConfigsResponse:
    """One entry per resource, in request order."""

    responses: tuple[AlterConfigsResourceResponse, ...]


@value
class ListConfigResourcesRequest(OfTools):
    """A request to list configurable resources; no types means all types."""

    resource_types: tuple[int, ...] = ()


@value
class ConfigResource:
    """A configurable resource."""

    resource_name: str
    resource_type: int


@value
class ListConfigResourcesResponse:
    """The configurable resources."""

    error_code: Errors
    config_resources: tuple[ConfigResource, ...] = ()


@value
class Cursor:
    """The partition with which the next request continues."""

    topic_name: str
    partition_index: int


@value
class DescribeTopicPartitionsRequest(OfTools):
    """A request to describe topics, all if none is named, up to a limit of partitions."""

    topics: tuple[str, ...]
    response_partition_limit: int
    cursor: Cursor | None


@value
class DescribedTopicPartition:
    """A partition with its leader and its replicas."""

    error_code: Errors
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


@value
class DescribedTopic:
    """A topic, or the error why it cannot be described."""

    error_code: Errors
    name: str | None
    topic_id: TopicId | None
    is_internal: bool
    partitions: tuple[DescribedTopicPartition, ...]
    topic_authorized_operations: int


@value
class DescribeTopicPartitionsResponse:
    """Topics in alphabetical order, and the partition with which the next request continues."""

    topics: tuple[DescribedTopic, ...]
    next_cursor: Cursor | None


@value
class ListTransactionsRequest(OfTools):
    """A request to list transactional ids."""

    state_filters: tuple[str, ...]
    producer_id_filters: tuple[ProducerId, ...]
    duration_filter: int = -1
    """The least time in milliseconds that a transaction has been open; -1 for any."""
    transactional_id_pattern: str | None = None


@value
class ListedTransaction:
    """A transactional id and its state."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    transaction_state: str


@value
class ListTransactionsResponse:
    """The transactional ids that match all filters."""

    error_code: Errors
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[ListedTransaction, ...] = ()


@value
class StreamsGroupTopologyDescriptionUpdateRequest(OfTools):
    """A request to store a description of a topology, for which there is no plugin here."""

    group_id: GroupId


@value
class StreamsGroupTopologyDescriptionUpdateResponse:
    """The refusal of such a request."""

    error_code: Errors
    error_message: str | None = None


@value
class DescribeTransactionsRequest(OfTools):
    """A request to describe transactional ids."""

    transactional_ids: tuple[TransactionalId, ...]


@value
class TransactionTopicData:
    """Partitions of one topic in a transaction."""

    topic: str
    partitions: tuple[int, ...]


@value
class DescribedTransaction:
    """The coordinator's state of one transactional id."""

    error_code: Errors
    transactional_id: TransactionalId
    transaction_state: str = ""
    transaction_timeout: int = 0
    transaction_start_time: int = 0
    producer_id: ProducerId = ProducerId(0)
    producer_epoch: ProducerEpoch = ProducerEpoch(0)
    topics: tuple[TransactionTopicData, ...] = ()


@value
class DescribeTransactionsResponse:
    """One entry per transactional id, in request order."""

    transaction_states: tuple[DescribedTransaction, ...]


ToolRequest = (
    DescribeConfigsRequest
    | IncrementalAlterConfigsRequest
    | ListConfigResourcesRequest
    | DescribeTopicPartitionsRequest
    | ListTransactionsRequest
    | DescribeTransactionsRequest
    | DescribeLogDirsRequest
    | DescribeQuorumRequest
    | CreateAclsRequest
    | DescribeAclsRequest
    | StreamsGroupTopologyDescriptionUpdateRequest
)
"""The requests of tools."""

ToolResponse = (
    DescribeConfigsResponse
    | IncrementalAlterConfigsResponse
    | ListConfigResourcesResponse
    | DescribeTopicPartitionsResponse
    | ListTransactionsResponse
    | DescribeTransactionsResponse
    | DescribeLogDirsResponse
    | DescribeQuorumResponse
    | CreateAclsResponse
    | DescribeAclsResponse
    | StreamsGroupTopologyDescriptionUpdateResponse
)
"""The responses to tools."""
