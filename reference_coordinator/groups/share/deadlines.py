"""What a share group waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline, MemberKey


@value
class ShareSessionKey(MemberKey):
    """A member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class FenceShareMember(MemberDeadline):
    """A member has been silent for too long."""


ShareGroupDeadline = FenceShareMember
"""What can fall due in a share group."""
