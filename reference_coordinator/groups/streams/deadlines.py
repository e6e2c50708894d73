"""What a streams group waits for."""

from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class InitialRebalanceKey(GroupTimerKey):
    """The first assignment of a group. Source: StreamsGroup#initialRebalanceTimeoutKey (4.3.1)."""


@value
class FenceStreamsMember(MemberDeadline):
    """A member has been silent for too long."""


@value
class FenceUnrevokedStreamsMember(MemberDeadline):
    """A member has not given up its tasks in time."""

    member_epoch: int
    """The epoch in which it was told to."""


@value
class ComputeDelayedAssignment(GroupDeadline):
    """The first members have had time to join."""


StreamsGroupDeadline = FenceStreamsMember | FenceUnrevokedStreamsMember | ComputeDelayedAssignment
"""What can fall due in a streams group."""
