"""What the coordinator writes to `__consumer_offsets` of share groups, and reads back.

The fields of a record are those of Kafka's key and value. A tombstone is a record of its own kind.
"""

from reference_coordinator.core.consumer_records import MemberState, TopicMetadata
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value


@value
class ShareTopicPartitions:
    """Partitions of one topic, by the topic's id."""

    topic_id: TopicId
    partitions: tuple[int, ...]


@value
class TopicInfo:
    """A topic whose share state is being deleted."""

    topic_id: TopicId
    topic_name: str


@value
class TopicPartitionsInfo:
    """Partitions of one topic with share state."""

    topic_id: TopicId
    topic_name: str
    partitions: tuple[int, ...]


@value
class ShareGroupPartitionMetadataRecord:
    """The subscribed topics. Source: ShareGroupPartitionMetadataValue (4.0.2), key type 9."""

    group_id: GroupId
    topics: tuple[TopicMetadata, ...]


@value
class ShareGroupPartitionMetadataTombstone:
    """Nothing is known of the group's topics."""

    group_id: GroupId


@value
class ShareGroupMemberMetadataRecord:
    """What a member told of itself. Source: ShareGroupMemberMetadataValue (4.3.1), key type 10."""

    group_id: GroupId
    member_id: MemberId
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]


@value
class ShareGroupMemberMetadataTombstone:
    """The member is no more."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupMetadataRecord:
    """A share group's epoch. Source: ShareGroupMetadataValue (4.3.1), key type 11."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """Of the subscribed topics, a signed 64-bit number; 0 before 4.1."""


@value
class ShareGroupMetadataTombstone:
    """The share group is no more."""

    group_id: GroupId


@value
class ShareGroupTargetAssignmentMetadataRecord:
    """The epoch of the target assignment.

    Source: ShareGroupTargetAssignmentMetadataValue (4.3.1), key type 12.
    """

    group_id: GroupId
    assignment_epoch: int
    assignment_timestamp_ms: Millis = Millis(0)
    """When the assignment was computed; 0 before 4.3."""


@value
class ShareGroupTargetAssignmentMetadataTombstone:
    """There is no target assignment any more."""

    group_id: GroupId


@value
class ShareGroupTargetAssignmentMemberRecord:
    """What a member is to have. Source: ShareGroupTargetAssignmentMemberValue (4.3.1), key type 13."""

    group_id: GroupId
    member_id: MemberId
    topic_partitions: tuple[ShareTopicPartitions, ...]


@value
class ShareGroupTargetAssignmentMemberTombstone:
    """A member has no target any more."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupCurrentMemberAssignmentRecord:
    """What a member has. Source: ShareGroupCurrentMemberAssignmentValue (4.3.1), key type 14."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned_partitions: tuple[ShareTopicPartitions, ...]


@value
class ShareGroupCurrentMemberAssignmentTombstone:
    """A member has nothing any more."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupStatePartitionMetadataRecord:
    """Which partitions have share state, get it, or lose it.

    Source: ShareGroupStatePartitionMetadataValue (4.3.1), key type 15.
    """

    group_id: GroupId
    initializing_topics: tuple[TopicPartitionsInfo, ...] = ()
    initialized_topics: tuple[TopicPartitionsInfo, ...] = ()
    deleting_topics: tuple[TopicInfo, ...] = ()


@value
class ShareGroupStatePartitionMetadataTombstone:
    """No partition has share state."""

    group_id: GroupId


ShareGroupTombstone = (
    ShareGroupPartitionMetadataTombstone
    | ShareGroupMemberMetadataTombstone
    | ShareGroupMetadataTombstone
    | ShareGroupTargetAssignmentMetadataTombstone
    | ShareGroupTargetAssignmentMemberTombstone
    | ShareGroupCurrentMemberAssignmentTombstone
    | ShareGroupStatePartitionMetadataTombstone
)
"""The records without a value."""
ShareGroupValue = (
    ShareGroupPartitionMetadataRecord
    | ShareGroupMemberMetadataRecord
    | ShareGroupMetadataRecord
    | ShareGroupTargetAssignmentMetadataRecord
    | ShareGroupTargetAssignmentMemberRecord
    | ShareGroupCurrentMemberAssignmentRecord
    | ShareGroupStatePartitionMetadataRecord
)
"""The records with a value."""
ShareGroupRecord = ShareGroupValue | ShareGroupTombstone
"""What a record of `__consumer_offsets` may say about share groups."""
