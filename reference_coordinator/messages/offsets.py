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
    """An offset to remember."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""
    commit_timestamp_ms: Millis = DEFAULT_TIMESTAMP_MS
    """OffsetCommit v1; -1 stands for the broker's time."""


@value
class OffsetCommitRequestTopic:
    """The offsets of one topic."""

    name: str = ""
    partitions: tuple[OffsetCommitRequestPartition, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@value
class OffsetCommitRequest:
    """A member, or nobody in particular (generation -1), commits offsets."""

    group_id: GroupId
    generation_id_or_member_epoch: GenerationId = UNKNOWN_GENERATION_ID
    member_id: MemberId = UNKNOWN_MEMBER_ID
    group_instance_id: GroupInstanceId | None = None
    retention_time_ms: Millis = DEFAULT_RETENTION_TIME_MS
    """OffsetCommit v2 to v4; -1 leaves it to the broker's configuration."""
    topics: tuple[OffsetCommitRequestTopic, ...]


@value
class OffsetCommitResponsePartition:
    """How it went for one partition."""

    partition_index: int
    error_code: Errors


@value
class OffsetCommitResponseTopic:
    """How it went for one topic's partitions."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@value
class OffsetCommitResponse:
    """An error a partition; the request as a whole has none."""

    topics: tuple[OffsetCommitResponseTopic, ...]


@value
class OffsetFetchRequestTopic:
    """Partitions whose offsets are asked for."""

    name: str = ""
    partition_indexes: tuple[int, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@value
class OffsetFetchRequestGroup:
    """What is asked of one group; `topics` null means every committed partition."""

    group_id: GroupId
    member_id: str | None = None
    member_epoch: int = -1
    topics: tuple[OffsetFetchRequestTopic, ...] | None


@value
class OffsetFetchRequest:
    """Asks for committed offsets; OffsetFetch v0 to v7 bring exactly one group."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool = False


@value
class OffsetFetchResponsePartition:
    """A committed offset, -1 where there is none."""

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
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@value
class OffsetFetchResponseGroup:
    """One group's committed offsets, or why it has none to tell."""

    group_id: GroupId
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: Errors


@value
class OffsetFetchResponse:
    """One entry a requested group, in request order."""

    groups: tuple[OffsetFetchResponseGroup, ...]


@value
class OffsetDeleteRequestTopic:
    """Partitions whose offsets are to be forgotten."""

    name: str
    partition_indexes: tuple[int, ...]


@value
class OffsetDeleteRequest:
    """Asks that a group forget some offsets."""

    group_id: GroupId
    topics: tuple[OffsetDeleteRequestTopic, ...]


@value
class OffsetDeleteResponsePartition:
    """How it went for one partition."""

    partition_index: int
    error_code: Errors


@value
class OffsetDeleteResponseTopic:
    """How it went for one topic's partitions."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@value
class OffsetDeleteResponse:
    """A group's error on top, or an error a partition."""

    error_code: Errors
    topics: tuple[OffsetDeleteResponseTopic, ...]
