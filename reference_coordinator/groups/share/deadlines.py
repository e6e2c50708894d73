"""The timers of a share group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline, MemberKey
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class ShareSessionKey(MemberKey):
    """The timer of a member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class FenceShareMember(MemberDeadline):
    """A member's session expires."""


@value
class ShareInitializationKey(GroupTimerKey):
    """The timer of the share coordinator's reply."""

    state_epoch: int
    start_offsets: tuple[tuple[TopicId, tuple[tuple[int, int], ...]], ...]
    """The offsets to start reading from, by topic and partition."""


@value
class InitializeShareState(GroupDeadline):
    """The share coordinator replies that it has initialized partitions."""

    key: ShareInitializationKey


ShareGroupDeadline = FenceShareMember | InitializeShareState
"""Any deadline of a share group."""
