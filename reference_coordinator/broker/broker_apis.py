"""Requests that a broker answers from its own metadata: versions, topics and coordinators."""

import re
from dataclasses import field, replace
from functools import lru_cache
from typing import Final

from reference_coordinator import broker_messages as brokers
from reference_coordinator.broker.cluster_state import ClusterState, Node
from reference_coordinator.broker.topic_creation_errors import TopicCreationError
from reference_coordinator.broker.topics import (
    SHARE_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    Topic,
    Topics,
    is_legal_topic_name,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC
from reference_coordinator.core.java import as_int, trim
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.parts import between_parts
from reference_coordinator.core.values import value
from reference_coordinator.messages import AUTHORIZED_OPERATIONS_OMITTED, RequestContext
from reference_coordinator.profile.api_versions import Api, ApiRanges
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.topic_logs.messages import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_CLUSTER_ID: Final = "reference-coordinator"
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_SOFTWARE_NAME: Final = 3
_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_FIRST_SHARE_COORDINATOR: Final = 6
_FIRST_TOPIC_IDS_IN_METADATA_REQUEST: Final = 12
_CLUSTER_OPERATIONS_VERSIONS: Final = range(8, 11)
_BROKER_ENDPOINTS: Final = 1
_CONTROLLER_ENDPOINTS: Final = 2
_TRANSACTION_STATE_PARTITIONS: Final = 50
_SHARE_STATE_PARTITIONS: Final = 50
# Without an authorizer everything is allowed: one bit for each operation that the resource has.
_CLUSTER_OPERATIONS: Final = 8096
_TOPIC_OPERATIONS: Final = 3576
_LOG_OF_TYPE: Final = {0: OFFSETS_TOPIC, 1: TRANSACTION_STATE_TOPIC, 2: SHARE_STATE_TOPIC}
"""The logs of the coordinators of groups, transactions and share groups, by FindCoordinator's key type."""
_GROUP_VERSION: Final = "group.version"
_LATEST_GROUP_VERSION: Final = 1
_TRANSACTION_VERSION: Final = "transaction.version"
_LATEST_TRANSACTION_VERSION: Final = 2
_FIRST_END_TXN_OF_VERSION_2: Final = 5
_FIRST_FEATURE_LEVEL_0: Final = 4
_SHARE_KEY_PARTS: Final = 3
_REMEMBERED_PARTITIONS: Final = 1 << 14
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{22}(?:==)?")
_INTEGER: Final = re.compile(r"[+-]?\d+")
_MESSAGES: Final = {
    Errors.NONE: "NONE",
    Errors.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Errors.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the "
        "message was sent to an incompatible broker. See the broker logs for more details."
    ),
    Errors.UNKNOWN_SERVER_ERROR: ("The server experienced an unexpected error when processing the request."),
}
"""Kafka's error messages. Source: Errors (4.3.1)."""
Found = Node | Errors
"""The coordinator of a key, or the error if there is none."""


@value
class Broker:
    """The data of a broker from which requests are answered."""

    node: Node
    ranges: ApiRanges
    cluster: ClusterState
    config: GroupCoordinatorConfig
    profile: Profile
    topic_creation_errors: dict[str, TopicCreationError] = field(default_factory=dict)

    @property
    def topics(self) -> Topics:
        """The cluster's topics."""
        return self.cluster.topics


def handle_api_versions(
    broker: Broker, request: brokers.ApiVersionsRequest, context: RequestContext
) -> brokers.ApiVersionsResponse:
    """Return the supported API versions.

    Source: KafkaApis#handleApiVersionsRequest, ApiVersionsRequest#getErrorResponse (4.3.1).
    """
    if request.unsupported:
        return brokers.ApiVersionsResponse(
            error_code=Errors.UNSUPPORTED_VERSION, api_keys=(_api_version(broker, Api.API_VERSIONS),)
        )
    if context.api_version >= _FIRST_SOFTWARE_NAME and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return brokers.ApiVersionsResponse(error_code=Errors.INVALID_REQUEST, api_keys=())
    error = _error_of_meant_broker(broker, request)
    if error is not Errors.NONE:
        return brokers.ApiVersionsResponse(error_code=error, api_keys=())
    return _with_features(
        brokers.ApiVersionsResponse(
            error_code=Errors.NONE,
            api_keys=tuple(_api_version(broker, api) for api in sorted(broker.ranges)),
        ),
        broker,
        context,
    )


def _error_of_meant_broker(broker: Broker, request: brokers.ApiVersionsRequest) -> Errors:
    """Refuse a client that meant another broker. Source: KIP-1242, and answers of 4.4.0."""
    if request.cluster_id is None and request.node_id == -1:
        return Errors.NONE
    if request.cluster_id is None or request.node_id == -1:
        return Errors.INVALID_REQUEST
    is_meant = (request.cluster_id, request.node_id) == (_CLUSTER_ID, broker.node.node_id)
    return Errors.NONE if is_meant else Errors.REBOOTSTRAP_REQUIRED


def topic_operations() -> int:
    """Return all operations on a topic. Source: AclEntry#supportedOperations (4.3.1)."""
    return _TOPIC_OPERATIONS


def _with_features(
    response: brokers.ApiVersionsResponse, broker: Broker, context: RequestContext
) -> brokers.ApiVersionsResponse:
    """Add the features of consumer groups (KIP-848) and of transactions version 2 (KIP-890).

    Both began with 4.0, and a new cluster of that release has them. Kafka's other features do not affect
    clients of groups and transactions.

    Source: GroupVersion#LATEST_PRODUCTION, TransactionVersion#LATEST_PRODUCTION,
    ApiVersionsResponse#maybeFilterSupportedFeatureKeys (4.3.1).
    """
    latest: dict[str, int] = {}
    if broker.profile.has(Behaviour.CONSUMER_GROUPS):
        latest[_GROUP_VERSION] = _LATEST_GROUP_VERSION
    end_txn = broker.ranges.get(Api.END_TXN)
    if end_txn is not None and end_txn.max_version >= _FIRST_END_TXN_OF_VERSION_2:
        latest[_TRANSACTION_VERSION] = _LATEST_TRANSACTION_VERSION
    if not latest:
        return response
    supported = (
        brokers.SupportedFeatureKey(name=name, min_version=0, max_version=level)
        for name, level in latest.items()
    )
    # Older clients cannot read that a level may be 0 (KAFKA-17492).
    may_be_0 = context.api_version >= _FIRST_FEATURE_LEVEL_0
    return replace(
        response,
        supported_features=tuple(supported) if may_be_0 else (),
        finalized_features=tuple(
            brokers.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in latest.items()
            if name != _GROUP_VERSION or broker.config.group_version > 0
        ),
        finalized_features_epoch=0,
    )


def _api_version(broker: Broker, api: Api) -> brokers.ApiVersion:
    served = broker.ranges[api]
    # librdkafka does not compress unless the oldest versions, though unsupported, are advertised:
    # ApiKeys.PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION (4.0.0), KAFKA-18659.
    min_version = 0 if api is Api.PRODUCE else served.min_version
    return brokers.ApiVersion(api_key=api, min_version=min_version, max_version=served.max_version)


def handle_topic_metadata(
    broker: Broker, request: brokers.MetadataRequest, context: RequestContext
) -> brokers.MetadataResponse:
    """Return the brokers and the requested topics; a missing topic may be created.

    Source: KafkaApis#handleTopicMetadataRequest (3.9.2).
    """
    operations = (
        _TOPIC_OPERATIONS if request.include_topic_authorized_operations else AUTHORIZED_OPERATIONS_OMITTED
    )
    if request.topics is None:
        topics = tuple(_shown(broker, topic, operations) for topic in tuple(broker.topics))
    elif (
        any(topic.name is None or topic.topic_id for topic in request.topics)
        and context.api_version < _FIRST_TOPIC_IDS_IN_METADATA_REQUEST
    ):
        topics = tuple(_hidden(topic, Errors.INVALID_REQUEST) for topic in request.topics)
    else:
        topics = tuple(_asked(broker, request, topic, operations) for topic in dict.fromkeys(request.topics))
    wants_cluster = (
        request.include_cluster_authorized_operations and context.api_version in _CLUSTER_OPERATIONS_VERSIONS
    )
    return brokers.MetadataResponse(
        brokers=tuple(
            brokers.MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port)
            for node in broker.cluster.nodes
        ),
        cluster_id=_CLUSTER_ID,
        controller_id=broker.cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=_CLUSTER_OPERATIONS if wants_cluster else AUTHORIZED_OPERATIONS_OMITTED,
    )


def handle_describe_cluster(
    broker: Broker, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    """Return the brokers. Source: AuthHelper#computeDescribeClusterResponse (4.3.1)."""
    error, why = Errors.NONE, None
    if context.api_version > 0 and request.endpoint_type != _BROKER_ENDPOINTS:
        is_known = request.endpoint_type == _CONTROLLER_ENDPOINTS
        error = Errors.MISMATCHED_ENDPOINT_TYPE if is_known else Errors.UNSUPPORTED_ENDPOINT_TYPE
        why = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
            if is_known
            else f"Unsupported endpoint type {request.endpoint_type}"
        )
    is_refused = error is not Errors.NONE
    wants_operations = request.include_cluster_authorized_operations and not is_refused
    return DescribeClusterResponse(
        error_code=error,
        error_message=why,
        cluster_id="" if is_refused else _CLUSTER_ID,
        controller_id=-1 if is_refused else broker.cluster.controller_id,
        brokers=tuple(
            DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port)
            for node in (() if is_refused else broker.cluster.nodes)
        ),
        cluster_authorized_operations=_CLUSTER_OPERATIONS
        if wants_operations
        else AUTHORIZED_OPERATIONS_OMITTED,
    )


def _asked(
    broker: Broker, request: brokers.MetadataRequest, asked: brokers.MetadataRequestTopic, operations: int
) -> brokers.MetadataResponseTopic:
    if asked.topic_id is not None:
        topic = broker.topics.get_by_id(asked.topic_id)
        return _hidden(asked, Errors.UNKNOWN_TOPIC_ID) if topic is None else _shown(broker, topic, operations)
    name = asked.name or ""
    topic = broker.topics.get(name)
    if topic is not None:
        return _shown(broker, topic, operations)
    if not is_legal_topic_name(name):
        return _hidden(asked, Errors.INVALID_TOPIC_EXCEPTION)
    if request.allow_auto_topic_creation:
        create_internal_or_plain_topic(broker, name)
    return _hidden(asked, Errors.UNKNOWN_TOPIC_OR_PARTITION)


def create_internal_or_plain_topic(broker: Broker, name: str) -> None:
    """Create a topic because a request named it.

    Source: AutoTopicCreationManager#createTopics (3.9.2).
    """
    internal = {
        OFFSETS_TOPIC: broker.config.offsets_topic_num_partitions,
        TRANSACTION_STATE_TOPIC: _TRANSACTION_STATE_PARTITIONS,
        SHARE_STATE_TOPIC: _SHARE_STATE_PARTITIONS,
    }
    broker.topics.create(name, internal.get(name, broker.config.num_partitions))


def _shown(broker: Broker, topic: Topic, operations: int) -> brokers.MetadataResponseTopic:
    between_parts()
    replicas = tuple(each.node_id for each in broker.cluster.nodes)
    return brokers.MetadataResponseTopic(
        error_code=Errors.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(broker, topic, index, replicas) for index in range(topic.num_partitions)),
        topic_authorized_operations=operations,
    )


def _partition(
    broker: Broker, topic: Topic, partition_index: int, replicas: tuple[int, ...]
) -> brokers.MetadataResponsePartition:
    leader = broker.cluster.leader(topic.name, partition_index)
    leader_epoch = broker.cluster.leader_epoch(topic.name, partition_index)
    return _partition_of(partition_index, None if leader is None else leader.node_id, leader_epoch, replicas)


@lru_cache(maxsize=_REMEMBERED_PARTITIONS)
def _partition_of(
    index: int, leader_id: int | None, leader_epoch: int, replicas: tuple[int, ...]
) -> brokers.MetadataResponsePartition:
    """Return a partition's row, cached because thousands of topics in one answer have the same rows."""
    return brokers.MetadataResponsePartition(
        error_code=Errors.LEADER_NOT_AVAILABLE if leader_id is None else Errors.NONE,
        partition_index=index,
        leader_id=-1 if leader_id is None else leader_id,
        leader_epoch=leader_epoch,
        replica_nodes=replicas,
        isr_nodes=replicas,
    )


def _hidden(asked: brokers.MetadataRequestTopic, error: Errors) -> brokers.MetadataResponseTopic:
    return brokers.MetadataResponseTopic(
        error_code=error,
        name=None if error is Errors.UNKNOWN_TOPIC_ID else asked.name or "",
        topic_id=asked.topic_id,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
    )


def handle_find_coordinator(
    broker: Broker, request: brokers.FindCoordinatorRequest, context: RequestContext
) -> brokers.FindCoordinatorResponse:
    """Return the coordinator of each key; the first request of a type creates its log and finds none.

    Source: KafkaApis#handleFindCoordinatorRequest (4.3.1).
    """
    if (log := _log_of_type(broker, request.key_type)) is None:
        # An exception becomes the request's error response, which has a message in every version.
        is_validated = broker.profile.has(Behaviour.COORDINATOR_TYPE_VALIDATED)
        found: Found = Errors.INVALID_REQUEST if is_validated else Errors.UNKNOWN_SERVER_ERROR
        answers = tuple(_coordinator(key, found, has_message=True) for key in request.coordinator_keys)
        return brokers.FindCoordinatorResponse(coordinators=answers)
    has_message = context.api_version < _FIRST_BATCHED_FIND_COORDINATOR
    answers = tuple(
        _coordinator(key, _get_coordinator(broker, log, key, context), has_message=has_message)
        for key in request.coordinator_keys
    )
    # Keys of share groups are checked before their log, which 3.9 does not have.
    is_refused = all(answer.error_code is Errors.INVALID_REQUEST for answer in answers) or (
        log == SHARE_STATE_TOPIC and broker.profile.has(Behaviour.SHARE_COORDINATOR_UNAVAILABLE)
    )
    if not is_refused and broker.topics.get(log) is None:
        create_internal_or_plain_topic(broker, log)
    return brokers.FindCoordinatorResponse(coordinators=answers)


def _log_of_type(broker: Broker, key_type: int) -> str | None:
    log = _LOG_OF_TYPE.get(key_type)
    knows_share = _FIRST_SHARE_COORDINATOR in broker.ranges[Api.FIND_COORDINATOR]
    return None if log == SHARE_STATE_TOPIC and not knows_share else log


def _get_coordinator(broker: Broker, log: str, key: str, context: RequestContext) -> Found:
    """Find the coordinator of a key. Source: KafkaApis#getCoordinator (4.3.1)."""
    if log == SHARE_STATE_TOPIC:
        is_too_old = context.api_version < _FIRST_SHARE_COORDINATOR
        if not is_too_old and broker.profile.has(Behaviour.SHARE_COORDINATOR_UNAVAILABLE):
            return Errors.COORDINATOR_NOT_AVAILABLE
        is_missing = broker.profile.has(Behaviour.SHARE_COORDINATOR_MISSING)
        validates = broker.profile.has(Behaviour.SHARE_COORDINATOR_KEY_VALIDATED)
        if is_too_old or is_missing or (validates and not is_share_partition_key(key, broker.profile)):
            return Errors.INVALID_REQUEST
    topic = broker.topics.get(log)
    if topic is None:
        return Errors.COORDINATOR_NOT_AVAILABLE
    leader = broker.cluster.leader(log, partition_for(key, topic.num_partitions))
    return Errors.COORDINATOR_NOT_AVAILABLE if leader is None else leader


def is_share_partition_key(key: str, profile: Profile) -> bool:
    """Return whether a key identifies a partition of a share group: `group:topic-id:partition`.

    Source: SharePartitionKey#getInstance (4.3.1), #validate (4.1.2).
    """
    # String#split omits empty parts at the end.
    parts = key.rstrip(":").split(":")
    may_be_more = profile.has(Behaviour.SHARE_KEY_MAY_HAVE_COLONS)
    if len(parts) < _SHARE_KEY_PARTS or (len(parts) > _SHARE_KEY_PARTS and not may_be_more):
        return False
    *group_id, topic_id, partition = parts
    return (
        bool(trim(":".join(group_id)))
        and _UUID.fullmatch(topic_id) is not None
        and _INTEGER.fullmatch(partition) is not None
        and as_int(int(partition)) == int(partition)
    )


def _coordinator(key: str, found: Found, *, has_message: bool) -> brokers.Coordinator:
    error = Errors.NONE if isinstance(found, Node) else found
    return brokers.Coordinator(
        key=key,
        node_id=found.node_id if isinstance(found, Node) else -1,
        host=found.host if isinstance(found, Node) else "",
        port=found.port if isinstance(found, Node) else -1,
        error_code=error,
        error_message=_MESSAGES[error] if has_message else "",
    )
