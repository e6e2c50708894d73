"""Going on after a write to the log, as it was said when the write was begun."""

from reference_coordinator.coordinator.loader import replay
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import AppendId
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.appends import PendingAppend


def complete_append(shard: CoordinatorShard, append: PendingAppend, error: Errors) -> None:
    """Let a write take effect, or undo what hangs on it, and tell who waits.

    Decided in: CoordinatorRuntime.CoordinatorWriteEvent#complete (4.3.1).
    """
    if error is Errors.NONE:
        shard.update_last_committed_offset(append)
        if append.result.replay_records:
            replay(shard, append.result.records, record_offset=append.record_offset)
    elif error is not Errors.MESSAGE_TOO_LARGE or not _keeps_new_groups(shard):
        shard.revert_uncommitted(append)
    if append.then is None:
        return
    try:
        append.then.append_completed(error)
    except IllegalStateError:
        # Kafka's callback throws, and nobody is told.
        return


def write_takes_too_long(shard: CoordinatorShard, append_id: AppendId) -> None:
    """Tell who waits for a write that it took too long, though it may still come to pass.

    Decided in: CoordinatorRuntime.OperationTimeout#run (3.9.2).
    """
    event = shard.give_up_append(append_id)
    if event is not None:
        event.append_completed(Errors.REQUEST_TIMED_OUT)


def _keeps_new_groups(shard: CoordinatorShard) -> bool:
    return shard.profile.has(Behaviour.TOO_LARGE_WRITE_KEEPS_NEW_GROUP)
