"""What the coordinator writes to `__consumer_offsets` of streams groups, and reads back.

A tombstone is a record of its own kind, as those of other groups are. Fields are Kafka's in snake_case, in
the order of Kafka's definitions; times have their unit in the name.
"""

from enum import IntEnum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis
from reference_coordinator.core.values import value


@unique
class StreamsMemberState(IntEnum):
    """How far a member is with its reconciliation. Source: streams.MemberState (4.3.1)."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127


@value
class KeyValue:
    """A setting of a topic, or a tag of a client."""

    key: str
    value: str


@value
class Endpoint:
    """Where an application answers queries of its state."""

    host: str
    port: int


@value
class TopicInfo:
    """An internal topic of a topology; 0 partitions are for the broker to decide."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: tuple[KeyValue, ...] | None = ()


@value
class CopartitionGroup:
    """Source topics that need as many partitions, by their places in the subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


@value
class Subtopology:
    """A part of an application that has tasks of its own."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


@value
class TaskIds:
    """Tasks of one subtopology, by their partitions."""

    subtopology_id: str
    partitions: tuple[int, ...]


@value
class TaskIdsWithEpochs:
    """Tasks of one subtopology, each with the epoch since which a member has it, from 4.2 on."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = None


@value
class StreamsGroupMetadataRecord:
    """A streams group's epoch. Source: StreamsGroupMetadataValue (4.3.1), key type 17."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """Of the topics of the topology, a signed 64-bit number."""
    validated_topology_epoch: int = -1
    """The topology that had all its topics; -1 for none, and before 4.2."""
    last_assignment_configs: tuple[KeyValue, ...] = ()
    """How the assignor was configured; nothing before 4.2."""


@value
class StreamsGroupMetadataTombstone:
    """The streams group is no more."""

    group_id: GroupId


@value
class StreamsGroupMemberMetadataRecord:
    """What a member told of itself. Source: StreamsGroupMemberMetadataValue (4.3.1), key type 19."""

    group_id: GroupId
    member_id: MemberId
    instance_id: GroupInstanceId | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: Millis
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]


@value
class StreamsGroupMemberMetadataTombstone:
    """The member is no more."""

    group_id: GroupId
    member_id: MemberId


@value
class StreamsGroupTargetAssignmentMetadataRecord:
    """The epoch of the target assignment.

    Source: StreamsGroupTargetAssignmentMetadataValue (4.3.1), key type 20.
    """

    group_id: GroupId
    assignment_epoch: int
    assignment_timestamp_ms: Millis = Millis(0)
    """When it was made; 0 before 4.3."""


@value
class StreamsGroupTargetAssignmentMetadataTombstone:
    """There is no target assignment any more."""

    group_id: GroupId


@value
class StreamsGroupTargetAssignmentMemberRecord:
    """What a member is to have. Source: StreamsGroupTargetAssignmentMemberValue (4.3.1), key type 21."""

    group_id: GroupId
    member_id: MemberId
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@value
class StreamsGroupTargetAssignmentMemberTombstone:
    """The member is to have nothing any more."""

    group_id: GroupId
    member_id: MemberId


@value
class StreamsGroupCurrentMemberAssignmentRecord:
    """What a member has, and what it is to give up.

    Source: StreamsGroupCurrentMemberAssignmentValue (4.3.1), key type 22.
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    previous_member_epoch: int
    state: int
    """As in `StreamsMemberState`; a record of somebody else may have another."""
    active_tasks: tuple[TaskIdsWithEpochs, ...]
    standby_tasks: tuple[TaskIdsWithEpochs, ...]
    warmup_tasks: tuple[TaskIdsWithEpochs, ...]
    active_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]
    standby_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]
    warmup_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]


@value
class StreamsGroupCurrentMemberAssignmentTombstone:
    """The member has nothing any more."""

    group_id: GroupId
    member_id: MemberId


@value
class StreamsGroupTopologyRecord:
    """The topology that a group's members run. Source: StreamsGroupTopologyValue (4.3.1), key type 23."""

    group_id: GroupId
    epoch: int
    subtopologies: tuple[Subtopology, ...]


@value
class StreamsGroupTopologyTombstone:
    """The group has no topology any more."""

    group_id: GroupId


StreamsGroupRecord = (
    StreamsGroupMetadataRecord
    | StreamsGroupMetadataTombstone
    | StreamsGroupMemberMetadataRecord
    | StreamsGroupMemberMetadataTombstone
    | StreamsGroupTargetAssignmentMetadataRecord
    | StreamsGroupTargetAssignmentMetadataTombstone
    | StreamsGroupTargetAssignmentMemberRecord
    | StreamsGroupTargetAssignmentMemberTombstone
    | StreamsGroupCurrentMemberAssignmentRecord
    | StreamsGroupCurrentMemberAssignmentTombstone
    | StreamsGroupTopologyRecord
    | StreamsGroupTopologyTombstone
)
"""What a record of `__consumer_offsets` may say about streams groups."""
