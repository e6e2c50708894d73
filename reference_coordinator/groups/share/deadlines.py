"""What a share group waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.values import value
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class ShareSessionKey(GroupTimerKey):
    """A member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""

    member_id: MemberId


@value
class FenceShareMember(GroupDeadline):
    """A member has been silent for too long."""

    key: ShareSessionKey


ShareGroupDeadline = FenceShareMember
"""What can fall due in a share group."""
