"""Descriptions of consumer groups, for ConsumerGroupDescribe."""

from collections.abc import Collection, Mapping

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.groups.consumer.assignors.assignor_helpers import from_record
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupDescribeResponseMember,
    ConsumerGroupDescribeResponseTopicPartitions,
)
from reference_coordinator.profile.behaviours import Behaviour

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def as_described_consumer_group(
    shard: GroupMetadataManager, group: ConsumerGroup, *, authorized_operations: int
) -> ConsumerGroupDescribeResponseGroup:
    """Describe the group with its members, their current and their target assignments.

    Decided in: ConsumerGroup#asDescribedGroup (4.3.1).
    """
    return ConsumerGroupDescribeResponseGroup(
        error_code=Errors.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_server_assignor() or shard.config.group_consumer_assignors[0],
        members=tuple(
            as_consumer_group_describe_member(shard, group, each) for each in group.members.values()
        ),
        authorized_operations=authorized_operations,
    )


def as_consumer_group_describe_member(
    shard: GroupMetadataManager, group: ConsumerGroup, member: ConsumerGroupMember
) -> ConsumerGroupDescribeResponseMember:
    """Describe a member with its assignment, which in some releases includes partitions to revoke.

    Source: ConsumerGroupMember#asConsumerGroupDescribeMember (4.3.1).
    """
    image = shard.metadata_image
    assigned = {topic_id: tuple(each) for topic_id, each in from_record(member.assigned_partitions).items()}
    if shard.profile.has(Behaviour.DESCRIBE_SHOWS_PENDING_REVOCATIONS):
        for topic_id, each in from_record(member.partitions_pending_revocation).items():
            assigned[topic_id] = (*assigned.get(topic_id, ()), *each)
    target = group.target_assignment_of(member.member_id)
    return ConsumerGroupDescribeResponseMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_described({each: assigned[each] for each in from_record(assigned)}, image),
        target_assignment=_described(from_record(target), image),
        member_type=_CLASSIC_MEMBER if member.use_classic_protocol else _CONSUMER_MEMBER,
    )


def _described(
    partitions: Mapping[TopicId, Collection[int]], image: MetadataImage
) -> ConsumerGroupDescribeResponseAssignment:
    """Return partitions with topic names. Topics that no longer exist are left out."""
    named = {topic_id: image.by_id(topic_id) for topic_id in partitions}
    return ConsumerGroupDescribeResponseAssignment(
        topic_partitions=tuple(
            ConsumerGroupDescribeResponseTopicPartitions(
                topic_id=topic_id, topic_name=topic.name, partitions=tuple(partitions[topic_id])
            )
            for topic_id, topic in named.items()
            if topic is not None
        )
    )
