"""OffsetCommit, OffsetFetch and OffsetDelete."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    TopicId,
)
from reference_coordinator.core.values import value

DEFAULT_RETENTION_TIME_MS: Final = Millis(-1)
"""Source: OffsetCommitRequest.DEFAULT_RETENTION_TIME."""

DEFAULT_TIMESTAMP_MS: Final = Millis(-1)
"""Source: OffsetCommitRequest.DEFAULT_TIMESTAMP (3.9.2)."""


@value
class OffsetCommitRequestPartition:
    """An offset to commit."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""
    commit_timestamp_ms: Millis = DEFAULT_TIMESTAMP_MS
    """In OffsetCommit v1; -1 means the broker's time."""


@value
class OffsetCommitRequestTopic:
    """The offsets of one topic."""

    name: str = ""
    partitions: tuple[OffsetCommitRequestPartition, ...]
    topic_id: TopicId | None = None
    """In version 10 and later, which name topics by it; KafkaApis uses it, not the coordinator."""


@value
class OffsetCommitRequest:
    """A request to commit offsets, of a member, or without one (generation -1)."""

    group_id: GroupId
    generation_id_or_member_epoch: GenerationId = UNKNOWN_GENERATION_ID
    member_id: MemberId = UNKNOWN_MEMBER_ID
    group_instance_id: GroupInstanceId | None = None
    retention_time_ms: Millis = DEFAULT_RETENTION_TIME_MS
    """In OffsetCommit v2 to v4; -1 means the broker's configuration."""
    topics: tuple[OffsetCommitRequestTopic, ...]


@value
class OffsetCommitResponsePartition:
    """The result for one partition."""

    partition_index: int
    error_code: Errors


@value
class OffsetCommitResponseTopic:
    """The results for one topic's partitions."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]
    topic_id: TopicId | None = None
    """In version 10 and later, which name topics by it; KafkaApis uses it, not the coordinator."""


@value
class OffsetCommitResponse:
    """One error per partition; the request as a whole has none."""

    topics: tuple[OffsetCommitResponseTopic, ...]


@value
class OffsetFetchRequestTopic:
    """Partitions whose offsets are requested."""

    name: str = ""
    partition_indexes: tuple[int, ...]
    topic_id: TopicId | None = None
    """In version 10 and later, which name topics by it; KafkaApis uses it, not the coordinator."""


@value
class OffsetFetchRequestGroup:
    """The requested offsets of one group; `topics` null means every committed partition."""

    group_id: GroupId
    member_id: str | None = None
    member_epoch: int = -1
    topics: tuple[OffsetFetchRequestTopic, ...] | None


@value
class OffsetFetchRequest:
    """A request for committed offsets; OffsetFetch v0 to v7 have exactly one group."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool = False


@value
class OffsetFetchResponsePartition:
    """A committed offset, -1 if there is none."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: Errors


@value
class OffsetFetchResponseTopic:
    """One topic's committed offsets."""

    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]
    topic_id: TopicId | None = None
    """In version 10 and later, which name topics by it; KafkaApis uses it, not the coordinator."""


@value
class OffsetFetchResponseGroup:
    """One group's committed offsets, or the error why there are none."""

    group_id: GroupId
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: Errors


@value
class OffsetFetchResponse:
    """One entry per requested group, in request order."""

    groups: tuple[OffsetFetchResponseGroup, ...]


@value
class OffsetDeleteRequestTopic:
    """Partitions whose offsets are to be deleted."""

    name: str
    partition_indexes: tuple[int, ...]


@value
class OffsetDeleteRequest:
    """A request to delete offsets of a group."""

    group_id: GroupId
    topics: tuple[OffsetDeleteRequestTopic, ...]


@value
class OffsetDeleteResponsePartition:
    """The result for one partition."""

    partition_index: int
    error_code: Errors


@value
class OffsetDeleteResponseTopic:
    """The results for one topic's partitions."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@value
class OffsetDeleteResponse:
    """An error for the group at the top level, or one error per partition."""

    error_code: Errors
    topics: tuple[OffsetDeleteResponseTopic, ...]
