"""Going on after a write to the log, as it was said when the write was begun."""

from typing import assert_never

from reference_coordinator.classic.answers import join_error
from reference_coordinator.classic.static_members import static_member_stored
from reference_coordinator.classic.sync import assignment_stored
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, AppendId
from reference_coordinator.group import service
from reference_coordinator.group.append_errors import (
    append_group_metadata_error_to_response_error,
    operation_error,
)
from reference_coordinator.group.appends import (
    AnswerStored,
    AssignmentStored,
    Continuation,
    GroupCreated,
    GroupsDeleted,
    NobodyWaits,
    OffsetsStored,
    StaticMemberStored,
)
from reference_coordinator.group.loader import replay
from reference_coordinator.group.removal import groups_deleted
from reference_coordinator.group.shard import PendingAppend, Shard
from reference_coordinator.offsets.storing import offsets_stored
from reference_coordinator.profile.behaviours import Behaviour


def complete_append(shard: Shard, append: PendingAppend, error: Errors) -> None:
    """Let a write take effect, or undo what hangs on it, and tell who waits.

    Source: CoordinatorRuntime.CoordinatorWriteEvent#complete (4.3.1).
    """
    if error is Errors.NONE:
        shard.commit_creations(append)
        if append.replays:
            replay(shard, append.records, record_offset=append.record_offset)
    elif error is not Errors.MESSAGE_TOO_LARGE or not _keeps_new_groups(shard):
        shard.roll_back_creations(append)
    try:
        _continue(shard, append.then, error)
    except IllegalStateError:
        # Kafka's callback throws, and nobody is told.
        return


def write_takes_too_long(shard: Shard, append_id: AppendId) -> None:
    """Tell who waits for a write that it took too long, though it may still come to pass.

    Source: CoordinatorRuntime.OperationTimeout#run (3.9.2).
    """
    append = shard.pending_append(append_id)
    if append is not None:
        shard.continue_with(append_id, NobodyWaits())
        _continue(shard, append.then, Errors.REQUEST_TIMED_OUT)


def _keeps_new_groups(shard: Shard) -> bool:
    return shard.profile.has(Behaviour.TOO_LARGE_WRITE_KEEPS_NEW_GROUP)


def _continue(shard: Shard, then: Continuation, error: Errors) -> None:
    match then:
        case AssignmentStored():
            assignment_stored(shard, then, error)
        case StaticMemberStored():
            static_member_stored(shard, then, error)
        case GroupCreated():
            _group_created(shard, then, error)
        case NobodyWaits():
            return
        case _:
            _continue_with_answer(shard, then, error)


def _continue_with_answer(
    shard: Shard, then: AnswerStored | OffsetsStored | GroupsDeleted, error: Errors
) -> None:
    match then:
        case AnswerStored():
            response = then.response
            if error is not Errors.NONE:
                told = operation_error(shard, then.request, error)
                response = service.error_response(shard, then.request, told)
            shard.respond(then.token, response)
        case OffsetsStored():
            offsets_stored(shard, then, error)
        case GroupsDeleted():
            groups_deleted(shard, then, error)
        case _:
            assert_never(then)


def _group_created(shard: Shard, created: GroupCreated, error: Errors) -> None:
    """Tell who is parked in a group that could not be written.

    Source: GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1).
    """
    if error is Errors.NONE or not shard.is_open(created.join.token):
        return
    told = append_group_metadata_error_to_response_error(shard, error)
    shard.fail(created.join.token, join_error(UNKNOWN_MEMBER_ID, told))
