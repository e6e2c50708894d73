"""The timers of a share group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline, MemberKey


@value
class ShareSessionKey(MemberKey):
    """The timer of a member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class FenceShareMember(MemberDeadline):
    """A member's session expires."""


ShareGroupDeadline = FenceShareMember
"""Any deadline of a share group."""
