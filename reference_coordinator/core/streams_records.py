"""The records of streams groups in `__consumer_offsets`.

A tombstone has a class of its own, as for other groups. Fields are Kafka's in snake_case, in the order of
Kafka's definitions. The names of times contain their unit.
"""

from enum import IntEnum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis
from reference_coordinator.core.values import value


@unique
class StreamsMemberState(IntEnum):
    """The reconciliation state of a member. Source: streams.MemberState (4.3.1)."""

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
    """The address where an application answers queries of its state."""

    host: str
    port: int


@value
class TopicInfo:
    """An internal topic of a topology. If `partitions` is 0, the broker decides the number."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: tuple[KeyValue, ...] | None = ()


@value
class CopartitionGroup:
    """Source topics that need the same partition count, by their indices in the subtopology."""

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
    """Tasks of one subtopology, from 4.2 on with the epoch in which each was assigned."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = None


@value
class StreamsGroupMetadataRecord:
    """A streams group's epoch. Source: StreamsGroupMetadataValue (4.3.1), key type 17."""

    group_id: GroupId
    epoch: int
    metadata_hash: int = 0
    """The hash of the topology's topics, a signed 64-bit integer."""
    validated_topology_epoch: int = -1
    """The epoch of the topology whose topics were all valid. -1 for none, and before 4.2."""
    last_assignment_configs: tuple[KeyValue, ...] = ()
    """The configuration of the assignor. Empty before 4.2."""


@value
class StreamsGroupMetadataTombstone:
    """The removal of a streams group."""

    group_id: GroupId


@value
class StreamsGroupMemberMetadataRecord:
    """A member's metadata. Source: StreamsGroupMemberMetadataValue (4.3.1), key type 19."""

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
    """The removal of a member."""

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
    """When the assignment was computed. 0 before 4.3."""


@value
class StreamsGroupTargetAssignmentMetadataTombstone:
    """The removal of the target assignment's epoch."""

    group_id: GroupId


@value
class StreamsGroupTargetAssignmentMemberRecord:
    """A member's target. Source: StreamsGroupTargetAssignmentMemberValue (4.3.1), key type 21."""

    group_id: GroupId
    member_id: MemberId
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@value
class StreamsGroupTargetAssignmentMemberTombstone:
    """The removal of a member's target assignment."""

    group_id: GroupId
    member_id: MemberId


@value
class StreamsGroupCurrentMemberAssignmentRecord:
    """A member's assigned tasks, and those that it must revoke.

    Source: StreamsGroupCurrentMemberAssignmentValue (4.3.1), key type 22.
    """

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    previous_member_epoch: int
    state: int
    """A value of `StreamsMemberState`, or another one in a record that something else wrote."""
    active_tasks: tuple[TaskIdsWithEpochs, ...]
    standby_tasks: tuple[TaskIdsWithEpochs, ...]
    warmup_tasks: tuple[TaskIdsWithEpochs, ...]
    active_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]
    standby_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]
    warmup_tasks_pending_revocation: tuple[TaskIdsWithEpochs, ...]


@value
class StreamsGroupCurrentMemberAssignmentTombstone:
    """The removal of a member's current assignment."""

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
    """The removal of a group's topology."""

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
"""Any record of streams groups in `__consumer_offsets`."""
