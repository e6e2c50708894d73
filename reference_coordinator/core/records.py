"""What the coordinator writes to `__consumer_offsets` and reads back when it loads a partition.

Version-free, as the messages are. A tombstone is a record of its own kind here, where Kafka has the
same key with a null value.
"""

from typing import Final

from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.ids import (
    NO_PRODUCER_ID,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerEpoch,
    ProducerId,
)
from reference_coordinator.core.share_records import ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.core.values import value

NO_TIMESTAMP_MS: Final = Millis(-1)
"""What a group has that was written before Kafka 2.1. Source: GroupMetadataValue.json (4.3.1)."""


@value
class GroupMetadataRecordMember:
    """A member as the log keeps it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: Millis
    session_timeout_ms: Millis
    subscription: bytes
    """The metadata of the chosen protocol; what else the member supports is not kept."""
    assignment: bytes


@value
class GroupMetadataRecord:
    """A classic group at the end of a rebalance, or as it became empty.

    Source: GroupCoordinatorRecordHelpers#newGroupMetadataRecord (4.3.1).
    """

    group_id: GroupId
    protocol_type: str
    """Empty where the group has none."""
    generation_id: GenerationId
    protocol: str | None
    leader: MemberId | None
    current_state_timestamp_ms: Millis
    """When the group entered the state it was written in."""
    members: tuple[GroupMetadataRecordMember, ...]


@value
class GroupMetadataTombstone:
    """The group is no more.

    Source: GroupCoordinatorRecordHelpers#newGroupMetadataTombstoneRecord (4.3.1).
    """

    group_id: GroupId


@value
class OffsetCommitRecord:
    """An offset committed for one partition.

    Source: GroupCoordinatorRecordHelpers#newOffsetCommitRecord (4.3.1).
    """

    group_id: GroupId
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    """-1 where the request named none."""
    metadata: str
    commit_timestamp_ms: Millis
    expire_timestamp_ms: Millis | None
    """Set where the request named a retention of its own."""
    producer_id: ProducerId = NO_PRODUCER_ID
    """Whose transaction the offset belongs to, until which ends it is pending."""


@value
class OffsetCommitTombstone:
    """The partition's offset is no more.

    Source: GroupCoordinatorRecordHelpers#newOffsetCommitTombstoneRecord (4.3.1).
    """

    group_id: GroupId
    topic: str
    partition: int


@value
class EndTransactionMarker:
    """A producer's transaction has ended on one partition of the log.

    Source: EndTransactionMarker (4.3.1).
    """

    partition: int
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    is_commit: bool


CoordinatorRecord = (
    GroupMetadataRecord
    | GroupMetadataTombstone
    | OffsetCommitRecord
    | OffsetCommitTombstone
    | EndTransactionMarker
    | ConsumerGroupRecord
    | ShareGroupRecord
    | StreamsGroupRecord
)
"""What a record of `__consumer_offsets` may say about groups and their offsets."""
