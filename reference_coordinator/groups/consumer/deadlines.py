"""The timers of a consumer group, and the deadlines that fall due when they expire."""

from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.messages import RequestContext
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


@value
class MemberKey(GroupTimerKey):
    """A timer of a member."""

    member_id: MemberId


@value
class SessionKey(MemberKey):
    """The timer of a member's session. Source: GroupMetadataManager#groupSessionTimeoutKey (4.3.1)."""


@value
class RebalanceKey(MemberKey):
    """The timer within which a member must revoke partitions.

    Source: GroupMetadataManager#groupRebalanceTimeoutKey (4.3.1).
    """


@value
class ConsumerJoinKey(MemberKey):
    """The timer of a classic member to rejoin. Source: GroupMetadataManager#consumerGroupJoinKey (4.3.1)."""


@value
class ConsumerSyncKey(MemberKey):
    """The timer of a classic member to sync. Source: GroupMetadataManager#consumerGroupSyncKey (4.3.1)."""


@value
class RegexKey(GroupTimerKey):
    """The timer of the resolution of a group's regular expressions."""


@value
class MemberDeadline(GroupDeadline):
    """A member's timer expires. The consequence depends on the type of the group."""

    key: MemberKey

    @property
    def member_id(self) -> MemberId:
        """The member."""
        return self.key.member_id


@value
class FenceMember(MemberDeadline):
    """A member's session expires, or it did not rejoin or sync in time."""


@value
class FenceUnrevokedMember(MemberDeadline):
    """A member did not revoke its partitions in time."""

    member_epoch: int
    """The member epoch in which it had to revoke them."""


@value
class ResolveRegularExpressions(GroupDeadline):
    """Kafka's executor has matched the regular expressions with the topics."""

    regexes: tuple[str, ...]
    scheduled_ms: Millis
    context: RequestContext
    """The context of the request that asked for it."""


ConsumerGroupDeadline = FenceMember | FenceUnrevokedMember | ResolveRegularExpressions
"""Any deadline of a consumer group."""
