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
    """What to describe, by Kafka's number of its kind; no keys stand for all."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None


@value
class DescribeConfigsRequest(OfTools):
    """Asks for configurations."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False


@value
class DescribeConfigsSynonym:
    """Where a value may come from, the first that says something counting."""

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
    """The configurations of one resource, or why there are none."""

    error_code: Errors
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


@value
class DescribeConfigsResponse:
    """One result a resource, in request order."""

    results: tuple[DescribeConfigsResult, ...]


@value
class AlterableConfig:
    """A change: 0 sets, 1 deletes, 2 appends to a list, 3 takes from one."""

    name: str
    config_operation: int
    value: str | None


@value
class AlterConfigsResource:
    """What to change, by Kafka's number of its kind."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@value
class IncrementalAlterConfigsRequest(OfTools):
    """Asks for changes of configurations."""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@value
class AlterConfigsResourceResponse:
    """How it went for one resource."""

    error_code: Errors
    error_message: str | None
    resource_type: int
    resource_name: str


@value
class IncrementalAlterConfigsResponse:
    """One entry a resource, in request order."""

    responses: tuple[AlterConfigsResourceResponse, ...]


@value
class ListConfigResourcesRequest(OfTools):
    """Asks what may be configured; no kinds stand for all."""

    resource_types: tuple[int, ...] = ()


@value
class ConfigResource:
    """One thing that may be configured."""

    resource_name: str
    resource_type: int


@value
class ListConfigResourcesResponse:
    """Everything that may be configured."""

    error_code: Errors
    config_resources: tuple[ConfigResource, ...] = ()


@value
class Cursor:
    """The partition to go on with."""

    topic_name: str
    partition_index: int


@value
class DescribeTopicPartitionsRequest(OfTools):
    """Asks about topics, all if none is named, up to so many partitions."""

    topics: tuple[str, ...]
    response_partition_limit: int
    cursor: Cursor | None


@value
class DescribedTopicPartition:
    """A partition: who leads it, and who has it."""

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
    """A topic, or why it cannot be shown."""

    error_code: Errors
    name: str | None
    topic_id: TopicId | None
    is_internal: bool
    partitions: tuple[DescribedTopicPartition, ...]
    topic_authorized_operations: int


@value
class DescribeTopicPartitionsResponse:
    """Topics in alphabetical order, and where the next request goes on."""

    topics: tuple[DescribedTopic, ...]
    next_cursor: Cursor | None


@value
class ListTransactionsRequest(OfTools):
    """Asks which transactional ids are known."""

    state_filters: tuple[str, ...]
    producer_id_filters: tuple[ProducerId, ...]
    duration_filter: int = -1
    """How many milliseconds a transaction has to be open at least; -1 for any."""
    transactional_id_pattern: str | None = None


@value
class ListedTransaction:
    """A transactional id and its state."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    transaction_state: str


@value
class ListTransactionsResponse:
    """The transactional ids that all filters let through."""

    error_code: Errors
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[ListedTransaction, ...] = ()


@value
class StreamsGroupTopologyDescriptionUpdateRequest(OfTools):
    """Brings a description of a topology, which no plugin takes here."""

    group_id: GroupId


@value
class StreamsGroupTopologyDescriptionUpdateResponse:
    """That nobody takes it."""

    error_code: Errors
    error_message: str | None = None


@value
class DescribeTransactionsRequest(OfTools):
    """Asks about transactional ids."""

    transactional_ids: tuple[TransactionalId, ...]


@value
class TransactionTopicData:
    """Partitions of one topic that take part."""

    topic: str
    partitions: tuple[int, ...]


@value
class DescribedTransaction:
    """What the coordinator knows of one transactional id."""

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
    """One entry a transactional id, in request order."""

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
"""What tools ask."""

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
"""What tools are answered."""
