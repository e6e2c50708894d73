"""Requests of administrators' tools."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import assert_never

from reference_coordinator.broker.acl_apis import handle_create_acls, handle_describe_acls
from reference_coordinator.broker.broker_apis import Broker, topic_operations
from reference_coordinator.broker.config_apis import (
    handle_describe_configs,
    handle_incremental_alter_configs,
    handle_list_config_resources,
)
from reference_coordinator.broker.inspection_apis import handle_describe_log_dirs, handle_describe_quorum
from reference_coordinator.broker.streams_group_apis import handle_streams_group_topology_description_update
from reference_coordinator.broker.topics import (
    TRANSACTION_STATE_TOPIC,
    Topic,
    is_legal_topic_name,
)
from reference_coordinator.broker_messages import tools
from reference_coordinator.broker_messages.acls import CreateAclsRequest, DescribeAclsRequest
from reference_coordinator.broker_messages.inspection import DescribeLogDirsRequest, DescribeQuorumRequest
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TransactionalId
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.messages import RequestContext
from reference_coordinator.transactions.metadata import TransactionMetadata
from reference_coordinator.transactions.state import TransactionState

_PARTITIONS_MAX = 2_000
"""Kafka's `max.request.partition.size.limit`."""
_STATES = {each.value for each in TransactionState} | {"Dead", "PrepareEpochFence"}


def handle_tool_request(  # noqa: C901, PLR0911, PLR0912 - one flat case for each request
    broker: Broker, request: tools.ToolRequest, context: RequestContext
) -> tools.ToolResponse:
    """Handle a request of a tool. Source: KafkaApis#handle (4.3.1)."""
    match request:
        case tools.DescribeConfigsRequest():
            return handle_describe_configs(broker, request)
        case tools.IncrementalAlterConfigsRequest():
            return handle_incremental_alter_configs(broker, request)
        case tools.ListConfigResourcesRequest():
            return handle_list_config_resources(broker, request, context)
        case tools.DescribeTopicPartitionsRequest():
            return handle_describe_topic_partitions(broker, request)
        case tools.ListTransactionsRequest():
            return handle_list_transactions(broker, request)
        case tools.DescribeTransactionsRequest():
            return handle_describe_transactions(broker, request)
        case DescribeLogDirsRequest():
            return handle_describe_log_dirs(broker, request)
        case DescribeQuorumRequest():
            return handle_describe_quorum(broker, request)
        case tools.StreamsGroupTopologyDescriptionUpdateRequest():
            return handle_streams_group_topology_description_update(broker)
        case CreateAclsRequest():
            return handle_create_acls(broker, request)
        case DescribeAclsRequest():
            return handle_describe_acls(broker, request)
        case _:
            assert_never(request)


def handle_describe_topic_partitions(
    broker: Broker, request: tools.DescribeTopicPartitionsRequest
) -> tools.DescribeTopicPartitionsResponse:
    """Describe topics in alphabetical order, up to the limit of partitions.

    Source: DescribeTopicPartitionsRequestHandler#handleDescribeTopicPartitionsRequest (3.9.2),
    KRaftMetadataCache#getTopicMetadataForDescribeTopicResponse (3.9.2).
    """
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        invalid = tuple(_not_shown(each, Errors.INVALID_REQUEST) for each in request.topics)
        return tools.DescribeTopicPartitionsResponse(topics=invalid, next_cursor=None)
    names = sorted(set(request.topics or (topic.name for topic in broker.topics)))
    if cursor is not None:
        names = [each for each in names if each >= cursor.topic_name]
    left = max(min(request.response_partition_limit, _PARTITIONS_MAX), 1)
    topics: list[tools.DescribedTopic] = []
    for name in names:
        topic = broker.topics.get(name)
        if topic is None:
            legal = is_legal_topic_name(name)
            error = Errors.UNKNOWN_TOPIC_OR_PARTITION if legal else Errors.INVALID_TOPIC_EXCEPTION
            topics.append(_not_shown(name, error, operations=topic_operations()))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            return tools.DescribeTopicPartitionsResponse(
                topics=tuple(topics), next_cursor=tools.Cursor(topic_name=name, partition_index=first)
            )
        end = min(topic.num_partitions, first + left)
        topics.append(_described(broker, topic, first, end))
        left -= max(end - first, 0)
        if end < topic.num_partitions:
            at = tools.Cursor(topic_name=name, partition_index=end)
            return tools.DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=at)
    return tools.DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=None)


def _described(broker: Broker, topic: Topic, first: int, end: int) -> tools.DescribedTopic:
    replicas = tuple(each.node_id for each in broker.cluster.nodes)
    return tools.DescribedTopic(
        error_code=Errors.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(broker, topic, index, replicas) for index in range(first, end)),
        topic_authorized_operations=topic_operations(),
    )


def _partition(
    broker: Broker, topic: Topic, index: int, replicas: tuple[int, ...]
) -> tools.DescribedTopicPartition:
    leader = broker.cluster.leader(topic.name, index)
    return tools.DescribedTopicPartition(
        error_code=Errors.LEADER_NOT_AVAILABLE if leader is None else Errors.NONE,
        partition_index=index,
        leader_id=-1 if leader is None else leader.node_id,
        leader_epoch=broker.cluster.leader_epoch(topic.name, index),
        replica_nodes=replicas,
        isr_nodes=replicas,
        eligible_leader_replicas=(),
    )


def _not_shown(name: str, error: Errors, *, operations: int = -(2**31)) -> tools.DescribedTopic:
    return tools.DescribedTopic(
        error_code=error,
        name=name,
        topic_id=None,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=operations,
    )


def handle_list_transactions(
    broker: Broker, request: tools.ListTransactionsRequest
) -> tools.ListTransactionsResponse:
    """List the transactional ids that this broker coordinates and that pass all filters.

    Source: TransactionStateManager#listTransactionStates (3.9.2).
    """
    try:
        pattern = re.compile(request.transactional_id_pattern or ".*", re.DOTALL)
    except re.error:
        return tools.ListTransactionsResponse(error_code=Errors.INVALID_REGULAR_EXPRESSION)
    return tools.ListTransactionsResponse(
        error_code=Errors.NONE,
        unknown_state_filters=tuple(each for each in request.state_filters if each not in _STATES),
        transaction_states=tuple(
            tools.ListedTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state.value,
            )
            for each in broker.cluster.transactions.transactions.values()
            if _owns(broker, each.transactional_id)
            and _is_listed(broker, request, each)
            and pattern.fullmatch(each.transactional_id)
        ),
    )


def _is_listed(
    broker: Broker, request: tools.ListTransactionsRequest, transaction: TransactionMetadata
) -> bool:
    if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and transaction.state.value not in request.state_filters:
        return False
    # A transaction that never began has the start time -1, and so passes every duration filter.
    open_ms = broker.cluster.now_ms - _began_ms(broker, transaction)
    return request.duration_filter < 0 or open_ms > request.duration_filter


def _began_ms(broker: Broker, transaction: TransactionMetadata) -> int:
    ends_ms = broker.cluster.transactions.timeouts.get(transaction.transactional_id)
    return -1 if ends_ms is None else ends_ms - transaction.transaction_timeout_ms


def handle_describe_transactions(
    broker: Broker, request: tools.DescribeTransactionsRequest
) -> tools.DescribeTransactionsResponse:
    """Describe the transactions of transactional ids.

    Source: TransactionCoordinator#handleDescribeTransactions (4.3.1).
    """
    return tools.DescribeTransactionsResponse(
        transaction_states=tuple(_transaction(broker, each) for each in request.transactional_ids)
    )


def _transaction(broker: Broker, transactional_id: TransactionalId) -> tools.DescribedTransaction:
    found = broker.cluster.transactions.transactions.get(transactional_id)
    if not transactional_id:
        error = Errors.INVALID_REQUEST
    elif not _owns(broker, transactional_id):
        error = Errors.NOT_COORDINATOR
    elif found is None:
        error = Errors.TRANSACTIONAL_ID_NOT_FOUND
    else:
        return tools.DescribedTransaction(
            error_code=Errors.NONE,
            transactional_id=transactional_id,
            transaction_state=found.state.value,
            transaction_timeout=found.transaction_timeout_ms,
            transaction_start_time=_began_ms(broker, found),
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            topics=tuple(_topics(found)),
        )
    return tools.DescribedTransaction(error_code=error, transactional_id=transactional_id)


def _topics(transaction: TransactionMetadata) -> Iterator[tools.TransactionTopicData]:
    for topic, partitions in groupby(sorted(transaction.partitions), key=lambda each: each.topic):
        yield tools.TransactionTopicData(topic=topic, partitions=tuple(each.partition for each in partitions))


def _owns(broker: Broker, transactional_id: TransactionalId) -> bool:
    topic = broker.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return False
    partition = partition_for(transactional_id, topic.num_partitions)
    leader = broker.cluster.leader(TRANSACTION_STATE_TOPIC, partition)
    return leader is not None and leader.node_id == broker.node.node_id
