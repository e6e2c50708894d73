"""Authorization of requests about several groups, topics or keys, of which some may be refused.

Each function removes the refused parts, and returns how to complete the answer to the rest.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from reference_coordinator import broker_messages as brokers
from reference_coordinator.broker.authorized_offsets import (
    narrow_offset_commit,
    narrow_offset_delete,
    narrow_offset_fetch,
)
from reference_coordinator.broker.authorized_shares import (
    narrow_alter_share_group_offsets,
    narrow_delete_share_group_offsets,
    narrow_describe_share_group_offsets,
    narrow_share_group_heartbeat,
)
from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.broker.narrowing import REFUSED, Narrow, Narrowed, sees
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker.streams_group_apis import named_topics, refused_names
from reference_coordinator.broker.transaction_partitions import result_of
from reference_coordinator.broker_messages.acls import AclOperation, ResourceType
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import (
    AUTHORIZED_OPERATIONS_OMITTED,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    RequestContext,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TxnOffsetCommitRequest,
)
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
)
from reference_coordinator.transactions.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)

_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_FIRST_ADD_PARTITIONS_OF_BROKERS: Final = 4
_FIRST_METADATA_BY_ID: Final = 10
AboutGroups = Any
"""A request, a response, or an entry of one, of the APIs about groups whose fields are alike."""
_KEYS: Final = MappingProxyType(
    {
        0: (
            AclOperation.DESCRIBE,
            ResourceType.GROUP,
            Errors.GROUP_AUTHORIZATION_FAILED,
            "Group authorization failed.",
        ),
        1: (
            AclOperation.DESCRIBE,
            ResourceType.TRANSACTIONAL_ID,
            Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "Transactional Id authorization failed.",
        ),
        2: (
            AclOperation.CLUSTER_ACTION,
            ResourceType.CLUSTER,
            Errors.CLUSTER_AUTHORIZATION_FAILED,
            "Cluster authorization failed.",
        ),
    }
)
"""By FindCoordinator's key type: the operation and resource to authorize, the error and its message."""


def _describe_groups(
    field: str,
    operation: AclOperation,
    entries: str,
    _broker: Broker,
    authorizer: StandardAuthorizer,
    request: AboutGroups,
    context: RequestContext,
) -> Narrowed:
    """Refuse some of several groups: `field` contains their ids, and `entries` of the response the results.

    Source: KafkaApis#handleDescribeGroupsRequest, #handleDeleteGroupsRequest (3.9.2).
    """
    asked: tuple[str, ...] = getattr(request, field)
    allowed = tuple(
        each for each in asked if authorizer.authorize(context, operation, ResourceType.GROUP, each)
    )
    denied = tuple(each for each in asked if each not in allowed)
    refusal: AboutGroups = error_response(
        replace(request, **{field: denied}),
        Errors.GROUP_AUTHORIZATION_FAILED,
        api_version=context.api_version,
    )

    def finish(response: AboutGroups) -> AboutGroups:
        answered = tuple(_with_operations(each, authorizer, context) for each in getattr(response, entries))
        if isinstance(response, ConsumerGroupDescribeResponse | ShareGroupDescribeResponse):
            answered = tuple(_with_visible_topics(each, authorizer, context) for each in answered)
        if isinstance(response, StreamsGroupDescribeResponse):
            answered = tuple(_with_visible_topology(each, authorizer, context) for each in answered)
        return replace(response, **{entries: (*getattr(refusal, entries), *answered)})

    return Narrowed(request=replace(request, **{field: allowed}), finish=finish)


def _with_operations(
    entry: AboutGroups, authorizer: StandardAuthorizer, context: RequestContext
) -> AboutGroups:
    """Remove from a group's operations those that are not allowed."""
    operations = getattr(entry, "authorized_operations", AUTHORIZED_OPERATIONS_OMITTED)
    if entry.error_code is not Errors.NONE or operations == AUTHORIZED_OPERATIONS_OMITTED:
        return entry
    left = _allowed_operations(operations, authorizer, context, ResourceType.GROUP, entry.group_id)
    return replace(entry, authorized_operations=left)


def _allowed_operations(
    operations: int,
    authorizer: StandardAuthorizer,
    context: RequestContext,
    resource_type: ResourceType,
    name: str,
) -> int:
    """Source: AuthHelper#authorizedOperations (3.9.2)."""
    if operations == AUTHORIZED_OPERATIONS_OMITTED:
        return operations
    return sum(
        1 << operation
        for operation in AclOperation
        if operations & 1 << operation and authorizer.authorize(context, operation, resource_type, name)
    )


def _with_visible_topics(
    entry: AboutGroups, authorizer: StandardAuthorizer, context: RequestContext
) -> AboutGroups:
    """Refuse a whole group if one of its topics may not be described.

    Source: KafkaApis#handleConsumerGroupDescribe, #handleShareGroupDescribe (4.3.1).
    """
    shown = (
        topic.topic_name
        for member in entry.members
        for assignment in (member.assignment, getattr(member, "target_assignment", member.assignment))
        for topic in assignment.topic_partitions
    )
    if all(sees(authorizer, context, each) for each in shown):
        return entry
    return type(entry)(
        group_id=entry.group_id,
        error_code=REFUSED,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


def _list_groups(
    _: Broker, authorizer: StandardAuthorizer, request: ListGroupsRequest, context: RequestContext
) -> Narrowed:
    """Source: KafkaApis#handleListGroupsRequest (3.9.2)."""
    if authorizer.authorize_cluster(context, AclOperation.DESCRIBE):
        return Narrowed(request=request)

    def finish(response: ListGroupsResponse) -> ListGroupsResponse:
        groups = (
            each
            for each in response.groups
            if authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.GROUP, each.group_id)
        )
        return replace(response, groups=tuple(groups))

    return Narrowed(request=request, finish=finish)


def _find_coordinator(
    _: Broker,
    authorizer: StandardAuthorizer,
    request: brokers.FindCoordinatorRequest,
    context: RequestContext,
) -> Narrowed:
    """Source: KafkaApis#getCoordinator (3.9.2)."""
    if request.key_type not in _KEYS:
        return Narrowed(request=request)
    operation, resource_type, error, message = _KEYS[request.key_type]
    is_cluster = resource_type is ResourceType.CLUSTER

    def is_allowed(key: str) -> bool:
        if is_cluster:
            return authorizer.authorize_cluster(context, operation)
        return authorizer.authorize(context, operation, resource_type, key)

    allowed = tuple(filter(is_allowed, request.coordinator_keys))

    def finish(response: brokers.FindCoordinatorResponse) -> brokers.FindCoordinatorResponse:
        answered = iter(response.coordinators)
        has_message = context.api_version < _FIRST_BATCHED_FIND_COORDINATOR
        return replace(
            response,
            coordinators=tuple(
                next(answered)
                if key in allowed
                else brokers.Coordinator(
                    key=key,
                    node_id=-1,
                    host="",
                    port=-1,
                    error_code=error,
                    error_message=message if has_message else "",
                )
                for key in request.coordinator_keys
            ),
        )

    return Narrowed(request=replace(request, coordinator_keys=allowed), finish=finish)


def _consumer_group_heartbeat(
    _: Broker, authorizer: StandardAuthorizer, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> Narrowed | ConsumerGroupHeartbeatResponse:
    """Refuse a subscription if one of its topics may not be described.

    Source: KafkaApis#handleConsumerGroupHeartbeat (4.3.1), KAFKA-18813.
    """
    if all(sees(authorizer, context, each) for each in request.subscribed_topic_names or ()):
        return Narrowed(request=request)
    return ConsumerGroupHeartbeatResponse(error_code=REFUSED)


def _streams_group_heartbeat(
    _: Broker, authorizer: StandardAuthorizer, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> Narrowed | StreamsGroupHeartbeatResponse:
    """Refuse a topology if one of its topics may not be described; invalid topic names are refused first.

    Source: KafkaApis#handleStreamsGroupHeartbeat (4.3.1).
    """
    names = [] if request.topology is None else named_topics(request.topology.subtopologies)
    if refused_names(names) is not None or all(sees(authorizer, context, each) for each in names):
        return Narrowed(request=request)
    return StreamsGroupHeartbeatResponse(error_code=REFUSED)


def _with_visible_topology(
    entry: AboutGroups, authorizer: StandardAuthorizer, context: RequestContext
) -> AboutGroups:
    """Refuse a whole group if one topic of its topology may not be described.

    Source: KafkaApis#handleStreamsGroupDescribe (4.3.1).
    """
    names = [] if entry.topology is None else named_topics(entry.topology.subtopologies or ())
    if all(sees(authorizer, context, each) for each in names):
        return entry
    message = "The described group uses topics that the client is not authorized to describe."
    return type(entry)(group_id=entry.group_id, error_code=REFUSED, error_message=message)


def _metadata(
    broker: Broker, authorizer: StandardAuthorizer, request: brokers.MetadataRequest, context: RequestContext
) -> Narrowed:
    """Omit topics that may not be described; refuse those that were requested by name or id.

    Source: KafkaApis#handleTopicMetadataRequest (3.9.2).
    """

    def shown(topic: brokers.MetadataResponseTopic) -> brokers.MetadataResponseTopic:
        operations = topic.topic_authorized_operations
        left = _allowed_operations(operations, authorizer, context, ResourceType.TOPIC, topic.name or "")
        return replace(topic, topic_authorized_operations=left)

    def name_of(topic: brokers.MetadataRequestTopic) -> str | None:
        if topic.topic_id is None:
            return topic.name
        found = broker.topics.get_by_id(topic.topic_id)
        return None if found is None else found.name

    def is_visible(name: str | None) -> bool:
        return name is None or sees(authorizer, context, name)

    asked = None if request.topics is None else tuple(dict.fromkeys(request.topics))
    hidden = tuple(
        brokers.MetadataResponseTopic(
            error_code=REFUSED,
            name=each.name if each.topic_id is None or context.api_version < _FIRST_METADATA_BY_ID else None,
            topic_id=each.topic_id,
            is_internal=False,
            partitions=(),
            topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
        )
        for each in asked or ()
        if not is_visible(name_of(each))
    )

    def finish(response: brokers.MetadataResponse) -> brokers.MetadataResponse:
        topics = (shown(each) for each in response.topics if asked is not None or is_visible(each.name))
        return replace(response, topics=(*topics, *hidden))

    left = None if asked is None else tuple(each for each in asked if is_visible(name_of(each)))
    return Narrowed(request=replace(request, topics=left), finish=finish)


def _add_partitions_to_txn(
    broker: Broker,
    authorizer: StandardAuthorizer,
    request: AddPartitionsToTxnRequest,
    context: RequestContext,
) -> Narrowed | brokers.BrokerResponse:
    """Refuse a producer's transaction, or all its partitions because of one topic; brokers may add any.

    Source: KafkaApis#handleAddPartitionsToTxnRequest (3.9.2).
    """
    if context.api_version >= _FIRST_ADD_PARTITIONS_OF_BROKERS:
        if authorizer.authorize_cluster(context, AclOperation.CLUSTER_ACTION):
            return Narrowed(request=request)
        error = Errors.CLUSTER_AUTHORIZATION_FAILED
        return error_response(request, error, api_version=context.api_version)
    (transaction,) = request.transactions
    refusal = _refused_transaction(broker, authorizer, transaction, context)
    if refusal is None:
        return Narrowed(request=request)
    return AddPartitionsToTxnResponse(results_by_transaction=(refusal,))


def _refused_transaction(
    broker: Broker,
    authorizer: StandardAuthorizer,
    transaction: AddPartitionsToTxnTransaction,
    context: RequestContext,
) -> AddPartitionsToTxnResult | None:
    name, write = transaction.transactional_id, AclOperation.WRITE
    if not authorizer.authorize(context, write, ResourceType.TRANSACTIONAL_ID, name):
        error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return result_of(name, dict.fromkeys(transaction.partitions, error))

    def error_of(topic: str, partition: int) -> Errors:
        if not authorizer.authorize(context, write, ResourceType.TOPIC, topic):
            return REFUSED
        is_known = broker.topics.has_partition(topic, partition)
        return Errors.OPERATION_NOT_ATTEMPTED if is_known else Errors.UNKNOWN_TOPIC_OR_PARTITION

    errors = {each: error_of(each.topic, each.partition) for each in transaction.partitions}
    return result_of(name, errors) if REFUSED in errors.values() else None


NARROWING: Final[Mapping[type, Narrow]] = MappingProxyType(
    {
        DescribeGroupsRequest: partial(_describe_groups, "groups", AclOperation.DESCRIBE, "groups"),
        ConsumerGroupDescribeRequest: partial(_describe_groups, "group_ids", AclOperation.DESCRIBE, "groups"),
        DeleteGroupsRequest: partial(_describe_groups, "groups_names", AclOperation.DELETE, "results"),
        ListGroupsRequest: _list_groups,
        brokers.FindCoordinatorRequest: _find_coordinator,
        OffsetCommitRequest: narrow_offset_commit,
        TxnOffsetCommitRequest: narrow_offset_commit,
        OffsetDeleteRequest: narrow_offset_delete,
        OffsetFetchRequest: narrow_offset_fetch,
        ConsumerGroupHeartbeatRequest: _consumer_group_heartbeat,
        StreamsGroupHeartbeatRequest: _streams_group_heartbeat,
        StreamsGroupDescribeRequest: partial(_describe_groups, "group_ids", AclOperation.DESCRIBE, "groups"),
        ShareGroupHeartbeatRequest: narrow_share_group_heartbeat,
        ShareGroupDescribeRequest: partial(_describe_groups, "group_ids", AclOperation.DESCRIBE, "groups"),
        DescribeShareGroupOffsetsRequest: narrow_describe_share_group_offsets,
        AlterShareGroupOffsetsRequest: narrow_alter_share_group_offsets,
        DeleteShareGroupOffsetsRequest: narrow_delete_share_group_offsets,
        brokers.MetadataRequest: _metadata,
        AddPartitionsToTxnRequest: _add_partitions_to_txn,
    }
)
"""The function that removes the refused parts, by type of request."""
