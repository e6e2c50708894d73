"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848)."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.messages.admin import AUTHORIZED_OPERATIONS_OMITTED

LEAVE_GROUP_MEMBER_EPOCH: Final = -1
"""The epoch that a leaving member sends. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""
LEAVE_GROUP_STATIC_MEMBER_EPOCH: Final = -2
"""The epoch of a static member that leaves temporarily. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""
JOIN_GROUP_MEMBER_EPOCH: Final = 0
"""The epoch that a joining member sends. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""


@value
class ConsumerGroupHeartbeatRequestTopicPartitions:
    """Partitions that a member owns, by the id of their topic."""

    topic_id: TopicId
    partitions: tuple[int, ...]


@value
class ConsumerGroupHeartbeatRequest:
    """A member's request to join, to send changes and owned partitions, or to leave; null means unchanged."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: int
    instance_id: GroupInstanceId | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Millis = Millis(-1)
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    """Version 1 and later."""
    server_assignor: str | None = None
    topic_partitions: tuple[ConsumerGroupHeartbeatRequestTopicPartitions, ...] | None = None


@value
class ConsumerGroupHeartbeatResponseTopicPartitions:
    """Partitions that are assigned to a member, by the id of their topic."""

    topic_id: TopicId
    partitions: tuple[int, ...]


@value
class ConsumerGroupHeartbeatResponseAssignment:
    """All partitions that are assigned to a member at present."""

    topic_partitions: tuple[ConsumerGroupHeartbeatResponseTopicPartitions, ...]


@value
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, and its assignment if that changed; with an error the rest has its defaults."""

    error_code: Errors
    error_message: str | None = None
    member_id: MemberId | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: Millis = Millis(0)
    assignment: ConsumerGroupHeartbeatResponseAssignment | None = None


@value
class ConsumerGroupDescribeRequest:
    """A request to describe consumer groups."""

    group_ids: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@value
class ConsumerGroupDescribeResponseTopicPartitions:
    """Partitions of one topic."""

    topic_id: TopicId
    topic_name: str
    partitions: tuple[int, ...]


@value
class ConsumerGroupDescribeResponseAssignment:
    """A current or target assignment of a member."""

    topic_partitions: tuple[ConsumerGroupDescribeResponseTopicPartitions, ...] = ()


@value
class ConsumerGroupDescribeResponseMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    instance_id: GroupInstanceId | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    assignment: ConsumerGroupDescribeResponseAssignment
    target_assignment: ConsumerGroupDescribeResponseAssignment
    member_type: int = -1
    """0 for the classic protocol, 1 for the consumer protocol; in version 1 and later."""


@value
class ConsumerGroupDescribeResponseGroup:
    """One group, or the error why it cannot be described."""

    error_code: Errors
    error_message: str | None = None
    group_id: GroupId
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[ConsumerGroupDescribeResponseMember, ...] = ()
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@value
class ConsumerGroupDescribeResponse:
    """One entry per group, in request order."""

    groups: tuple[ConsumerGroupDescribeResponseGroup, ...]
