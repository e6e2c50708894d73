"""Authorization of requests, before they are handled, and of their answers afterwards."""

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, get_args

from typing_extensions import override

from reference_coordinator import messages
from reference_coordinator.broker.authorized_parts import NARROWING
from reference_coordinator.broker.consumer_group_apis import is_consumer_group_protocol_enabled
from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.broker.kafka_apis import Answers, KafkaApis, answer_with
from reference_coordinator.broker.narrowing import Narrowed, sees
from reference_coordinator.broker.routing import lacks_mandatory_protocol
from reference_coordinator.broker.share_group_apis import is_share_group_protocol_enabled
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker.streams_group_apis import is_streams_group_protocol_enabled
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.broker_messages.acls import (
    CLUSTER_NAME,
    AclOperation,
    CreateAclsRequest,
    DescribeAclsRequest,
    ResourceType,
)
from reference_coordinator.broker_messages.tools import StreamsGroupTopologyDescriptionUpdateRequest
from reference_coordinator.core.effects import Permitted, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ResponseToken
from reference_coordinator.messages import share_groups
from reference_coordinator.shares.messages import ShareAcknowledgeRequest, ShareFetchRequest, StateRequest
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

_Check = tuple[AclOperation, ResourceType, str | None]
"""The operation, the resource type, and the field with the resource's name; None for the cluster."""
_READS_GROUP: Final[_Check] = (AclOperation.READ, ResourceType.GROUP, "group_id")
_WRITES_TRANSACTION: Final[_Check] = (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id")
_ACTS_AS_BROKER: Final[_Check] = (AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, None)
_CHECKS: Final = MappingProxyType[type, tuple[_Check, ...]](
    {
        messages.JoinGroupRequest: (_READS_GROUP,),
        messages.SyncGroupRequest: (_READS_GROUP,),
        messages.HeartbeatRequest: (_READS_GROUP,),
        messages.LeaveGroupRequest: (_READS_GROUP,),
        messages.OffsetCommitRequest: (_READS_GROUP,),
        messages.OffsetDeleteRequest: ((AclOperation.DELETE, ResourceType.GROUP, "group_id"),),
        messages.TxnOffsetCommitRequest: (_WRITES_TRANSACTION, _READS_GROUP),
        messages.ConsumerGroupHeartbeatRequest: (_READS_GROUP,),
        share_groups.ShareGroupHeartbeatRequest: (_READS_GROUP,),
        share_groups.AlterShareGroupOffsetsRequest: (_READS_GROUP,),
        share_groups.DeleteShareGroupOffsetsRequest: ((AclOperation.DELETE, ResourceType.GROUP, "group_id"),),
        ShareFetchRequest: (_READS_GROUP,),
        ShareAcknowledgeRequest: (_READS_GROUP,),
        **dict.fromkeys(get_args(StateRequest), (_ACTS_AS_BROKER,)),
        messages.StreamsGroupHeartbeatRequest: (_READS_GROUP,),
        StreamsGroupTopologyDescriptionUpdateRequest: (_READS_GROUP,),
        AddOffsetsToTxnRequest: (_WRITES_TRANSACTION, _READS_GROUP),
        EndTxnRequest: (_WRITES_TRANSACTION,),
        CreateAclsRequest: ((AclOperation.ALTER, ResourceType.CLUSTER, None),),
        DescribeAclsRequest: ((AclOperation.DESCRIBE, ResourceType.CLUSTER, None),),
    }
)
"""The checks that apply to a whole request, in this order. Source: KafkaApis (3.9.2), AclApis."""
_ERRORS: Final = MappingProxyType(
    {
        ResourceType.GROUP: Errors.GROUP_AUTHORIZATION_FAILED,
        ResourceType.TRANSACTIONAL_ID: Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ResourceType.CLUSTER: Errors.CLUSTER_AUTHORIZATION_FAILED,
    }
)


class AuthorizedApis(KafkaApis):
    """A broker that permits each client only what the ACL entries of its cluster allow."""

    @override
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._authorizer = StandardAuthorizer(self.broker.config, self.cluster.acls)
        self.coordinator.shard.may_describe_topic = partial(sees, self._authorizer)

    @override
    def handle(
        self,
        request: BrokerRequest,
        context: messages.RequestContext,
        token: ResponseToken,
        *,
        now_ms: Millis,
    ) -> Answers:
        if self._is_refused_anyhow(request, context):
            return super().handle(request, context, token, now_ms=now_ms)
        error = _whole_error(self._authorizer, request, context)
        if error is not Errors.NONE:
            return answer_with(token, error_response(request, error, api_version=context.api_version))
        narrow = NARROWING.get(type(request))
        if narrow is None:
            return super().handle(request, context, token, now_ms=now_ms)
        narrowed = narrow(self.broker, self._authorizer, request, context)
        if not isinstance(narrowed, Narrowed):
            return answer_with(token, narrowed)
        return self._handle_narrowed(narrowed, context, token, now_ms=now_ms)

    def _is_refused_anyhow(self, request: BrokerRequest, context: messages.RequestContext) -> bool:
        """Return whether Kafka refuses a request before it authorizes the client."""
        match request:
            case messages.SyncGroupRequest():
                return lacks_mandatory_protocol(request, context)
            case messages.ConsumerGroupHeartbeatRequest() | messages.ConsumerGroupDescribeRequest():
                return not is_consumer_group_protocol_enabled(self.broker)
            case (
                messages.StreamsGroupHeartbeatRequest()
                | messages.StreamsGroupDescribeRequest()
                | StreamsGroupTopologyDescriptionUpdateRequest()
            ):
                return not is_streams_group_protocol_enabled(self.broker)
            case ShareFetchRequest(group_id=None) | ShareAcknowledgeRequest(group_id=None):
                return True
            case _ if isinstance(
                request, ShareFetchRequest | ShareAcknowledgeRequest | share_groups.ShareGroupRequest
            ):
                return not is_share_group_protocol_enabled(self.broker)
            case _:
                return False

    def _handle_narrowed(
        self, narrowed: Narrowed, context: messages.RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        answers = super().handle(narrowed.request, context, token, now_ms=now_ms)
        finish = self._finishes.get(token)
        if finish is not None:
            # The coordinator answers later.
            def finish_all(response: messages.GroupResponse) -> messages.GroupResponse:
                assert finish is not None
                finished: messages.GroupResponse = narrowed.finish(finish(response))
                return finished

            self._finishes[token] = finish_all
        return tuple(_widened(each, narrowed) if each.token == token else each for each in answers)


def _whole_error(
    authorizer: StandardAuthorizer, request: BrokerRequest, context: messages.RequestContext
) -> Errors:
    if isinstance(request, InitProducerIdRequest):
        return _init_producer_id_error(authorizer, request, context)
    for operation, resource_type, field in _CHECKS.get(type(request), ()):
        name: str = CLUSTER_NAME if field is None else getattr(request, field) or ""
        if not authorizer.authorize(context, operation, resource_type, name):
            return _ERRORS[resource_type]
    return Errors.NONE


def _init_producer_id_error(
    authorizer: StandardAuthorizer, request: InitProducerIdRequest, context: messages.RequestContext
) -> Errors:
    """Source: KafkaApis#handleInitProducerIdRequest (3.9.2)."""
    write = AclOperation.WRITE
    if request.transactional_id is not None:
        name = request.transactional_id
        is_allowed = authorizer.authorize(context, write, ResourceType.TRANSACTIONAL_ID, name)
        return Errors.NONE if is_allowed else Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    is_allowed = authorizer.authorize_cluster(
        context, AclOperation.IDEMPOTENT_WRITE
    ) or authorizer.authorize_by_resource_type(context, write, ResourceType.TOPIC)
    return Errors.NONE if is_allowed else Errors.CLUSTER_AUTHORIZATION_FAILED


def _widened(answer: Respond[BrokerResponse], narrowed: Narrowed) -> Respond[BrokerResponse]:
    """Add the earlier refusals to an answer, and to the values permitted instead."""
    response: Any = answer.response

    def widened(choice: Permitted) -> Permitted:
        others = (replace(response, **{choice.field: value}) for value in choice.any_of)
        return replace(
            choice, any_of=tuple(getattr(narrowed.finish(other), choice.field) for other in others)
        )

    return Respond(
        token=answer.token,
        response=narrowed.finish(response),
        permitted=tuple(map(widened, answer.permitted)),
    )
