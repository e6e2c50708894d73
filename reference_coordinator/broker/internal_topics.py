"""Creation of the internal topics of a streams group by its coordinator's broker."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker.topic_apis import handle_create_topics
from reference_coordinator.broker.topic_creation_errors import TopicCreationError
from reference_coordinator.broker_messages import CreatableTopic, CreateTopicsRequest
from reference_coordinator.broker_messages.acls import AclOperation, ResourceType
from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.streams_records import TopicInfo
from reference_coordinator.messages import RequestContext, StreamsGroupHeartbeatResponse

_MISSING_INTERNAL_TOPICS: Final = 3
_DEFAULT_REPLICATION: Final = -1
_ERRORS_SHOWN: Final = 3
_HEARTBEATS_REMEMBERED: Final = 2


def create_streams_internal_topics(
    broker: Broker, response: StreamsGroupHeartbeatResponse, context: RequestContext
) -> StreamsGroupHeartbeatResponse:
    """Create missing internal topics, or add to the status why they are missing.

    Kafka creates topics in the background. So a heartbeat reports the errors of an earlier one, and its own
    errors if the answer is late. For two heartbeat intervals after an error, the creation of a topic is not
    tried again.

    Decided in: KafkaApis#handleStreamsGroupHeartbeat,
    AutoTopicCreationManager#createStreamsInternalTopics (4.3.1).
    """
    names = [each.name for each in response.creatable_topics]
    unauthorized = _unauthorized(broker, names, context)
    if unauthorized:
        return _with_reason(response, f"; Unauthorized to CREATE on topics {', '.join(unauthorized)}.")
    now_ms, errors = broker.cluster.now_ms, broker.topic_creation_errors
    known = _current(errors, names, now_ms)
    created = handle_create_topics(
        broker,
        CreateTopicsRequest(
            topics=tuple(
                _creatable_topic(each) for each in response.creatable_topics if each.name not in known
            ),
            timeout_ms=Millis(0),
        ),
    )
    until_ms = Millis(now_ms + _HEARTBEATS_REMEMBERED * response.heartbeat_interval_ms)
    for each in created.topics:
        if each.error_code is not Errors.NONE:
            errors[each.name] = TopicCreationError(message=each.error_message or "", until_ms=until_ms)
    late = _with_errors(response, _current(errors, names, now_ms))
    return replace(_with_errors(response, known), status_if_late=late.status)


def _current(
    errors: Mapping[str, TopicCreationError], names: Iterable[str], now_ms: Millis
) -> Mapping[str, TopicCreationError]:
    return {each: errors[each] for each in names if each in errors and errors[each].until_ms > now_ms}


def permitted_statuses(response: StreamsGroupHeartbeatResponse) -> tuple[Permitted, ...]:
    """Return the other permitted statuses: topics may be created, or refused, before the answer is built.

    Source: AutoTopicCreationManager#getStreamsInternalTopicCreationErrors (4.3.1).
    """
    late = response.status_if_late
    if late is None or late == response.status:
        return ()
    reason = "creation of internal topics in the background, which may fail before the answer is made"
    return (Permitted(field="status", any_of=(response.status, late), reason=reason),)


def _with_errors(
    response: StreamsGroupHeartbeatResponse, errors: Mapping[str, TopicCreationError]
) -> StreamsGroupHeartbeatResponse:
    if not errors:
        return response
    listed = [f"{name} ({error.message})" for name, error in errors.items()]
    more = len(listed) - _ERRORS_SHOWN
    detail = ", ".join(listed[:_ERRORS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return _with_reason(response, f"; Creation failed: {detail}.")


def _unauthorized(broker: Broker, names: Iterable[str], context: RequestContext) -> list[str]:
    """Return the topics that a client may not create; none without an authorizer."""
    if not broker.config.authorizer_class_name:
        return []
    authorizer = StandardAuthorizer(broker.config, broker.cluster.acls)
    if authorizer.authorize_cluster(context, AclOperation.CREATE):
        return []
    return [
        each
        for each in names
        if not authorizer.authorize(context, AclOperation.CREATE, ResourceType.TOPIC, each)
    ]


def _with_reason(response: StreamsGroupHeartbeatResponse, why: str) -> StreamsGroupHeartbeatResponse:
    """Add the reason to the status of missing internal topics."""
    statuses = tuple(
        replace(each, status_detail=each.status_detail + why)
        if each.status_code == _MISSING_INTERNAL_TOPICS
        else each
        for each in response.status
    )
    return replace(response, status=statuses)


def _creatable_topic(topic: TopicInfo) -> CreatableTopic:
    """Source: InternalTopicManager#toCreatableTopic (4.3.1)."""
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or _DEFAULT_REPLICATION,
        configs=tuple((each.key, each.value) for each in topic.topic_configs or ()),
    )
