"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, and the context of every request."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
)
from reference_coordinator.core.values import value

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal on a connection without authentication. Source: KafkaPrincipal#ANONYMOUS (4.3.1)."""


@value
class RequestContext:
    """The data about a request, beside its body, that the coordinator may use."""

    api_version: int
    client_id: str | None
    """As in the request header; null and the empty string are distinct."""
    client_host: str
    """In Kafka's form, e.g. `/127.0.0.1`."""
    connection: int = 0
    """The connection of the request; 0 where that does not matter."""
    principal: str = ANONYMOUS
    """The principal in Kafka's form, e.g. `User:ana`."""


@value
class JoinGroupRequestProtocol:
    """One protocol that a member supports, in the order of its preference."""

    name: str
    metadata: bytes
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    """Unknown tagged fields; the Java coordinator compares them, too."""


@value
class JoinGroupRequest:
    """A member's request to join or rejoin."""

    group_id: GroupId
    session_timeout_ms: Millis
    rebalance_timeout_ms: Millis
    """JoinGroup v0 lacks it, so the mapping uses the session timeout."""
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None = None


@value
class JoinGroupResponseMember:
    """A member in the leader's answer."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    metadata: bytes


@value
class JoinGroupResponse:
    """The outcome of a join phase, or the error why there is none."""

    error_code: Errors
    generation_id: GenerationId
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: MemberId
    members: tuple[JoinGroupResponseMember, ...]


@value
class SyncGroupRequestAssignment:
    """The leader's assignment for one member."""

    member_id: MemberId
    assignment: bytes


@value
class SyncGroupRequest:
    """A member's request for its assignment; the leader's has the assignments of all members."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncGroupRequestAssignment, ...] = ()


@value
class SyncGroupResponse:
    """A member's assignment, which is empty with an error."""

    error_code: Errors
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


@value
class HeartbeatRequest:
    """A member's heartbeat."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None


@value
class HeartbeatResponse:
    """The error of a heartbeat; NONE if the member may continue."""

    error_code: Errors


@value
class MemberIdentity:
    """One leaving member of a batch."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    reason: str | None = None


@value
class LeaveGroupRequest:
    """A request for members to leave; LeaveGroup v0 to v2 have exactly one."""

    group_id: GroupId
    members: tuple[MemberIdentity, ...]


@value
class MemberResponse:
    """The result for one leaving member, with its ids from the request."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    error_code: Errors


@value
class LeaveGroupResponse:
    """The results in request order; for v0 to v2 the mapping promotes the only member's error."""

    error_code: Errors
    members: tuple[MemberResponse, ...]
