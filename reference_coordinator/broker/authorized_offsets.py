"""Authorization of requests about committed offsets, for groups and topics."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reference_coordinator import messages
from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.broker.narrowing import REFUSED, Narrowed, reads, sees
from reference_coordinator.broker.offset_apis import failed_fetch
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker_messages.acls import AclOperation, ResourceType
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicId

_FetchTopic = messages.OffsetFetchRequestTopic | messages.OffsetFetchResponseTopic


def narrow_offset_commit(
    broker: Broker,
    authorizer: StandardAuthorizer,
    request: messages.OffsetCommitRequest | messages.TxnOffsetCommitRequest,
    context: messages.RequestContext,
) -> Narrowed:
    """Refuse topics that may not be read; topics with an unknown id are refused later.

    Source: KafkaApis#handleOffsetCommitRequest, #handleTxnOffsetCommitRequest (3.9.2).
    """

    def may_commit(name: str, topic_id: TopicId | None) -> bool:
        if topic_id is not None:
            topic = broker.topics.get_by_id(topic_id)
            return topic is None or reads(authorizer, context, topic.name)
        return reads(authorizer, context, name)

    left = tuple(each for each in request.topics if may_commit(each.name, each.topic_id))
    refused = tuple(
        messages.OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(
                messages.OffsetCommitResponsePartition(
                    partition_index=each.partition_index, error_code=REFUSED
                )
                for each in topic.partitions
            ),
        )
        for topic in request.topics
        if topic not in left
    )
    return Narrowed(
        request=replace(request, topics=left),
        finish=lambda response: replace(response, topics=(*refused, *response.topics)),
    )


def narrow_offset_delete(
    _: Broker,
    authorizer: StandardAuthorizer,
    request: messages.OffsetDeleteRequest,
    context: messages.RequestContext,
) -> Narrowed:
    """Source: KafkaApis#handleOffsetDeleteRequest (3.9.2)."""
    left = tuple(each for each in request.topics if reads(authorizer, context, each.name))
    refused = tuple(
        messages.OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=tuple(
                messages.OffsetDeleteResponsePartition(partition_index=each, error_code=REFUSED)
                for each in topic.partition_indexes
            ),
        )
        for topic in request.topics
        if topic not in left
    )

    def finish(response: messages.OffsetDeleteResponse) -> messages.OffsetDeleteResponse:
        if response.error_code is not Errors.NONE:
            return response
        return replace(response, topics=(*refused, *response.topics))

    return Narrowed(request=replace(request, topics=left), finish=finish)


def narrow_offset_fetch(
    broker: Broker,
    authorizer: StandardAuthorizer,
    request: messages.OffsetFetchRequest,
    context: messages.RequestContext,
) -> Narrowed | messages.OffsetFetchResponse:
    """Refuse groups that may not be described, and topics of the other groups that may not be described.

    Source: KafkaApis#handleOffsetFetchRequestFromCoordinator (3.9.2).
    """
    is_visible = partial(_is_visible, broker, authorizer, context)

    def may_describe(group: messages.OffsetFetchRequestGroup) -> bool:
        return authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id)

    def visible(group: messages.OffsetFetchRequestGroup) -> messages.OffsetFetchRequestGroup:
        topics = None if group.topics is None else tuple(filter(is_visible, group.topics))
        return replace(group, topics=topics)

    def refused(group: messages.OffsetFetchRequestGroup) -> messages.OffsetFetchResponseGroup:
        one = replace(request, groups=(group,))
        response = error_response(one, Errors.GROUP_AUTHORIZATION_FAILED, api_version=context.api_version)
        assert isinstance(response, messages.OffsetFetchResponse)
        return response.groups[0]

    def finish(response: messages.OffsetFetchResponse) -> messages.OffsetFetchResponse:
        answers = iter(response.groups)
        return messages.OffsetFetchResponse(
            groups=tuple(
                _widened(group, next(answers), is_visible) if may_describe(group) else refused(group)
                for group in request.groups
            )
        )

    allowed = tuple(visible(each) for each in request.groups if may_describe(each))
    if request.groups and not allowed:
        return finish(messages.OffsetFetchResponse(groups=()))
    return Narrowed(request=replace(request, groups=allowed), finish=finish)


def _is_visible(
    broker: Broker, authorizer: StandardAuthorizer, context: messages.RequestContext, topic: _FetchTopic
) -> bool:
    name: str | None = topic.name
    if topic.topic_id is not None:
        found = broker.topics.get_by_id(topic.topic_id)
        name = None if found is None else found.name
    return name is None or sees(authorizer, context, name)


def _widened(
    group: messages.OffsetFetchRequestGroup,
    answer: messages.OffsetFetchResponseGroup,
    is_visible: Callable[[_FetchTopic], bool],
) -> messages.OffsetFetchResponseGroup:
    if answer.error_code is not Errors.NONE:
        return answer
    if group.topics is None:
        return replace(answer, topics=tuple(filter(is_visible, answer.topics)))
    hidden = (each for each in group.topics if not is_visible(each))
    return replace(answer, topics=(*answer.topics, *(failed_fetch(each, REFUSED) for each in hidden)))
