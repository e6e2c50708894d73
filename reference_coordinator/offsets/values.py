"""A partition, and an offset committed for it."""

from dataclasses import dataclass, field

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPartition:
    """A partition that a group may have an offset for."""

    topic: str
    partition: int


@value
class OffsetAndMetadata:
    """A committed offset. Source: OffsetAndMetadata (4.3.1)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: Millis
    expire_timestamp_ms: Millis | None
    """Set where the commit named a retention of its own."""
    record_offset: int | None = field(default=None, compare=False)
    """Where in the log it stands; None while it is on its way there."""

    def is_older_than(self, other: "OffsetAndMetadata") -> bool:
        """Whether it stands before another in the log.

        Source: CommitRecordMetadataAndOffset#olderThan (3.9.2).
        """
        return (self.record_offset or 0) < (other.record_offset or 0)
