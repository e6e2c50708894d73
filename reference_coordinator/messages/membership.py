"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, and what comes with every request."""

from dataclasses import dataclass

from reference_coordinator.errors import Errors
from reference_coordinator.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
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
