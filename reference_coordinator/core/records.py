"""The records in `__consumer_offsets`, which the coordinator writes, and reads when it loads a partition.

Like the messages, they do not depend on a version. A tombstone has a class of its own here. In Kafka it has
the same key and a null value.
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
"""The timestamp of a group written before Kafka 2.1. Source: GroupMetadataValue.json (4.3.1)."""


@value
class GroupMetadataRecordMember:
    """A member of a classic group in its record."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: Millis
    session_timeout_ms: Millis
    subscription: bytes
    """The metadata of the selected protocol. Other protocols of the member are not written."""
    assignment: bytes


@value
class GroupMetadataRecord:
    """A classic group after a rebalance, or when it became empty.

    Source: GroupCoordinatorRecordHelpers#newGroupMetadataRecord (4.3.1).
    """

    group_id: GroupId
    protocol_type: str
    """Empty if the group has none."""
    generation_id: GenerationId
    protocol: str | None
    leader: MemberId | None
    current_state_timestamp_ms: Millis
    """When the group entered its state at the time of the write."""
    members: tuple[GroupMetadataRecordMember, ...]


@value
class GroupMetadataTombstone:
    """The removal of a group.

    Source: GroupCoordinatorRecordHelpers#newGroupMetadataTombstoneRecord (4.3.1).
    """

    group_id: GroupId


@value
class OffsetCommitRecord:
    """A committed offset of one partition.

    Source: GroupCoordinatorRecordHelpers#newOffsetCommitRecord (4.3.1).
    """

    group_id: GroupId
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    """-1 if the request contained none."""
    metadata: str
    commit_timestamp_ms: Millis
    expire_timestamp_ms: Millis | None
    """Set if the request contained a retention time."""
    producer_id: ProducerId = NO_PRODUCER_ID
    """The producer of the offset's transaction. The offset is pending until the transaction ends."""


@value
class OffsetCommitTombstone:
    """The removal of a partition's offset.

    Source: GroupCoordinatorRecordHelpers#newOffsetCommitTombstoneRecord (4.3.1).
    """

    group_id: GroupId
    topic: str
    partition: int


@value
class EndTransactionMarker:
    """The end of a producer's transaction on one partition of the log.

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
"""Any record in `__consumer_offsets`."""
