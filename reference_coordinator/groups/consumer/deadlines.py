"""What a consumer group waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class MemberKey(GroupTimerKey):
    """Something that a member has time for."""

    member_id: MemberId


@value
class SessionKey(MemberKey):
    """A member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class RebalanceKey(MemberKey):
    """A member's time to give up partitions.

    Source: GroupMetadataManager#groupRebalanceTimeoutKey (4.3.1).
    """


@value
class ConsumerJoinKey(MemberKey):
    """A classic member's time to rejoin. Source: GroupMetadataManager#consumerGroupJoinKey (4.3.1)."""


@value
class ConsumerSyncKey(MemberKey):
    """A classic member's time to sync. Source: GroupMetadataManager#consumerGroupSyncKey (4.3.1)."""


@value
class RegexKey(GroupTimerKey):
    """The resolution of a group's regular expressions."""


@value
class MemberDeadline(GroupDeadline):
    """A member has had its time; what follows depends on the type of its group."""

    key: MemberKey

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class FenceMember(MemberDeadline):
    """A member has been silent, or has not rejoined or synced, for too long."""


@value
class FenceUnrevokedMember(MemberDeadline):
    """A member has not given up its partitions in time."""

    member_epoch: int
    """The epoch in which it was told to."""


@value
class ResolveRegularExpressions(GroupDeadline):
    """Kafka's executor has looked through the topics."""

    regexes: tuple[str, ...]
    scheduled_ms: Millis


ConsumerGroupDeadline = FenceMember | FenceUnrevokedMember | ResolveRegularExpressions
"""What can fall due in a consumer group."""
