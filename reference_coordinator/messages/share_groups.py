"""ShareGroupHeartbeat, ShareGroupDescribe, and the offsets of share groups (KIP-932)."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.messages.admin import AUTHORIZED_OPERATIONS_OMITTED


@value
class ShareGroupHeartbeatRequest:
    """A member's request to join, to send changes, or to leave; null means unchanged."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None


@value
class ShareGroupHeartbeatResponseTopicPartitions:
    """Partitions that a member may fetch from, by the id of their topic."""

    topic_id: TopicId
    partitions: tuple[int, ...]


@value
class ShareGroupHeartbeatResponseAssignment:
    """All that a member may fetch from."""

    topic_partitions: tuple[ShareGroupHeartbeatResponseTopicPartitions, ...]


@value
class ShareGroupHeartbeatResponse:
    """The member's epoch, and its assignment if that changed; with an error the rest has its defaults."""

    error_code: Errors
    error_message: str | None = None
    member_id: MemberId | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: Millis = Millis(0)
    assignment: ShareGroupHeartbeatResponseAssignment | None = None


@value
class ShareGroupDescribeRequest:
    """A request to describe share groups."""

    group_ids: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@value
class ShareGroupDescribeResponseTopicPartitions:
    """Partitions of one topic."""

    topic_id: TopicId
    topic_name: str
    partitions: tuple[int, ...]


@value
class ShareGroupDescribeResponseAssignment:
    """The assignment of a member."""

    topic_partitions: tuple[ShareGroupDescribeResponseTopicPartitions, ...] = ()


@value
class ShareGroupDescribeResponseMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: ShareGroupDescribeResponseAssignment


@value
class ShareGroupDescribeResponseGroup:
    """One group, or the error why it cannot be described."""

    error_code: Errors
    error_message: str | None = None
    group_id: GroupId
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[ShareGroupDescribeResponseMember, ...] = ()
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@value
class ShareGroupDescribeResponse:
    """One entry per group, in request order."""

    groups: tuple[ShareGroupDescribeResponseGroup, ...]


@value
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: tuple[int, ...]


@value
class DescribeShareGroupOffsetsRequestGroup:
    """One group, and the requested partitions; None means all of them."""

    group_id: GroupId
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = None


@value
class DescribeShareGroupOffsetsRequest:
    """A request for the start offsets of share groups."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...]


@value
class DescribeShareGroupOffsetsResponsePartition:
    """The start offset of a group in a partition, and the lag."""

    partition_index: int
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1
    """Version 1 and later."""
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class DescribeShareGroupOffsetsResponseTopic:
    """The partitions of one topic."""

    topic_name: str
    topic_id: TopicId | None
    """None means the id of zeros."""
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


@value
class DescribeShareGroupOffsetsResponseGroup:
    """One group's partitions, or the error why there are none."""

    group_id: GroupId
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class DescribeShareGroupOffsetsResponse:
    """One entry per group, in request order."""

    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...]


@value
class AlterShareGroupOffsetsRequestPartition:
    """The new start offset of a group in a partition."""

    partition_index: int
    start_offset: int


@value
class AlterShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


@value
class AlterShareGroupOffsetsRequest:
    """A request to set the start offsets of a share group."""

    group_id: GroupId
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...]


@value
class AlterShareGroupOffsetsResponsePartition:
    """The result for one partition."""

    partition_index: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class AlterShareGroupOffsetsResponseTopic:
    """The results for a topic's partitions."""

    topic_name: str
    topic_id: TopicId | None
    """None means the id of zeros."""
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


@value
class AlterShareGroupOffsetsResponse:
    """The results for the partitions."""

    error_code: Errors = Errors.NONE
    error_message: str | None = None
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = ()


@value
class DeleteShareGroupOffsetsRequestTopic:
    """A topic."""

    topic_name: str


@value
class DeleteShareGroupOffsetsRequest:
    """A request to delete the start offsets of a share group for topics."""

    group_id: GroupId
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...]


@value
class DeleteShareGroupOffsetsResponseTopic:
    """The result for a topic."""

    topic_name: str
    topic_id: TopicId | None
    """None means the id of zeros."""
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class DeleteShareGroupOffsetsResponse:
    """The results for the topics."""

    error_code: Errors = Errors.NONE
    error_message: str | None = None
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = ()


ShareGroupAdminRequest = (
    ShareGroupDescribeRequest
    | DescribeShareGroupOffsetsRequest
    | AlterShareGroupOffsetsRequest
    | DeleteShareGroupOffsetsRequest
)
"""Administrators' requests about share groups."""
ShareGroupRequest = ShareGroupHeartbeatRequest | ShareGroupAdminRequest
"""Requests to the group coordinator about share groups."""
ShareGroupResponse = (
    ShareGroupHeartbeatResponse
    | ShareGroupDescribeResponse
    | DescribeShareGroupOffsetsResponse
    | AlterShareGroupOffsetsResponse
    | DeleteShareGroupOffsetsResponse
)
"""Responses of the group coordinator about share groups."""
