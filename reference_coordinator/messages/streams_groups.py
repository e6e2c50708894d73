"""StreamsGroupHeartbeat and StreamsGroupDescribe (KIP-1071)."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis
from reference_coordinator.core.streams_records import Endpoint, KeyValue, Subtopology, TaskIds, TopicInfo
from reference_coordinator.core.values import value
from reference_coordinator.messages.admin import AUTHORIZED_OPERATIONS_OMITTED


@value
class StreamsGroupHeartbeatRequestTopology:
    """The topology that a member runs."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]


@value
class TaskOffset:
    """The offset up to which a member has restored a task."""

    subtopology_id: str
    partition: int
    offset: int


@value
class StreamsGroupHeartbeatRequest:
    """A member's request to join, to send changes and its tasks, or to leave; null means unchanged."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    endpoint_information_epoch: int = 0
    instance_id: GroupInstanceId | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Millis = Millis(-1)
    topology: StreamsGroupHeartbeatRequestTopology | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] | None = None
    task_offsets: tuple[TaskOffset, ...] | None = None
    task_end_offsets: tuple[TaskOffset, ...] | None = None
    shutdown_application: bool = False


@value
class StreamsGroupHeartbeatResponseStatus:
    """A status of the group that is sent to a member."""

    status_code: int
    status_detail: str


@value
class StreamsGroupTopicPartition:
    """Partitions of one topic."""

    topic: str
    partitions: tuple[int, ...]


@value
class EndpointToPartitions:
    """The partitions of the member at an endpoint."""

    user_endpoint: Endpoint
    active_partitions: tuple[StreamsGroupTopicPartition, ...]
    standby_partitions: tuple[StreamsGroupTopicPartition, ...]


@value
class StreamsGroupHeartbeatResponse:
    """The member's epoch, its tasks if those changed, and the status of its group.

    With an error, the rest has its defaults. The last two fields are for the broker and stay off the wire.
    """

    error_code: Errors
    error_message: str | None = None
    member_id: MemberId = MemberId("")
    member_epoch: int = 0
    heartbeat_interval_ms: Millis = Millis(0)
    acceptable_recovery_lag_legacy: int = 0
    acceptable_recovery_lag: int = -1
    task_offset_interval_ms: Millis = Millis(0)
    status: tuple[StreamsGroupHeartbeatResponseStatus, ...] = ()
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = None
    topology_description_required: bool = False
    creatable_topics: tuple[TopicInfo, ...] = ()
    """Internal topics that the broker must create. Source: StreamsGroupHeartbeatResult (4.3.1)."""
    status_if_late: tuple[StreamsGroupHeartbeatResponseStatus, ...] | None = None
    """The status if the answer comes after the effects of the request; the broker sets it."""


@value
class StreamsGroupDescribeRequest:
    """A request to describe streams groups."""

    group_ids: tuple[GroupId, ...]
    include_authorized_operations: bool = False
    include_topology_description: bool = False
    """In version 1."""


@value
class StreamsGroupDescribeResponseTopology:
    """The topology of a group."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None


@value
class StreamsGroupDescribeResponseAssignment:
    """The current or target tasks of a member."""

    active_tasks: tuple[TaskIds, ...] = ()
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@value
class StreamsGroupDescribeResponseMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    member_epoch: int
    instance_id: GroupInstanceId | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]
    task_offsets: tuple[TaskOffset, ...]
    task_end_offsets: tuple[TaskOffset, ...]
    assignment: StreamsGroupDescribeResponseAssignment
    target_assignment: StreamsGroupDescribeResponseAssignment
    is_classic: bool = False


@value
class StreamsGroupDescribeResponseGroup:
    """One group, or the error why it cannot be described."""

    error_code: Errors
    error_message: str | None = None
    group_id: GroupId
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: StreamsGroupDescribeResponseTopology | None = None
    members: tuple[StreamsGroupDescribeResponseMember, ...] = ()
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED
    topology_description: None = None
    topology_description_status: int = 0
    """0 if it was not requested, 1 if no member has sent one; in version 1."""
    assignor_name: str | None = None
    """In version 1."""


@value
class StreamsGroupDescribeResponse:
    """One entry per group."""

    groups: tuple[StreamsGroupDescribeResponseGroup, ...]
