"""Processing of StreamsGroupHeartbeat and StreamsGroupDescribe around the coordinator."""

from collections.abc import Iterable
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.internal_topics import create_streams_internal_topics
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.broker.topics import is_internal_topic_name, is_legal_topic_name
from reference_coordinator.broker_messages.tools import StreamsGroupTopologyDescriptionUpdateResponse
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.streams_records import Subtopology
from reference_coordinator.messages import (
    GroupResponse,
    RequestContext,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.error_responses import streams_describe_error

_STREAMS: Final = "streams"
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_NO_PLUGIN: Final = "The broker has no streams group topology description plugin configured."


def is_streams_group_protocol_enabled(broker: Broker) -> bool:
    """Return whether the release and its cluster have streams groups, and the broker does not disable them.

    Source: KafkaApis#isStreamsGroupProtocolEnabled (4.3.1).
    """
    config = broker.config
    is_named = _STREAMS in config.group_coordinator_rebalance_protocols
    is_configured = is_named or _PROTOCOLS not in config.named
    return is_configured and config.streams_version > 0 and broker.profile.has(Behaviour.STREAMS_GROUPS)


def handle_streams_group_heartbeat(
    broker: Broker, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> StreamsGroupHeartbeatResponse | Forward:
    """Refuse invalid topic names, and create the internal topics that are missing.

    Source: KafkaApis#handleStreamsGroupHeartbeat (4.3.1).
    """
    if not is_streams_group_protocol_enabled(broker):
        return StreamsGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION)
    if request.topology is not None:
        message = refused_names(named_topics(request.topology.subtopologies))
        if message is not None:
            return StreamsGroupHeartbeatResponse(
                error_code=Errors.STREAMS_INVALID_TOPOLOGY, error_message=message
            )

    def create_internal_topics(response: GroupResponse) -> GroupResponse:
        assert isinstance(response, StreamsGroupHeartbeatResponse)
        if not response.creatable_topics or not broker.cluster.creates_internal_topics:
            return response
        return create_streams_internal_topics(broker, response, context)

    return Forward(request=request, finish=create_internal_topics)


def handle_streams_group_describe(
    broker: Broker, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse | Forward:
    """Refuse to describe if streams groups are disabled.

    Source: KafkaApis#handleStreamsGroupDescribe (4.3.1).
    """
    if not is_streams_group_protocol_enabled(broker):
        return streams_describe_error(request, Errors.UNSUPPORTED_VERSION)
    return Forward(request=request)


def handle_streams_group_topology_description_update(
    broker: Broker,
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    """Refuse a description of a topology, because there is no plugin to store it.

    Source: KafkaApis#handleStreamsGroupTopologyDescriptionUpdate,
    GroupCoordinatorService#throwIfStreamsGroupTopologyDescriptionUpdateInvalid (4.4.0).
    """
    message = _NO_PLUGIN if is_streams_group_protocol_enabled(broker) else None
    return StreamsGroupTopologyDescriptionUpdateResponse(
        error_code=Errors.UNSUPPORTED_VERSION, error_message=message
    )


def named_topics(subtopologies: Iterable[Subtopology]) -> list[str]:
    """Return every topic of a topology once, in order.

    Decided in: KafkaApis#handleStreamsGroupHeartbeat (4.3.1).
    """
    return list(
        dict.fromkeys(
            name
            for each in subtopologies
            for name in (
                *each.source_topics,
                *each.repartition_sink_topics,
                *(topic.name for topic in each.repartition_source_topics),
                *(topic.name for topic in each.state_changelog_topics),
            )
        )
    )


def refused_names(names: list[str]) -> str | None:
    """Return the error message for invalid topic names of a topology; None if all are valid.

    Decided in: KafkaApis#handleStreamsGroupHeartbeat (4.3.1).
    """
    prohibited = [each for each in names if is_internal_topic_name(each)]
    if prohibited:
        listed = ",".join(prohibited)
        return f"Use of Kafka internal topics {listed} in a Kafka Streams topology is prohibited."
    invalid = [each for each in names if not is_legal_topic_name(each)]
    return f"Topic names {','.join(invalid)} are not valid topic names." if invalid else None
