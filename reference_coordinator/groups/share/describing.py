"""Descriptions of share groups, for ShareGroupDescribe."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.groups.consumer.assignors.assignor_helpers import from_record
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.assignors import NAME
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.member import ShareGroupMember
from reference_coordinator.messages.share_groups import (
    ShareGroupDescribeResponseAssignment,
    ShareGroupDescribeResponseGroup,
    ShareGroupDescribeResponseMember,
    ShareGroupDescribeResponseTopicPartitions,
)


def as_described_share_group(
    shard: GroupMetadataManager, group: ShareGroup, *, authorized_operations: int
) -> ShareGroupDescribeResponseGroup:
    """Describe the group with its members' assignments. Decided in: ShareGroup#asDescribedGroup (4.3.1)."""
    members = group.members.values()
    return ShareGroupDescribeResponseGroup(
        error_code=Errors.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=NAME,
        members=tuple(as_share_group_describe_member(each, shard.metadata_image) for each in members),
        authorized_operations=authorized_operations,
    )


def as_share_group_describe_member(
    member: ShareGroupMember, image: MetadataImage
) -> ShareGroupDescribeResponseMember:
    """Describe a member with its assignment. Topics that no longer exist are left out.

    Source: ShareGroupMember#asShareGroupDescribeMember (4.3.1).
    """
    assigned = from_record(member.assigned_partitions)
    named = ((image.by_id(topic_id), each) for topic_id, each in assigned.items())
    return ShareGroupDescribeResponseMember(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        assignment=ShareGroupDescribeResponseAssignment(
            topic_partitions=tuple(
                ShareGroupDescribeResponseTopicPartitions(
                    topic_id=topic.topic_id, topic_name=topic.name, partitions=tuple(partitions)
                )
                for topic, partitions in named
                if topic is not None
            )
        ),
    )
