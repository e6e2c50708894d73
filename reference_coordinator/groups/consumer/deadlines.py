"""What a consumer group waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class SessionKey(GroupTimerKey):
    """A member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""

    member_id: MemberId


@value
class RebalanceKey(GroupTimerKey):
    """A member's time to give up partitions.

    Source: GroupMetadataManager#groupRebalanceTimeoutKey (4.3.1).
    """

    member_id: MemberId


@value
class ConsumerJoinKey(GroupTimerKey):
    """A classic member's time to rejoin. Source: GroupMetadataManager#consumerGroupJoinKey (4.3.1)."""

    member_id: MemberId


@value
class ConsumerSyncKey(GroupTimerKey):
    """A classic member's time to sync. Source: GroupMetadataManager#consumerGroupSyncKey (4.3.1)."""

    member_id: MemberId


@value
class RegexKey(GroupTimerKey):
    """The resolution of a group's regular expressions."""


@value
class FenceMember(GroupDeadline):
    """A member has been silent, or has not rejoined or synced, for too long."""

    key: SessionKey | ConsumerJoinKey | ConsumerSyncKey

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class FenceUnrevokedMember(GroupDeadline):
    """A member has not given up its partitions in time."""

    key: RebalanceKey
    member_epoch: int
    """The epoch in which it was told to."""

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class ResolveRegularExpressions(GroupDeadline):
    """Kafka's executor has looked through the topics."""

    regexes: tuple[str, ...]
    scheduled_ms: Millis


ConsumerGroupDeadline = FenceMember | FenceUnrevokedMember | ResolveRegularExpressions
"""What can fall due in a consumer group."""
