"""An offset committed for a partition."""

from dataclasses import field

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import whole_value


@whole_value
class OffsetAndMetadata:
    """A committed offset. Source: OffsetAndMetadata (4.3.1)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: Millis
    expire_timestamp_ms: Millis | None
    """Set if the commit named a retention of its own."""
    record_offset: int | None = field(default=None, compare=False)
    """Its position in the log; None until it is written."""

    def older_than(self, other: "OffsetAndMetadata") -> bool:
        """Return whether this offset is before another in the log.

        Source: CommitRecordMetadataAndOffset#olderThan (3.9.2).
        """
        return (self.record_offset or 0) < (other.record_offset or 0)
