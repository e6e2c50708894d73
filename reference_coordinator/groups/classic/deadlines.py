"""What a classic group waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import GenerationId, MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class HeartbeatKey(GroupTimerKey):
    """A member's or pending member's session."""

    member_id: MemberId


@value
class JoinKey(GroupTimerKey):
    """A group's join phase."""


@value
class SyncKey(GroupTimerKey):
    """A generation's wait for everybody's SyncGroup."""


@value
class ExpireMemberHeartbeat(GroupDeadline):
    """The session of a member, or of an id given out, is over."""

    member_id: MemberId


@value
class TryCompleteInitialRebalance(GroupDeadline):
    """A stretch of the initial delay is over."""

    delay_ms: Millis
    """How long the stretch was."""
    remaining_ms: Millis
    """How much longer the delay may become."""


@value
class CompleteJoin(GroupDeadline):
    """The rebalance timeout is over."""


@value
class ExpirePendingSync(GroupDeadline):
    """Somebody did not sync in time."""

    generation_id: GenerationId


ClassicGroupDeadline = ExpireMemberHeartbeat | TryCompleteInitialRebalance | CompleteJoin | ExpirePendingSync
"""What can fall due in a classic group."""
