"""The timers of a streams group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class InitialRebalanceKey(GroupTimerKey):
    """The timer of a group's first assignment. Source: StreamsGroup#initialRebalanceTimeoutKey (4.3.1)."""


@value
class FenceStreamsMember(MemberDeadline):
    """A member's session expires."""


@value
class FenceUnrevokedStreamsMember(MemberDeadline):
    """A member did not revoke its tasks in time."""

    member_epoch: int
    """The member epoch in which it had to revoke them."""


@value
class ComputeDelayedAssignment(GroupDeadline):
    """The initial rebalance delay ends."""


StreamsGroupDeadline = FenceStreamsMember | FenceUnrevokedStreamsMember | ComputeDelayedAssignment
"""Any deadline of a streams group."""
