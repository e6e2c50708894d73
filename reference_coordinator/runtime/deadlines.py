"""What the coordinator waits for, and what falls due when it has waited long enough."""

from reference_coordinator.core.ids import AppendId, GroupId, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest


@value
class GroupTimerKey:
    """Something that a group waits for; each type of group has keys of its own."""

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


@value
class BatchKey:
    """The batch in which a partition's writes are gathered."""

    partition: int


TimerKey = GroupTimerKey | OffsetExpirationKey | OperationKey | BatchKey
"""There is one deadline a key."""


@value
class GroupDeadline:
    """Something that falls due in a group; each type of group has deadlines of its own."""

    group_id: GroupId


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


@value
class FlushBatch:
    """A batch has gathered writes for long enough."""

    partition: int


Deadline = GroupDeadline | CleanUpOffsets | WriteTakesTooLong | AnswerTakesTooLong | FlushBatch
"""What can fall due."""
