"""The timers of the coordinator, and the deadlines that fall due when they expire."""

from reference_coordinator.core.ids import AppendId, GroupId, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest


@value
class GroupTimerKey:
    """The timer of a group. Each type of group has its own keys."""

    group_id: GroupId


@value
class OffsetExpirationKey:
    """The timer of the regular offset expiry."""

    partition: int | None
    """The partition, which the Java coordinator checks separately. None means all partitions."""


@value
class OperationKey:
    """The timer of a request or write that waits for a batch to be written."""

    awaited: ResponseToken | AppendId
    is_write: bool


@value
class BatchKey:
    """The timer of the batch that gathers a partition's writes."""

    partition: int


TimerKey = GroupTimerKey | OffsetExpirationKey | OperationKey | BatchKey
"""Any timer key. Each key has at most one deadline."""


@value
class GroupDeadline:
    """The deadline of a group. Each type of group has its own deadlines."""

    group_id: GroupId


@value
class CleanUpOffsets:
    """The regular offset expiry is due."""

    partition: int | None
    """The partition to check. None means all partitions."""


@value
class WriteTakesTooLong:
    """A write that waits for its batch times out."""

    append_id: AppendId


@value
class AnswerTakesTooLong:
    """A request that waits for the batch before it times out."""

    token: ResponseToken
    request: GroupRequest


@value
class FlushBatch:
    """The linger time of a batch ends."""

    partition: int


Deadline = GroupDeadline | CleanUpOffsets | WriteTakesTooLong | AnswerTakesTooLong | FlushBatch
"""Any deadline."""
