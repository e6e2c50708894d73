"""What a streams group waits for."""

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import RebalanceKey, SessionKey
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class InitialRebalanceKey(GroupTimerKey):
    """The first assignment of a group. Source: StreamsGroup#initialRebalanceTimeoutKey (4.3.1)."""


@value
class FenceStreamsMember(GroupDeadline):
    """A member has been silent for too long."""

    key: SessionKey

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class FenceUnrevokedStreamsMember(GroupDeadline):
    """A member has not given up its tasks in time."""

    key: RebalanceKey
    member_epoch: int
    """The epoch in which it was told to."""

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class ComputeDelayedAssignment(GroupDeadline):
    """The first members have had time to join."""


StreamsGroupDeadline = FenceStreamsMember | FenceUnrevokedStreamsMember | ComputeDelayedAssignment
"""What can fall due in a streams group."""
