"""What the coordinator waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import AppendId, GenerationId, GroupId, MemberId, Millis, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest


@value
class HeartbeatKey:
    """A member's or pending member's session."""

    group_id: GroupId
    member_id: MemberId


@value
class JoinKey:
    """A group's join phase."""

    group_id: GroupId


@value
class SyncKey:
    """A generation's wait for everybody's SyncGroup."""

    group_id: GroupId


@value
class OffsetExpirationKey:
    """The regular look for offsets to expire."""

    partition: int | None
    """The Java coordinator looks at each partition by itself; None stands for all of them."""


@value
class OperationKey:
    """A request, or else a write, that waits for a batch to be written."""

    awaited: ResponseToken | AppendId
    is_write: bool


TimerKey = HeartbeatKey | JoinKey | SyncKey | OffsetExpirationKey | OperationKey
"""There is one deadline a key."""


@value
class ExpireMemberHeartbeat:
    """The session of a member, or of an id given out, is over."""

    group_id: GroupId
    member_id: MemberId


@value
class TryCompleteInitialRebalance:
    """A stretch of the initial delay is over."""

    group_id: GroupId
    delay_ms: Millis
    """How long the stretch was."""
    remaining_ms: Millis
    """How much longer the delay may become."""


@value
class CompleteJoin:
    """The rebalance timeout is over."""

    group_id: GroupId


@value
class ExpirePendingSync:
    """Somebody did not sync in time."""

    group_id: GroupId
    generation_id: GenerationId


@value
class CleanUpOffsets:
    """It is time to look for offsets to expire."""

    partition: int | None
    """Where; None stands for all partitions."""


@value
class WriteTakesTooLong:
    """A write has waited long enough for its batch."""

    append_id: AppendId


@value
class AnswerTakesTooLong:
    """A request has waited long enough for the batch before it."""

    token: ResponseToken
    request: GroupRequest


Deadline = (
    ExpireMemberHeartbeat
    | TryCompleteInitialRebalance
    | CompleteJoin
    | ExpirePendingSync
    | CleanUpOffsets
    | WriteTakesTooLong
    | AnswerTakesTooLong
)
"""What can fall due."""
