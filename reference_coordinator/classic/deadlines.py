"""What the coordinator waits for, and what falls due when it has waited long enough."""

from dataclasses import dataclass

from reference_coordinator.ids import GenerationId, GroupId, MemberId, Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatKey:
    """A member's or pending member's session."""

    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinKey:
    """A group's join phase."""

    group_id: GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncKey:
    """A generation's wait for everybody's SyncGroup."""

    group_id: GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetExpirationKey:
    """The regular look for offsets to expire."""


TimerKey = HeartbeatKey | JoinKey | SyncKey | OffsetExpirationKey
"""There is one deadline a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireMemberHeartbeat:
    """The session of a member, or of an id given out, is over."""

    group_id: GroupId
    member_id: MemberId


@dataclass(frozen=True, slots=True, kw_only=True)
class TryCompleteInitialRebalance:
    """A stretch of the initial delay is over."""

    group_id: GroupId
    delay_ms: Millis
    """How long the stretch was."""
    remaining_ms: Millis
    """How much longer the delay may become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteJoin:
    """The rebalance timeout is over."""

    group_id: GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirePendingSync:
    """Somebody did not sync in time."""

    group_id: GroupId
    generation_id: GenerationId


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUpOffsets:
    """It is time to look for offsets to expire."""


Deadline = (
    ExpireMemberHeartbeat | TryCompleteInitialRebalance | CompleteJoin | ExpirePendingSync | CleanUpOffsets
)
"""What can fall due."""
