"""ShareGroupHeartbeat, ShareGroupDescribe, and the offsets of share groups (KIP-932)."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.messages.admin import AUTHORIZED_OPERATIONS_OMITTED


@value
class ShareGroupHeartbeatRequest:
    """A member joins, tells what changed, or leaves; null means unchanged."""

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
    """The member's epoch, and its assignment where that changed; an error leaves the rest at its defaults."""

    error_code: Errors
    error_message: str | None = None
    member_id: MemberId | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: Millis = Millis(0)
    assignment: ShareGroupHeartbeatResponseAssignment | None = None


@value
class ShareGroupDescribeRequest:
    """Asks about share groups."""

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
    """What a member has."""

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
    """One group, or why it cannot be described."""

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
    """One entry a group, in request order."""

    groups: tuple[ShareGroupDescribeResponseGroup, ...]


@value
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: tuple[int, ...]


@value
class DescribeShareGroupOffsetsRequestGroup:
    """One group, and the partitions that are asked for; None is all of them."""

    group_id: GroupId
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = None


@value
class DescribeShareGroupOffsetsRequest:
    """Asks from where share groups read."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...]


@value
class DescribeShareGroupOffsetsResponsePartition:
    """From where a group reads a partition, and how much is left."""

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
    """None stands for the id of zeros."""
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


@value
class DescribeShareGroupOffsetsResponseGroup:
    """One group's partitions, or why there are none."""

    group_id: GroupId
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class DescribeShareGroupOffsetsResponse:
    """One entry a group, in request order."""

    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...]


@value
class AlterShareGroupOffsetsRequestPartition:
    """From where a group is to read a partition."""

    partition_index: int
    start_offset: int


@value
class AlterShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


@value
class AlterShareGroupOffsetsRequest:
    """Sets from where a share group reads."""

    group_id: GroupId
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...]


@value
class AlterShareGroupOffsetsResponsePartition:
    """What became of one partition."""

    partition_index: int
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class AlterShareGroupOffsetsResponseTopic:
    """What became of a topic's partitions."""

    topic_name: str
    topic_id: TopicId | None
    """None stands for the id of zeros."""
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


@value
class AlterShareGroupOffsetsResponse:
    """What became of the partitions."""

    error_code: Errors = Errors.NONE
    error_message: str | None = None
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...] = ()


@value
class DeleteShareGroupOffsetsRequestTopic:
    """A topic."""

    topic_name: str


@value
class DeleteShareGroupOffsetsRequest:
    """Has a share group forget from where it reads topics."""

    group_id: GroupId
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...]


@value
class DeleteShareGroupOffsetsResponseTopic:
    """What became of a topic."""

    topic_name: str
    topic_id: TopicId | None
    """None stands for the id of zeros."""
    error_code: Errors = Errors.NONE
    error_message: str | None = None


@value
class DeleteShareGroupOffsetsResponse:
    """What became of the topics."""

    error_code: Errors = Errors.NONE
    error_message: str | None = None
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = ()


ShareGroupAdminRequest = (
    ShareGroupDescribeRequest
    | DescribeShareGroupOffsetsRequest
    | AlterShareGroupOffsetsRequest
    | DeleteShareGroupOffsetsRequest
)
"""What administrators ask about share groups."""
ShareGroupRequest = ShareGroupHeartbeatRequest | ShareGroupAdminRequest
"""What the group coordinator is asked about share groups."""
ShareGroupResponse = (
    ShareGroupHeartbeatResponse
    | ShareGroupDescribeResponse
    | DescribeShareGroupOffsetsResponse
    | AlterShareGroupOffsetsResponse
    | DeleteShareGroupOffsetsResponse
)
"""What the group coordinator answers about share groups."""
