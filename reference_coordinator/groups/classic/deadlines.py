"""The timers of a classic group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.ids import GenerationId, MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class HeartbeatKey(GroupTimerKey):
    """The timer of a member's or pending member's session."""

    member_id: MemberId


@value
class JoinKey(GroupTimerKey):
    """The timer of a group's join phase."""


@value
class SyncKey(GroupTimerKey):
    """The timer within which all members of a generation must send SyncGroup."""


@value
class ExpireMemberHeartbeat(GroupDeadline):
    """The session of a member or pending member expires."""

    member_id: MemberId


@value
class TryCompleteInitialRebalance(GroupDeadline):
    """One interval of the initial rebalance delay ends."""

    delay_ms: Millis
    """The length of the interval."""
    remaining_ms: Millis
    """The time by which the delay may still be extended."""


@value
class CompleteJoin(GroupDeadline):
    """The rebalance timeout expires."""


@value
class ExpirePendingSync(GroupDeadline):
    """The time for members to send SyncGroup expires."""

    generation_id: GenerationId


ClassicGroupDeadline = ExpireMemberHeartbeat | TryCompleteInitialRebalance | CompleteJoin | ExpirePendingSync
"""Any deadline of a classic group."""
