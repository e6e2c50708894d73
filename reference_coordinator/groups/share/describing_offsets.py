"""The start offsets of share groups, for DescribeShareGroupOffsets."""

from collections.abc import Mapping

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.metadata_image import TopicImage
from reference_coordinator.core.parts import between_parts
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share_persister import (
    UNINITIALIZED_DELIVERY_COMPLETE_COUNT,
    UNINITIALIZED_START_OFFSET,
    validate_group_topic_partition_data,
)
from reference_coordinator.messages.share_groups import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)


def describe_share_group_offsets(
    shard: GroupMetadataManager, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    """Describe the start offsets of groups, without checking that a group exists.

    Source: GroupCoordinatorService#describeShareGroupOffsets (4.3.1).
    """
    return DescribeShareGroupOffsetsResponse(groups=tuple(_group(shard, each) for each in request.groups))


def _group(
    shard: GroupMetadataManager, asked: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    if asked.topics is None:
        return describe_share_group_all_offsets(shard, asked.group_id)
    topics = shard.metadata_image.topics
    known = [each for each in asked.topics if each.topic_name in topics]
    if known:
        try:
            validate_group_topic_partition_data(asked.group_id, (each.partitions for each in known))
        except CoordinatorError as refusal:
            return _refused(asked.group_id, refusal)
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=asked.group_id,
        topics=(
            *(_topic(shard, asked.group_id, topics[each.topic_name], each.partitions) for each in known),
            *(
                DescribeShareGroupOffsetsResponseTopic(
                    topic_name=each.topic_name,
                    topic_id=None,
                    partitions=tuple(
                        DescribeShareGroupOffsetsResponsePartition(
                            partition_index=partition, start_offset=UNINITIALIZED_START_OFFSET
                        )
                        for partition in each.partitions
                    ),
                )
                for each in asked.topics
                if each.topic_name not in topics
            ),
        ),
    )


def _refused(group_id: GroupId, refusal: CoordinatorError) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id, error_code=refusal.error, error_message=refusal.message
    )


def describe_share_group_all_offsets(
    shard: GroupMetadataManager, group_id: GroupId
) -> DescribeShareGroupOffsetsResponseGroup:
    """Describe the start offsets of all of a group's partitions that have state.

    Source: GroupCoordinatorService#describeShareGroupAllOffsets,
    GroupMetadataManager#initializedShareGroupPartitions (4.3.1).
    """
    try:
        shard.throw_if_not_active(group_id)
    except CoordinatorError as refusal:
        return _refused(group_id, refusal)
    group = shard.find_group(group_id)
    partitions: Mapping[TopicImage, tuple[int, ...]] = {}
    if isinstance(group, ShareGroup) and group.state_partitions is not None:
        found = (
            (shard.metadata_image.by_id(topic_id), each.partitions)
            for topic_id, each in group.state_partitions.initialized_topics.items()
        )
        partitions = {topic: tuple(sorted(each)) for topic, each in found if topic is not None}
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id,
        topics=tuple(_topic(shard, group_id, topic, each) for topic, each in partitions.items()),
    )


def _topic(
    shard: GroupMetadataManager, group_id: GroupId, topic: TopicImage, partitions: tuple[int, ...]
) -> DescribeShareGroupOffsetsResponseTopic:
    between_parts()
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.name,
        topic_id=topic.topic_id,
        partitions=tuple(_partition(shard, group_id, topic, each) for each in partitions),
    )


def _partition(
    shard: GroupMetadataManager, group_id: GroupId, topic: TopicImage, partition: int
) -> DescribeShareGroupOffsetsResponsePartition:
    """Describe the start offset of a partition. An error of the share coordinator counts as no state.

    Decided in: GroupCoordinatorService#computeShareGroupLagAndBuildResponse (4.3.1).
    """
    try:
        summary = shard.share_persister.read_summary(group_id, topic.topic_id, partition)
    except CoordinatorError:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=partition, start_offset=UNINITIALIZED_START_OFFSET
        )
    done, lag = summary.delivery_complete_count, -1
    if summary.start_offset != UNINITIALIZED_START_OFFSET and done != UNINITIALIZED_DELIVERY_COMPLETE_COUNT:
        lag = shard.share_persister.latest_offset(topic.name, partition) - summary.start_offset - done
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition,
        start_offset=summary.start_offset,
        leader_epoch=summary.leader_epoch,
        lag=lag,
        error_code=Errors.NONE,
    )
