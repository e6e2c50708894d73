"""What the coordinator writes to `__consumer_offsets` of consumer groups, and reads back.

A tombstone is a record of its own kind, as those of classic groups are. Topics and partitions keep the order
in which they are written.
"""

from enum import IntEnum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value


@unique
class MemberState(IntEnum):
    """How far a member is with its reconciliation. Source: MemberState (4.3.1)."""

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
    """The epoch since which the member has each partition; of current assignments alone, from 4.3 on."""


@value
class ConsumerGroupMetadataRecord:
    """A consumer group's epoch. Source: ConsumerGroupMetadataValue (4.3.1), key type 3."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """Of the subscribed topics, a signed 64-bit number; 0 before 4.1."""


@value
class ConsumerGroupMetadataTombstone:
    """The consumer group is no more."""

    group_id: GroupId


@value
class PartitionMetadata:
    """The racks of a partition's replicas."""

    partition: int
    racks: tuple[str, ...]


@value
class TopicMetadata:
    """A subscribed topic as the group's metadata record names it, until 4.0.

    Source: ConsumerGroupPartitionMetadataValue (4.0.2).
    """

    topic_id: TopicId
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[PartitionMetadata, ...] = ()
    """Written by no release that is modelled."""


@value
class ConsumerGroupPartitionMetadataRecord:
    """The subscribed topics. Source: ConsumerGroupPartitionMetadataValue (4.0.2), key type 4."""

    group_id: GroupId
    topics: tuple[TopicMetadata, ...]


@value
class ConsumerGroupPartitionMetadataTombstone:
    """Nothing is known of the group's topics; 4.1 and later write it once to a group of an older release."""

    group_id: GroupId


@value
class ClassicProtocol:
    """A protocol that a classic member of a consumer group supports."""

    name: str
    metadata: bytes


@value
class ClassicMemberMetadata:
    """What a member of a consumer group brings that speaks the classic protocol."""

    session_timeout_ms: Millis
    supported_protocols: tuple[ClassicProtocol, ...]


@value
class ConsumerGroupMemberMetadataRecord:
    """What a member told of itself. Source: ConsumerGroupMemberMetadataValue (4.3.1), key type 5."""

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
    """None for a member that speaks the consumer protocol."""


@value
class ConsumerGroupMemberMetadataTombstone:
    """The member is no more."""

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
    """When the assignment was computed; 0 before 4.3."""


@value
class ConsumerGroupTargetAssignmentMetadataTombstone:
    """There is no target assignment any more."""

    group_id: GroupId


@value
class ConsumerGroupTargetAssignmentMemberRecord:
    """What a member is to have. Source: ConsumerGroupTargetAssignmentMemberValue (4.3.1), key type 7."""

    group_id: GroupId
    member_id: MemberId
    topic_partitions: tuple[TopicPartitions, ...]


@value
class ConsumerGroupTargetAssignmentMemberTombstone:
    """A member has no target any more."""

    group_id: GroupId
    member_id: MemberId


@value
class ConsumerGroupCurrentMemberAssignmentRecord:
    """What a member has, and what it is to give up.

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
    """A member has nothing any more."""

    group_id: GroupId
    member_id: MemberId


@value
class ConsumerGroupRegularExpressionRecord:
    """The topics that a regular expression was found to match.

    Source: ConsumerGroupRegularExpressionValue (4.3.1), key type 16.
    """

    group_id: GroupId
    regular_expression: str
    topics: tuple[str, ...]
    version: int
    """The offset of the metadata image in which they were found."""
    timestamp_ms: Millis


@value
class ConsumerGroupRegularExpressionTombstone:
    """Nobody subscribes by the regular expression any more."""

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
"""What a record of `__consumer_offsets` may say about consumer groups."""
