"""A batch in which the Java coordinator gathers writes: who waits for it, and for how long.

From 3.8 on a batch is written when it is full, or after `group.coordinator.append.linger.ms`. Until
KAFKA-19760 a write that fits into none was refused after a batch had been made for it; the batch stayed, and
without a linger nothing but its being full closed it again. Requests that write nothing are answered when all
before them is written, so they wait for it too.

Source: CoordinatorRuntime#append and #maybeFlushCurrentBatch (3.9.2, 4.3.1).
"""

from collections.abc import Iterable
from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    GroupRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.append_errors import operation_error
from reference_coordinator.runtime.appends import OpenBatch
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.deadlines import AnswerTakesTooLong, BatchKey, FlushBatch, OperationKey
from reference_coordinator.runtime.error_responses import error_response

_RESULTS_OF_HEARTBEAT: Final = (Errors.NONE, Errors.REBALANCE_IN_PROGRESS)


def wait_for_open_batch(shard: CoordinatorRuntime, request: GroupRequest, token: ResponseToken) -> None:
    """Hold the answer to a request back if a batch is open before it, for as long as a write may take.

    What Kafka throws is told at once. So is what JoinGroup and SyncGroup are told, which have futures of
    their own; but while they have no answer they time out like everybody else.
    """
    if not shard.open_batches or _reads(request):
        return
    batch = _batch_before(shard, _group_ids(request))
    if batch is None or not (batch.writes or shard.profile.has(Behaviour.EMPTY_BATCH_HOLDS_ANSWERS)):
        return
    if not isinstance(request, JoinGroupRequest | SyncGroupRequest):
        answer = shard.take_back(token, _is_result)
        if answer is not None:
            batch.answers.append(answer)
    if shard.is_open(token):
        batch.waiting.append(token)
        shard.timers.schedule(
            OperationKey(awaited=token, is_write=False),
            shard.now_ms + shard.config.offsets_commit_timeout_ms,
            AnswerTakesTooLong(token=token, request=request),
        )


def answer_takes_too_long(shard: CoordinatorRuntime, due: AnswerTakesTooLong) -> None:
    """Tell a request that what it waited for did not come in time.

    Decided in: CoordinatorRuntime.OperationTimeout#run (3.9.2).
    """
    for batch in shard.open_batches.values():
        batch.answers[:] = (each for each in batch.answers if each.token != due.token)
    reported = operation_error(shard, due.request, Errors.REQUEST_TIMED_OUT)
    shard.fail(due.token, error_response(shard, due.request, reported))


def linger_is_over(shard: CoordinatorRuntime, due: FlushBatch) -> None:
    """Write a batch; what waits for one without a write fails, as nothing is a number of the log's.

    Decided in: CoordinatorRuntime#flushCurrentBatch,
    SnapshottableCoordinator#updateLastWrittenOffset (3.9.2).
    """
    if shard.open_batches[due.partition].writes:
        shard.flush_current_batch(due.partition)
    else:
        fail_current_batch(shard, due.partition, Errors.UNKNOWN_SERVER_ERROR)


def fail_current_batch(shard: CoordinatorRuntime, partition: int, error: Errors) -> None:
    """End a batch without writing it.

    Source: CoordinatorRuntime.CoordinatorContext#failCurrentBatch (3.9.2).
    """
    batch = shard.open_batches.pop(partition, None)
    shard.timers.cancel(BatchKey(partition=partition))
    if batch is None:
        return
    held = {answer.token for answer in batch.answers}
    for token in batch.waiting:
        key = OperationKey(awaited=token, is_write=False)
        waits = shard.timers.deadline_of(key)
        if isinstance(waits, AnswerTakesTooLong):
            shard.timers.cancel(key)
            reported = operation_error(shard, waits.request, error)
            end = shard.respond if token in held else shard.fail
            end(token, error_response(shard, waits.request, reported))


def _reads(request: GroupRequest) -> bool:
    """Whether a request asks for what is written, and waits for nothing."""
    match request:
        case DescribeGroupsRequest() | ListGroupsRequest():
            return True
        case OffsetFetchRequest():
            return not request.require_stable
        case _:
            return False


def _group_ids(request: GroupRequest) -> Iterable[GroupId]:
    match request:
        case OffsetFetchRequest():
            return (each.group_id for each in request.groups)
        case DeleteGroupsRequest():
            return request.groups_names
        case DescribeGroupsRequest() | ListGroupsRequest():
            raise AssertionError("these read what is written")
        case _:
            return (request.group_id,)


def _batch_before(shard: CoordinatorRuntime, group_ids: Iterable[GroupId]) -> OpenBatch | None:
    batches = (shard.open_batches.get(shard.partition_for(each)) for each in group_ids)
    return next((batch for batch in batches if batch is not None), None)


def _is_result(response: object) -> bool:
    """Whether an answer is an operation's result, and not what it threw."""
    match response:
        case HeartbeatResponse():
            return response.error_code in _RESULTS_OF_HEARTBEAT
        case LeaveGroupResponse() | OffsetDeleteResponse():
            return response.error_code is Errors.NONE
        case DeleteGroupsResponse() | OffsetFetchResponse():
            return True
        case OffsetCommitResponse() | TxnOffsetCommitResponse():
            codes = {each.error_code for topic in response.topics for each in topic.partitions}
            return codes <= {Errors.OFFSET_METADATA_TOO_LARGE}
        case _:
            return False
