"""Processing of requests about groups before they reach the coordinator, as in KafkaApis."""

from dataclasses import replace
from typing import Final

from reference_coordinator import messages
from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.consumer_group_apis import (
    handle_consumer_group_describe,
    handle_consumer_group_heartbeat,
)
from reference_coordinator.broker.offset_apis import (
    Forward,
    handle_offset_commit,
    handle_offset_delete,
    handle_offset_fetch,
    handle_txn_offset_commit,
)
from reference_coordinator.broker.share_group_apis import handle_share_group_request
from reference_coordinator.broker.streams_group_apis import (
    handle_streams_group_describe,
    handle_streams_group_heartbeat,
)
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.broker.zookeeper_offsets import handle_offsets_of_version_0
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages.share_groups import ShareGroupRequest
from reference_coordinator.runtime.error_responses import sync_error

_FIRST_MANDATORY_SYNC_PROTOCOL: Final = 5


def route(  # noqa: C901, PLR0911, PLR0912 - one flat case for each request
    broker: Broker,
    transactions: TransactionApis,
    request: messages.GroupRequest,
    context: messages.RequestContext,
) -> messages.GroupResponse | Forward:
    """Answer a request without the coordinator, or forward it. Source: KafkaApis#handle (4.3.1)."""
    topics, profile = broker.topics, broker.profile
    if context.api_version == 0 and isinstance(
        request, messages.OffsetCommitRequest | messages.OffsetFetchRequest
    ):
        return handle_offsets_of_version_0(broker, request, context)
    match request:
        case messages.SyncGroupRequest() if lacks_mandatory_protocol(request, context):
            return sync_error(Errors.INCONSISTENT_GROUP_PROTOCOL)
        case messages.OffsetCommitRequest():
            return handle_offset_commit(request, context, topics, profile)
        case messages.TxnOffsetCommitRequest():
            return _route_txn_offset_commit(broker, transactions, request, context)
        case messages.OffsetFetchRequest():
            return handle_offset_fetch(request, context, topics, profile)
        case messages.OffsetDeleteRequest():
            return handle_offset_delete(request, topics, profile)
        case messages.ConsumerGroupHeartbeatRequest():
            return handle_consumer_group_heartbeat(broker, request)
        case messages.ConsumerGroupDescribeRequest():
            return handle_consumer_group_describe(broker, request)
        case _ if isinstance(request, ShareGroupRequest):
            return handle_share_group_request(broker, request)
        case messages.StreamsGroupHeartbeatRequest():
            return handle_streams_group_heartbeat(broker, request, context)
        case messages.StreamsGroupDescribeRequest():
            return handle_streams_group_describe(broker, request)
        case messages.DeleteGroupsRequest():
            return Forward(request=_with_distinct_groups(request))
        case _:
            return Forward(request=request)


def _route_txn_offset_commit(
    broker: Broker,
    transactions: TransactionApis,
    request: messages.TxnOffsetCommitRequest,
    context: messages.RequestContext,
) -> messages.GroupResponse | Forward:
    routed = handle_txn_offset_commit(request, context, broker.topics, broker.profile)
    if not isinstance(routed, Forward):
        return routed
    assert isinstance(routed.request, messages.TxnOffsetCommitRequest)
    verification = transactions.verify(request, context)
    return replace(routed, request=replace(routed.request, verification=verification))


def lacks_mandatory_protocol(request: messages.SyncGroupRequest, context: messages.RequestContext) -> bool:
    """Return whether the protocol's type or name is missing although it is mandatory.

    Source: SyncGroupRequest#areMandatoryProtocolTypeAndNamePresent (4.3.1).
    """
    return context.api_version >= _FIRST_MANDATORY_SYNC_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    )


def _with_distinct_groups(request: messages.DeleteGroupsRequest) -> messages.DeleteGroupsRequest:
    """Remove duplicate group ids. Source: KafkaApis#handleDeleteGroupsRequest (4.3.1)."""
    return messages.DeleteGroupsRequest(groups_names=tuple(dict.fromkeys(request.groups_names)))
