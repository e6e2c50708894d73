"""A member of a classic group."""

from collections.abc import Container
from dataclasses import dataclass

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupInstanceId, MemberId, Millis, ResponseToken
from reference_coordinator.messages import DescribedGroupMember, JoinGroupRequestProtocol


@dataclass(slots=True, kw_only=True)
class ClassicGroupMember:
    """One member, with its parked requests.

    Source: ClassicGroupMember (4.3.1), MemberMetadata (3.9.2).
    """

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str | None
    """None if the client sent none and the release does not replace null by an empty string."""
    client_host: str
    rebalance_timeout_ms: Millis
    session_timeout_ms: Millis
    protocol_type: str
    supported_protocols: tuple[JoinGroupRequestProtocol, ...]
    """In the order of the member's preference."""
    assignment: bytes = b""
    assignment_orders: tuple[bytes, ...] = ()
    """The permitted forms of an assignment that the coordinator made: its topics are in a map's order."""
    counts_as_static: bool = False
    """Whether the member stays when it misses a rebalance, although it has no instance id."""
    is_new: bool = False
    """Whether the member's first join phase has not completed yet."""
    awaiting_join: ResponseToken | None = None
    """The member's parked JoinGroup."""
    awaiting_sync: ResponseToken | None = None
    """The member's parked SyncGroup."""

    @property
    def is_static_member(self) -> bool:
        """Whether the member has a group instance id, or is treated as if it had one."""
        return self.group_instance_id is not None or self.counts_as_static

    @property
    def is_awaiting_join(self) -> bool:
        """Whether the member's JoinGroup is parked."""
        return self.awaiting_join is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether the member's SyncGroup is parked."""
        return self.awaiting_sync is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether the member's session cannot expire because it waits for a response.

        Source: ClassicGroupMember#hasSatisfiedHeartbeat (4.3.1).
        """
        if self.is_new:
            return False
        return self.is_awaiting_join or self.is_awaiting_sync

    def orders_of(self, assignment: bytes) -> tuple[bytes, ...]:
        """Return the permitted forms of the member's assignment as shown; only itself if a client made it."""
        return self.assignment_orders if assignment in self.assignment_orders else (assignment,)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for a protocol. Source: ClassicGroupMember#metadata (4.3.1).

        Raises:
            IllegalStateError: the member does not support the protocol.
        """
        for protocol in self.supported_protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise IllegalStateError("Member does not support protocol")

    def matches(self, protocols: tuple[JoinGroupRequestProtocol, ...], *, with_unknown_tags: bool) -> bool:
        """Return whether the given protocols are the member's, in the same order.

        Source: ClassicGroupMember#matches (4.3.1), MemberMetadata#matches (3.9.2).
        """
        if with_unknown_tags:
            return protocols == self.supported_protocols
        theirs = [(each.name, each.metadata) for each in protocols]
        return theirs == [(each.name, each.metadata) for each in self.supported_protocols]

    def vote(self, candidates: Container[str]) -> str:
        """Return the candidate that the member prefers. Source: ClassicGroupMember#vote (4.3.1).

        Raises:
            IllegalStateError: the member supports none of the candidates.
        """
        for protocol in self.supported_protocols:
            if protocol.name in candidates:
                return protocol.name
        raise IllegalStateError("Member does not support any of the candidate protocols")

    def describe(self, *, metadata: bytes, assignment: bytes) -> DescribedGroupMember:
        """Return the member as DescribeGroups describes it, with the given metadata and assignment.

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
