"""Alteration and deletion of the offsets of share groups."""

from collections.abc import Mapping

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, ResponseToken, TopicId
from reference_coordinator.core.metadata_image import TopicImage
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.initializing import (
    PartitionErrors,
    StartOffsets,
    add_initializing_topics_records,
    initialize_share_group_state,
    persister_initialize,
)
from reference_coordinator.groups.share.lookups import (
    get_or_maybe_create_share_group,
    share_group,
    throw_if_share_group_is_not_empty,
)
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_state_partition_metadata_record,
)
from reference_coordinator.groups.share.state_partitions import (
    InitMapValue,
    attach_topic_name,
    combine_init_maps,
)
from reference_coordinator.groups.share_persister import validate_group_topic_partition_data
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.append_errors import handle_operation_exception
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult

_MESSAGES = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Errors.FENCED_STATE_EPOCH: (
        "Error in initialize state RPC. "
        "The coordinator rejected the request because the state epoch did not match."
    ),
}
"""Kafka's error messages. Source: Errors (4.3.1)."""
_NOTHING_TO_DELETE = "There is no offset information to delete."


def alter_share_group_offsets(
    shard: GroupMetadataManager, request: AlterShareGroupOffsetsRequest, token: ResponseToken
) -> CoordinatorResult[AlterShareGroupOffsetsResponse]:
    """Set the start offsets of an empty group. The group is created if it does not exist.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

    Source: GroupMetadataManager#alterShareGroupOffsets (4.3.1).
    """
    group = get_or_maybe_create_share_group(shard, request.group_id, create_if_not_exists=True)
    throw_if_share_group_is_not_empty(group)
    topics = shard.metadata_image.topics
    initializing: dict[TopicId, InitMapValue] = {}
    offsets: dict[TopicId, dict[int, int]] = {}
    for each in request.topics:
        topic = topics.get(each.topic_name)
        if topic is not None:
            known = {
                partition.partition_index: partition.start_offset
                for partition in each.partitions
                if partition.partition_index < topic.num_partitions
            }
            initializing[topic.topic_id] = InitMapValue(
                name=topic.name, partitions=frozenset(known), timestamp_ms=shard.now_ms
            )
            if known:
                offsets[topic.topic_id] = known
    records: list[CoordinatorRecord] = []
    add_initializing_topics_records(shard, group, records, initializing)
    altered = OffsetsAltered(
        shard=shard,
        token=token,
        group_id=request.group_id,
        state_epoch=group.group_epoch,
        start_offsets=offsets,
        response=AlterShareGroupOffsetsResponse(
            responses=tuple(_altered(each, topics.get(each.topic_name)) for each in request.topics)
        ),
    )
    if not records:
        return CoordinatorResult(response=altered.response)
    return CoordinatorResult(records=tuple(records), append_future=altered)


def _altered(
    asked: AlterShareGroupOffsetsRequestTopic, topic: TopicImage | None
) -> AlterShareGroupOffsetsResponseTopic:
    count = 0 if topic is None else topic.num_partitions
    error = Errors.UNKNOWN_TOPIC_OR_PARTITION
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        topic_id=None if topic is None else topic.topic_id,
        partitions=tuple(
            AlterShareGroupOffsetsResponsePartition(partition_index=each.partition_index)
            if each.partition_index < count
            else AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index, error_code=error, error_message=_MESSAGES[error]
            )
            for each in asked.partitions
        ),
    )


@value
class OffsetsAltered(Continuation):
    """Runs after the append of the record of the partitions whose offsets are altered."""

    shard: GroupMetadataManager
    token: ResponseToken
    group_id: GroupId
    state_epoch: int
    start_offsets: StartOffsets
    response: AlterShareGroupOffsetsResponse

    @override
    def append_completed(self, error: Errors) -> None:
        """Set the offsets at the share coordinator, and answer with its errors.

        Decided in: GroupCoordinatorService#alterShareGroupOffsets,
        GroupCoordinatorService#persisterInitialize (4.3.1).
        """
        if error is not Errors.NONE:
            refused = AlterShareGroupOffsetsResponse(error_code=handle_operation_exception(error))
            self.shard.respond(self.token, refused)
            return
        try:
            validate_group_topic_partition_data(self.group_id, self.start_offsets.values())
        except CoordinatorError as refusal:
            self.shard.respond(self.token, AlterShareGroupOffsetsResponse(error_code=refusal.error))
            return
        errors = persister_initialize(self.shard, self.group_id, self.state_epoch, self.start_offsets)
        if all(each is Errors.NONE for each in errors.values()):
            result = initialize_share_group_state(self.shard, self.group_id, self.start_offsets)
            self.shard.append(self.group_id, result)
        self.shard.respond(self.token, _with_errors(self.response, errors))


def _with_errors(
    response: AlterShareGroupOffsetsResponse, errors: PartitionErrors
) -> AlterShareGroupOffsetsResponse:
    """Decided in: GroupCoordinatorService#buildErrorResponse (4.3.1)."""

    def judged(
        topic_id: TopicId | None, each: AlterShareGroupOffsetsResponsePartition
    ) -> AlterShareGroupOffsetsResponsePartition:
        error = errors.get((topic_id, each.partition_index), Errors.NONE)
        if error is Errors.NONE:
            return each
        return AlterShareGroupOffsetsResponsePartition(
            partition_index=each.partition_index, error_code=error, error_message=_MESSAGES.get(error)
        )

    return AlterShareGroupOffsetsResponse(
        responses=tuple(
            AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name,
                topic_id=topic.topic_id,
                partitions=tuple(judged(topic.topic_id, each) for each in topic.partitions),
            )
            for topic in response.responses
        )
    )


def delete_share_group_offsets(
    shard: GroupMetadataManager, request: DeleteShareGroupOffsetsRequest, token: ResponseToken
) -> CoordinatorResult[DeleteShareGroupOffsetsResponse]:
    """Delete the start offsets of an empty group for topics.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

    Decided in: GroupCoordinatorShard#initiateDeleteShareGroupOffsets,
    GroupMetadataManager#sharePartitionsEligibleForOffsetDeletion (4.3.1).
    """
    group = share_group(shard, request.group_id)
    throw_if_share_group_is_not_empty(group)
    known = group.state_partitions
    if known is None:
        return CoordinatorResult(response=DeleteShareGroupOffsetsResponse())
    initialized, deleting = dict(known.initialized_topics), set(known.deleting_topics)
    refused: list[DeleteShareGroupOffsetsResponseTopic] = []
    partitions: dict[TopicId, tuple[int, ...]] = {}
    for each in request.topics:
        topic = shard.metadata_image.topics.get(each.topic_name)
        if topic is None:
            refused.append(_not_deleted(each.topic_name, _MESSAGES[Errors.UNKNOWN_TOPIC_OR_PARTITION]))
        elif topic.topic_id in initialized:
            partitions[topic.topic_id] = tuple(sorted(initialized.pop(topic.topic_id).partitions))
            deleting.add(topic.topic_id)
        elif topic.topic_id in deleting:
            partitions[topic.topic_id] = tuple(range(topic.num_partitions))
        else:
            refused.append(_not_deleted(each.topic_name, _NOTHING_TO_DELETE))
    record = new_share_group_state_partition_metadata_record(
        request.group_id,
        known.initializing_topics,
        initialized,
        attach_topic_name(deleting, shard.metadata_image),
    )
    deletion = DeletionNoted(
        shard=shard, token=token, group_id=request.group_id, partitions=partitions, refused=tuple(refused)
    )
    return CoordinatorResult(records=(record,), append_future=deletion)


def _not_deleted(topic_name: str, message: str) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=None,
        error_code=Errors.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=message,
    )


@value
class DeletionNoted(Continuation):
    """Runs after the append of the record of the topics whose offsets are being deleted."""

    shard: GroupMetadataManager
    token: ResponseToken
    group_id: GroupId
    partitions: Mapping[TopicId, tuple[int, ...]]
    refused: tuple[DeleteShareGroupOffsetsResponseTopic, ...]

    @override
    def append_completed(self, error: Errors) -> None:
        """Delete the state at the share coordinator, and record the topics whose state was deleted.

        Decided in: GroupCoordinatorService#handleDeleteShareGroupOffsetStateResult (4.3.1).
        """
        if error is not Errors.NONE:
            refused = DeleteShareGroupOffsetsResponse(error_code=handle_operation_exception(error))
            self.shard.respond(self.token, refused)
            return
        names = attach_topic_name(self.partitions, self.shard.metadata_image)
        answers: list[DeleteShareGroupOffsetsResponseTopic] = []
        deleted: list[TopicId] = []
        for topic_id, partitions in self.partitions.items():
            failure = persister_delete(self.shard, self.group_id, {topic_id: partitions})
            if failure is Errors.NONE:
                deleted.append(topic_id)
            answers.append(
                DeleteShareGroupOffsetsResponseTopic(
                    topic_name=names[topic_id],
                    topic_id=topic_id,
                    error_code=failure,
                    error_message=_MESSAGES.get(failure),
                )
            )
        response = DeleteShareGroupOffsetsResponse(responses=(*answers, *self.refused))
        group = self.shard.find_group(self.group_id)
        known = group.state_partitions if isinstance(group, ShareGroup) else None
        if known is None or not deleted:
            self.shard.respond(self.token, response)
            return
        record = new_share_group_state_partition_metadata_record(
            self.group_id,
            known.initializing_topics,
            known.initialized_topics,
            attach_topic_name(known.deleting_topics.difference(deleted), self.shard.metadata_image),
        )
        answered = DeletionCompleted(shard=self.shard, token=self.token, response=response)
        self.shard.append(self.group_id, CoordinatorResult(records=(record,), append_future=answered))


@value
class DeletionCompleted(Continuation):
    """Runs after the append of the record that the offsets of topics were deleted."""

    shard: GroupMetadataManager
    token: ResponseToken
    response: DeleteShareGroupOffsetsResponse

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer the request. Decided in: GroupCoordinatorService#completeDeleteShareGroupOffsets (4.3.1)."""
        refused = DeleteShareGroupOffsetsResponse(error_code=handle_operation_exception(error))
        self.shard.respond(self.token, self.response if error is Errors.NONE else refused)


def persister_delete(
    shard: GroupMetadataManager, group_id: GroupId, topics: Mapping[TopicId, tuple[int, ...]]
) -> Errors:
    """Delete the state of partitions at the share coordinator. Return the first error or NONE.

    Decided in: GroupCoordinatorService#deleteShareGroup (4.3.1).
    """
    try:
        validate_group_topic_partition_data(group_id, topics.values())
    except CoordinatorError as refusal:
        return refusal.error
    first = Errors.NONE
    for topic_id, partitions in topics.items():
        for partition in partitions:
            try:
                shard.share_persister.delete_state(group_id, topic_id, partition)
            except CoordinatorError as refusal:
                first = first or refusal.error
    return first


def share_group_build_partition_delete_request(
    shard: GroupMetadataManager, group: ShareGroup
) -> Mapping[TopicId, tuple[int, ...]]:
    """Return the partitions whose state must be deleted together with an empty group.

    Source: GroupMetadataManager#shareGroupBuildPartitionDeleteRequest (4.3.1).
    """
    known = group.state_partitions
    if known is None or not shard.profile.has(Behaviour.SHARE_STATE_INITIALIZED):
        return {}
    candidates = combine_init_maps(known.initialized_topics, known.initializing_topics)
    found = {topic_id: tuple(sorted(each.partitions)) for topic_id, each in candidates.items()}
    for topic_id in known.deleting_topics:
        topic = shard.metadata_image.by_id(topic_id)
        if topic is not None:
            found[topic_id] = tuple(range(topic.num_partitions))
    return found
