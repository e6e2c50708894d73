"""A member of a classic group."""

from collections.abc import Container
from dataclasses import dataclass

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupInstanceId, MemberId, Millis, ResponseToken
from reference_coordinator.messages import DescribedGroupMember, JoinGroupRequestProtocol


@dataclass(slots=True, kw_only=True)
class ClassicGroupMember:
    """One member, with the requests of its that are parked.

    Source: ClassicGroupMember (4.3.1), MemberMetadata (3.9.2).
    """

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str | None
    """None where the client named none, and the release keeps it so."""
    client_host: str
    rebalance_timeout_ms: Millis
    session_timeout_ms: Millis
    protocol_type: str
    supported_protocols: tuple[JoinGroupRequestProtocol, ...]
    """In the order of the member's preference."""
    assignment: bytes = b""
    counts_as_static: bool = False
    """Whether it stays when it misses a rebalance, though it has no instance id."""
    is_new: bool = False
    """Whether it has not seen the end of a join phase yet."""
    awaiting_join: ResponseToken | None = None
    """The JoinGroup that is parked."""
    awaiting_sync: ResponseToken | None = None
    """The SyncGroup that is parked."""

    @property
    def is_static_member(self) -> bool:
        """Whether it came with a group instance id, or counts as if it had."""
        return self.group_instance_id is not None or self.counts_as_static

    @property
    def is_awaiting_join(self) -> bool:
        """Whether a JoinGroup of it is parked."""
        return self.awaiting_join is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether a SyncGroup of it is parked."""
        return self.awaiting_sync is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether its session cannot expire, because it waits for the coordinator.

        Source: ClassicGroupMember#hasSatisfiedHeartbeat (4.3.1).
        """
        if self.is_new:
            return False
        return self.is_awaiting_join or self.is_awaiting_sync

    def metadata(self, protocol_name: str | None) -> bytes:
        """What it gave for a protocol. Source: ClassicGroupMember#metadata (4.3.1).

        Raises:
            IllegalStateError: it does not support the protocol.
        """
        for protocol in self.supported_protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise IllegalStateError("Member does not support protocol")

    def matches(self, protocols: tuple[JoinGroupRequestProtocol, ...], *, with_unknown_tags: bool) -> bool:
        """Whether these protocols are the ones that it has, in the same order.

        Source: ClassicGroupMember#matches (4.3.1), MemberMetadata#matches (3.9.2).
        """
        if with_unknown_tags:
            return protocols == self.supported_protocols
        theirs = [(each.name, each.metadata) for each in protocols]
        return theirs == [(each.name, each.metadata) for each in self.supported_protocols]

    def vote(self, candidates: Container[str]) -> str:
        """Its favourite among candidates. Source: ClassicGroupMember#vote (4.3.1).

        Raises:
            IllegalStateError: it supports none.
        """
        for protocol in self.supported_protocols:
            if protocol.name in candidates:
                return protocol.name
        raise IllegalStateError("Member does not support any of the candidate protocols")

    def describe(self, *, metadata: bytes, assignment: bytes) -> DescribedGroupMember:
        """The member as an administrator sees it, with so much of its metadata and assignment.

        Source: ClassicGroupMember#describe and #describeNoMetadata (4.3.1), MemberMetadata#summary (3.9.2).
        """
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=metadata,
            member_assignment=assignment,
        )
