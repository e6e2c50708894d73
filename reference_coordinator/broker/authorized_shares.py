"""Authorization of requests about share groups, for groups and topics."""

from dataclasses import replace

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.narrowing import REFUSED, Narrowed, reads, sees
from reference_coordinator.broker.share_group_apis import is_share_member_id_refused
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker_messages.acls import AclOperation, ResourceType
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

_MESSAGE = "Topic authorization failed."


def narrow_share_group_heartbeat(
    broker: Broker,
    authorizer: StandardAuthorizer,
    request: ShareGroupHeartbeatRequest,
    context: RequestContext,
) -> Narrowed | ShareGroupHeartbeatResponse:
    """Refuse a subscription if one of its topics may not be described.

    Source: KafkaApis#handleShareGroupHeartbeat (4.3.1).
    """
    is_visible = all(sees(authorizer, context, each) for each in request.subscribed_topic_names or ())
    if is_visible or is_share_member_id_refused(broker, request.member_id):
        return Narrowed(request=request)
    return ShareGroupHeartbeatResponse(error_code=REFUSED)


def narrow_describe_share_group_offsets(
    _: Broker,
    authorizer: StandardAuthorizer,
    request: DescribeShareGroupOffsetsRequest,
    context: RequestContext,
) -> Narrowed:
    """Refuse groups that may not be described, and topics of the other groups that may not be described.

    Source: KafkaApis#handleDescribeShareGroupOffsetsRequest, #describeShareGroupAllOffsetsForGroup (4.3.1).
    """

    def may_describe(group: DescribeShareGroupOffsetsRequestGroup) -> bool:
        return authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id)

    def is_visible(topic_name: str) -> bool:
        return sees(authorizer, context, topic_name)

    def visible(group: DescribeShareGroupOffsetsRequestGroup) -> DescribeShareGroupOffsetsRequestGroup:
        if group.topics is None:
            return group
        return replace(group, topics=tuple(each for each in group.topics if is_visible(each.topic_name)))

    def widened(
        group: DescribeShareGroupOffsetsRequestGroup, answer: DescribeShareGroupOffsetsResponseGroup
    ) -> DescribeShareGroupOffsetsResponseGroup:
        shown = tuple(each for each in answer.topics if is_visible(each.topic_name))
        hidden = (each for each in group.topics or () if not is_visible(each.topic_name))
        refused = (_undescribed(each.topic_name, each.partitions) for each in hidden)
        return replace(answer, topics=(*shown, *(refused if answer.error_code is Errors.NONE else ())))

    def finish(response: DescribeShareGroupOffsetsResponse) -> DescribeShareGroupOffsetsResponse:
        answers = iter(response.groups)
        return DescribeShareGroupOffsetsResponse(
            groups=tuple(
                widened(group, next(answers))
                if may_describe(group)
                else DescribeShareGroupOffsetsResponseGroup(
                    group_id=group.group_id, error_code=Errors.GROUP_AUTHORIZATION_FAILED
                )
                for group in request.groups
            )
        )

    allowed = tuple(visible(each) for each in request.groups if may_describe(each))
    return Narrowed(request=replace(request, groups=allowed), finish=finish)


def _undescribed(topic_name: str, partitions: tuple[int, ...]) -> DescribeShareGroupOffsetsResponseTopic:
    """Source: KafkaApis#describeShareGroupOffsetsForGroup (4.3.1)."""
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=None,
        partitions=tuple(
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=each, start_offset=-1, error_code=REFUSED, error_message=_MESSAGE
            )
            for each in partitions
        ),
    )


def narrow_alter_share_group_offsets(
    broker: Broker,
    authorizer: StandardAuthorizer,
    request: AlterShareGroupOffsetsRequest,
    context: RequestContext,
) -> Narrowed:
    """Refuse topics that may not be read, whether they exist or not.

    Source: KafkaApis#handleAlterShareGroupOffsetsRequest (4.3.1).
    """
    left = tuple(each for each in request.topics if reads(authorizer, context, each.topic_name))

    def finish(response: AlterShareGroupOffsetsResponse) -> AlterShareGroupOffsetsResponse:
        if response.error_code is not Errors.NONE:
            return response
        refused = (
            AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                topic_id=None if known is None else known.topic_id,
                partitions=tuple(
                    AlterShareGroupOffsetsResponsePartition(
                        partition_index=each.partition_index, error_code=REFUSED, error_message=_MESSAGE
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
            if topic not in left
            for known in (broker.topics.get(topic.topic_name),)
        )
        return replace(response, responses=(*refused, *response.responses))

    return Narrowed(request=replace(request, topics=left), finish=finish)


def narrow_delete_share_group_offsets(
    _: Broker,
    authorizer: StandardAuthorizer,
    request: DeleteShareGroupOffsetsRequest,
    context: RequestContext,
) -> Narrowed:
    """Refuse topics that may not be read.

    Source: KafkaApis#handleDeleteShareGroupOffsetsRequest (4.3.1).
    """
    left = tuple(each for each in request.topics if reads(authorizer, context, each.topic_name))
    refused = tuple(
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=each.topic_name, topic_id=None, error_code=REFUSED, error_message=_MESSAGE
        )
        for each in request.topics
        if each not in left
    )

    def finish(response: DeleteShareGroupOffsetsResponse) -> DeleteShareGroupOffsetsResponse:
        if response.error_code is not Errors.NONE:
            return response
        return replace(response, responses=(*refused, *response.responses))

    return Narrowed(request=replace(request, topics=left), finish=finish)
