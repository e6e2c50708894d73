"""Processing of requests about share groups around the coordinator."""

from dataclasses import replace
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import MemberId
from reference_coordinator.messages import GroupResponse
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    ShareGroupRequest,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.share_error_responses import share_error_response

_MAX_MEMBER_ID_LENGTH: Final = 36
_NO_SUCH_TOPIC: Final = "This server does not host this topic-partition."


def is_share_group_protocol_enabled(broker: Broker) -> bool:
    """Return whether the release has share groups, and the broker or, from 4.3 on, the cluster enables them.

    Source: KafkaApis#isShareGroupProtocolEnabled (4.3.1).
    """
    has, config = broker.profile.has, broker.config
    is_configured = config.group_share_enable or "share" in config.group_coordinator_rebalance_protocols
    if has(Behaviour.SHARE_GROUPS_BY_DEFAULT) and config.share_version > 0:
        return True
    return is_configured and has(Behaviour.SHARE_GROUPS) and not has(Behaviour.SHARE_GROUPS_BY_FEATURE_ALONE)


def handle_share_group_request(broker: Broker, request: ShareGroupRequest) -> GroupResponse | Forward:
    """Refuse a request if share groups are disabled; else answer it without the coordinator, or forward it.

    Source: KafkaApis#handleShareGroupHeartbeat, KafkaApis#handleShareGroupDescribe (4.3.1).
    """
    if not is_share_group_protocol_enabled(broker):
        return share_error_response(request, Errors.UNSUPPORTED_VERSION)
    match request:
        case ShareGroupHeartbeatRequest():
            return _handle_heartbeat(broker, request)
        case AlterShareGroupOffsetsRequest():
            return _handle_alter_offsets(broker, request)
        case DeleteShareGroupOffsetsRequest(topics=()) if not broker.profile.has(
            Behaviour.SHARE_OFFSETS_DELETED_BY_GROUP
        ):
            return DeleteShareGroupOffsetsResponse()
        case _:
            return Forward(request=request)


def is_share_member_id_refused(broker: Broker, member_id: MemberId) -> bool:
    """Source: KafkaApis#isMemberIdValid (4.3.1)."""
    limits = broker.profile.has(Behaviour.SHARE_MEMBER_ID_LIMITED)
    return limits and not 0 < len(member_id) <= _MAX_MEMBER_ID_LENGTH


def _handle_heartbeat(broker: Broker, request: ShareGroupHeartbeatRequest) -> GroupResponse | Forward:
    if is_share_member_id_refused(broker, request.member_id):
        return ShareGroupHeartbeatResponse(error_code=Errors.INVALID_REQUEST)
    return Forward(request=request)


def _handle_alter_offsets(broker: Broker, request: AlterShareGroupOffsetsRequest) -> GroupResponse | Forward:
    """Refuse topics that do not exist, and forward the others.

    Until 4.2, Kafka drops the other topics, and the coordinator's results for them.

    Source: KafkaApis#handleAlterShareGroupOffsetsRequest (4.3.1).
    """
    unknown = tuple(
        AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            topic_id=None,
            partitions=tuple(
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index,
                    error_code=Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    error_message=_NO_SUCH_TOPIC,
                )
                for each in topic.partitions
            ),
        )
        for topic in request.topics
        if broker.topics.get(topic.topic_name) is None
    )
    if not broker.profile.has(Behaviour.SHARE_OFFSETS_ALTERABLE):
        return AlterShareGroupOffsetsResponse(responses=unknown)
    known = tuple(each for each in request.topics if broker.topics.get(each.topic_name) is not None)

    def finish(response: GroupResponse) -> GroupResponse:
        if not isinstance(response, AlterShareGroupOffsetsResponse) or response.error_code is not Errors.NONE:
            return response
        return replace(response, responses=(*unknown, *response.responses))

    return Forward(request=replace(request, topics=known), finish=finish)
