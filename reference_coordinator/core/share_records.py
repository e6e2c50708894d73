"""The records of share groups in `__consumer_offsets`.

The fields of a record are those of Kafka's key and value. A tombstone has a class of its own.
"""

from reference_coordinator.core.consumer_records import MemberState, TopicMetadata
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value


@value
class ShareTopicPartitions:
    """Partitions of one topic, which is identified by its id."""

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
    """The removal of the group's subscribed topics."""

    group_id: GroupId


@value
class ShareGroupMemberMetadataRecord:
    """A member's metadata. Source: ShareGroupMemberMetadataValue (4.3.1), key type 10."""

    group_id: GroupId
    member_id: MemberId
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]


@value
class ShareGroupMemberMetadataTombstone:
    """The removal of a member."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupMetadataRecord:
    """A share group's epoch. Source: ShareGroupMetadataValue (4.3.1), key type 11."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """The hash of the subscribed topics, a signed 64-bit integer. 0 before 4.1."""


@value
class ShareGroupMetadataTombstone:
    """The removal of a share group."""

    group_id: GroupId


@value
class ShareGroupTargetAssignmentMetadataRecord:
    """The epoch of the target assignment.

    Source: ShareGroupTargetAssignmentMetadataValue (4.3.1), key type 12.
    """

    group_id: GroupId
    assignment_epoch: int
    assignment_timestamp_ms: Millis = Millis(0)
    """When the assignment was computed. 0 before 4.3."""


@value
class ShareGroupTargetAssignmentMetadataTombstone:
    """The removal of the target assignment's epoch."""

    group_id: GroupId


@value
class ShareGroupTargetAssignmentMemberRecord:
    """A member's target. Source: ShareGroupTargetAssignmentMemberValue (4.3.1), key type 13."""

    group_id: GroupId
    member_id: MemberId
    topic_partitions: tuple[ShareTopicPartitions, ...]


@value
class ShareGroupTargetAssignmentMemberTombstone:
    """The removal of a member's target assignment."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupCurrentMemberAssignmentRecord:
    """A member's assignment. Source: ShareGroupCurrentMemberAssignmentValue (4.3.1), key type 14."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned_partitions: tuple[ShareTopicPartitions, ...]


@value
class ShareGroupCurrentMemberAssignmentTombstone:
    """The removal of a member's current assignment."""

    group_id: GroupId
    member_id: MemberId


@value
class ShareGroupStatePartitionMetadataRecord:
    """The partitions whose share state is initializing, initialized or being deleted.

    Source: ShareGroupStatePartitionMetadataValue (4.3.1), key type 15.
    """

    group_id: GroupId
    initializing_topics: tuple[TopicPartitionsInfo, ...] = ()
    initialized_topics: tuple[TopicPartitionsInfo, ...] = ()
    deleting_topics: tuple[TopicInfo, ...] = ()


@value
class ShareGroupStatePartitionMetadataTombstone:
    """The removal of the record of partitions with share state."""

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
"""Any record of share groups in `__consumer_offsets`."""
