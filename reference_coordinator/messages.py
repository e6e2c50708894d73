"""The coordinator's requests and responses, free of API versions, as Kafka's `…RequestData` are.

Field names are Kafka's in snake_case, durations in milliseconds. One module maps them to the classes
of each API version (`wire`); what a version lacks has Kafka's default here.
"""

from dataclasses import dataclass

from reference_coordinator.errors import Errors
from reference_coordinator.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    TopicId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """What the coordinator may know of a request beside its body."""

    api_version: int
    client_id: str | None
    """As in the request header; null and the empty string stay apart."""
    client_host: str
    """In Kafka's form, e.g. `/127.0.0.1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequestProtocol:
    """One protocol that a member supports, in the order of its preference."""

    name: str
    metadata: bytes
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that no schema knows; the Java coordinator compares them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """A member asks to join, or to join again."""

    group_id: GroupId
    session_timeout_ms: Millis
    rebalance_timeout_ms: Millis
    """JoinGroup v0 has none: the mapping puts the session timeout here."""
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponseMember:
    """A member as the leader is told of it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    """The outcome of a join phase, or why there is none."""

    error_code: Errors
    generation_id: GenerationId
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: MemberId
    members: tuple[JoinGroupResponseMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequestAssignment:
    """The leader's assignment for one member."""

    member_id: MemberId
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """A member asks for its assignment; the leader brings everybody's."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncGroupRequestAssignment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    """A member's assignment, empty with an error."""

    error_code: Errors
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """A member says that it lives."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    """Whether the member may go on as it is."""

    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdentity:
    """One leaver of a batch."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    """Members leave; LeaveGroup v0 to v2 bring exactly one."""

    group_id: GroupId
    members: tuple[MemberIdentity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResponse:
    """How it went for one leaver, echoing what the request named."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """In request order; v0 to v2 promote the only member's error, which is the mapping's work."""

    error_code: Errors
    members: tuple[MemberResponse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest:
    """Asks what the coordinator knows of some groups."""

    groups: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroupMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """A group as an administrator sees it."""

    error_code: Errors
    error_message: str | None
    """DescribeGroups v6 and later."""
    group_id: GroupId
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int = -(2**31)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse:
    """One entry a requested group, in request order."""

    groups: tuple[DescribedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest:
    """Asks for all groups of this coordinator; empty filters let everything pass."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """A group in a listing."""

    group_id: GroupId
    protocol_type: str
    group_state: str
    group_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse:
    """The groups, in no order that Kafka promises."""

    error_code: Errors
    groups: tuple[ListedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    """Asks that empty groups, with their offsets, be forgotten."""

    groups_names: tuple[GroupId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult:
    """How it went for one group."""

    group_id: GroupId
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    """One result a group, in no order that Kafka promises."""

    results: tuple[DeletableGroupResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequestPartition:
    """An offset to remember."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequestTopic:
    """The offsets of one topic."""

    name: str
    partitions: tuple[OffsetCommitRequestPartition, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """A member, or nobody in particular (generation -1), commits offsets."""

    group_id: GroupId
    generation_id_or_member_epoch: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    retention_time_ms: Millis = Millis(-1)
    """OffsetCommit v2 to v4; -1 leaves it to the broker's configuration."""
    topics: tuple[OffsetCommitRequestTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponsePartition:
    """How it went for one partition."""

    partition_index: int
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponseTopic:
    """How it went for one topic's partitions."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    """An error a partition; the request as a whole has none."""

    topics: tuple[OffsetCommitResponseTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequestTopic:
    """Partitions whose offsets are asked for."""

    name: str
    partition_indexes: tuple[int, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequestGroup:
    """What is asked of one group; `topics` null means every committed partition."""

    group_id: GroupId
    member_id: str | None = None
    member_epoch: int = -1
    topics: tuple[OffsetFetchRequestTopic, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """Asks for committed offsets; OffsetFetch v1 to v7 bring exactly one group."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponsePartition:
    """A committed offset, -1 where there is none."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponseTopic:
    """One topic's committed offsets."""

    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]
    topic_id: TopicId | None = None
    """Version 10 and later, which name topics by it; KafkaApis keeps it, not the coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponseGroup:
    """One group's committed offsets, or why it has none to tell."""

    group_id: GroupId
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    """One entry a requested group, in request order."""

    groups: tuple[OffsetFetchResponseGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequestTopic:
    """Partitions whose offsets are to be forgotten."""

    name: str
    partition_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    """Asks that a group forget some offsets."""

    group_id: GroupId
    topics: tuple[OffsetDeleteRequestTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponsePartition:
    """How it went for one partition."""

    partition_index: int
    error_code: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponseTopic:
    """How it went for one topic's partitions."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """A group's error on top, or an error a partition."""

    error_code: Errors
    topics: tuple[OffsetDeleteResponseTopic, ...]


GroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | DescribeGroupsRequest
    | ListGroupsRequest
    | DeleteGroupsRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
)
"""What the group coordinator itself answers."""

GroupResponse = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | DescribeGroupsResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | OffsetDeleteResponse
)
"""What the group coordinator answers with."""
