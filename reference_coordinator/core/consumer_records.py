"""The records of consumer groups in `__consumer_offsets`.

A tombstone has a class of its own, as for classic groups. Topics and partitions keep the order in which they
are written.
"""

from enum import IntEnum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value


@unique
class MemberState(IntEnum):
    """The reconciliation state of a member. Source: MemberState (4.3.1)."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@value
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: TopicId
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = None
    """The epoch in which each partition was assigned. Only in current assignments, from 4.3 on."""


@value
class ConsumerGroupMetadataRecord:
    """A consumer group's epoch. Source: ConsumerGroupMetadataValue (4.3.1), key type 3."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """The hash of the subscribed topics, a signed 64-bit integer. 0 before 4.1."""


@value
class ConsumerGroupMetadataTombstone:
    """The removal of a consumer group."""

    group_id: GroupId


@value
class PartitionMetadata:
    """The racks of a partition's replicas."""

    partition: int
    racks: tuple[str, ...]


@value
class TopicMetadata:
    """A subscribed topic in the group's metadata record, until 4.0.

    Source: ConsumerGroupPartitionMetadataValue (4.0.2).
    """

    topic_id: TopicId
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[PartitionMetadata, ...] = ()
    """Not written by any modelled release."""


@value
class ConsumerGroupPartitionMetadataRecord:
    """The subscribed topics. Source: ConsumerGroupPartitionMetadataValue (4.0.2), key type 4."""

    group_id: GroupId
    topics: tuple[TopicMetadata, ...]


@value
class ConsumerGroupPartitionMetadataTombstone:
    """The removal of the group's topics. From 4.1 on, written once for a group of an older release."""

    group_id: GroupId


@value
class ClassicProtocol:
    """A protocol that a classic member of a consumer group supports."""

    name: str
    metadata: bytes


@value
class ClassicMemberMetadata:
    """The metadata of a member of a consumer group that uses the classic protocol."""

    session_timeout_ms: Millis
    supported_protocols: tuple[ClassicProtocol, ...]


@value
class ConsumerGroupMemberMetadataRecord:
    """A member's metadata. Source: ConsumerGroupMemberMetadataValue (4.3.1), key type 5."""

    group_id: GroupId
    member_id: MemberId
    instance_id: GroupInstanceId | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: Millis = Millis(-1)
    server_assignor: str | None = None
    classic_member_metadata: ClassicMemberMetadata | None = None
    """None for a member that uses the consumer protocol."""


@value
class ConsumerGroupMemberMetadataTombstone:
    """The removal of a member."""

    group_id: GroupId
    member_id: MemberId


@value
class ConsumerGroupTargetAssignmentMetadataRecord:
    """The epoch of the target assignment.

    Source: ConsumerGroupTargetAssignmentMetadataValue (4.3.1), key type 6.
    """

    group_id: GroupId
    assignment_epoch: int
    assignment_timestamp_ms: Millis = Millis(0)
    """When the assignment was computed. 0 before 4.3."""


@value
class ConsumerGroupTargetAssignmentMetadataTombstone:
    """The removal of the target assignment's epoch."""

    group_id: GroupId


@value
class ConsumerGroupTargetAssignmentMemberRecord:
    """A member's target. Source: ConsumerGroupTargetAssignmentMemberValue (4.3.1), key type 7."""

    group_id: GroupId
    member_id: MemberId
    topic_partitions: tuple[TopicPartitions, ...]


@value
class ConsumerGroupTargetAssignmentMemberTombstone:
    """The removal of a member's target assignment."""

    group_id: GroupId
    member_id: MemberId


@value
class ConsumerGroupCurrentMemberAssignmentRecord:
    """A member's assigned partitions, and those that it must revoke.

    Source: ConsumerGroupCurrentMemberAssignmentValue (4.3.1), key type 8.
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned_partitions: tuple[TopicPartitions, ...]
    partitions_pending_revocation: tuple[TopicPartitions, ...]


@value
class ConsumerGroupCurrentMemberAssignmentTombstone:
    """The removal of a member's current assignment."""

    group_id: GroupId
    member_id: MemberId


@value
class ConsumerGroupRegularExpressionRecord:
    """The topics that a regular expression matched when it was resolved.

    Source: ConsumerGroupRegularExpressionValue (4.3.1), key type 16.
    """

    group_id: GroupId
    regular_expression: str
    topics: tuple[str, ...]
    version: int
    """The offset of the metadata image that the topics are from."""
    timestamp_ms: Millis


@value
class ConsumerGroupRegularExpressionTombstone:
    """The removal of a regular expression without subscribers."""

    group_id: GroupId
    regular_expression: str


ConsumerGroupRecord = (
    ConsumerGroupMetadataRecord
    | ConsumerGroupMetadataTombstone
    | ConsumerGroupPartitionMetadataRecord
    | ConsumerGroupPartitionMetadataTombstone
    | ConsumerGroupMemberMetadataRecord
    | ConsumerGroupMemberMetadataTombstone
    | ConsumerGroupTargetAssignmentMetadataRecord
    | ConsumerGroupTargetAssignmentMetadataTombstone
    | ConsumerGroupTargetAssignmentMemberRecord
    | ConsumerGroupTargetAssignmentMemberTombstone
    | ConsumerGroupCurrentMemberAssignmentRecord
    | ConsumerGroupCurrentMemberAssignmentTombstone
    | ConsumerGroupRegularExpressionRecord
    | ConsumerGroupRegularExpressionTombstone
)
"""Any record of consumer groups in `__consumer_offsets`."""
