"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, and what comes with every request."""

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
"""Who asks on a connection without authentication. Source: KafkaPrincipal#ANONYMOUS (4.3.1)."""


@value
class RequestContext:
    """What the coordinator may know of a request beside its body."""

    api_version: int
    client_id: str | None
    """As in the request header; null and the empty string stay apart."""
    client_host: str
    """In Kafka's form, e.g. `/127.0.0.1`."""
    principal: str = ANONYMOUS
    """Who asks, in Kafka's form, e.g. `User:ana`."""


@value
class JoinGroupRequestProtocol:
    """One protocol that a member supports, in the order of its preference."""

    name: str
    metadata: bytes
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that no schema knows; the Java coordinator compares them too."""


@value
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


@value
class JoinGroupResponseMember:
    """A member as the leader is told of it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    metadata: bytes


@value
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


@value
class SyncGroupRequestAssignment:
    """The leader's assignment for one member."""

    member_id: MemberId
    assignment: bytes


@value
class SyncGroupRequest:
    """A member asks for its assignment; the leader brings everybody's."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncGroupRequestAssignment, ...] = ()


@value
class SyncGroupResponse:
    """A member's assignment, empty with an error."""

    error_code: Errors
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


@value
class HeartbeatRequest:
    """A member says that it lives."""

    group_id: GroupId
    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None


@value
class HeartbeatResponse:
    """Whether the member may go on as it is."""

    error_code: Errors


@value
class MemberIdentity:
    """One leaver of a batch."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None = None
    reason: str | None = None


@value
class LeaveGroupRequest:
    """Members leave; LeaveGroup v0 to v2 bring exactly one."""

    group_id: GroupId
    members: tuple[MemberIdentity, ...]


@value
class MemberResponse:
    """How it went for one leaver, echoing what the request named."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    error_code: Errors


@value
class LeaveGroupResponse:
    """In request order; v0 to v2 promote the only member's error, which is the mapping's work."""

    error_code: Errors
    members: tuple[MemberResponse, ...]
