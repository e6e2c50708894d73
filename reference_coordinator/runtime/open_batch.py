"""The batch in which the Java coordinator gathers writes, and the requests that wait for it.

From 3.8 on a batch is written when it is full, or after `group.coordinator.append.linger.ms`. Until
KAFKA-19760, a write that does not fit into any batch was refused after a batch had been allocated for it. The
batch remained, and without a linger time it was closed only when it was full. Requests that write nothing are
answered when everything before them is written, so they wait for the batch too.

Source: CoordinatorRuntime#append and #maybeFlushCurrentBatch (3.9.2, 4.3.1).
"""

from collections.abc import Iterable

from reference_coordinator import messages
from reference_coordinator.core.effects import Permitted, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.messages.share_groups import (
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.append_errors import operation_error
from reference_coordinator.runtime.appends import OpenBatch
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.deadlines import AnswerTakesTooLong, BatchKey, FlushBatch, OperationKey
from reference_coordinator.runtime.error_responses import error_response


def respond_when_written(
    shard: CoordinatorRuntime,
    request: messages.GroupRequest,
    token: ResponseToken,
    response: messages.GroupResponse | None,
    permitted: tuple[Permitted, ...] = (),
) -> None:
    """Answer a request when the open batch is written, or immediately if there is none.

    An operation that answers itself, like JoinGroup and SyncGroup, gets the timeout of a write as well.

    Decided in: CoordinatorRuntime.CoordinatorContext#append (4.3.1).
    """
    batch = _batch_before(shard, request) if shard.open_batches and shard.is_open(token) else None
    if batch is None or not (batch.writes or shard.profile.has(Behaviour.EMPTY_BATCH_DELAYS_ANSWERS)):
        if response is not None:
            shard.respond(token, response, permitted)
        return
    if response is not None:
        batch.answers.append(Respond(token=token, response=response, permitted=permitted))
    batch.waiting.append(token)
    shard.timers.schedule(
        OperationKey(awaited=token, is_write=False),
        shard.now_ms + shard.config.offsets_commit_timeout_ms,
        AnswerTakesTooLong(token=token, request=request),
    )


def answer_takes_too_long(shard: CoordinatorRuntime, due: AnswerTakesTooLong) -> None:
    """Fail a request because the batch that it waited for was not written in time.

    Decided in: CoordinatorRuntime.OperationTimeout#run (3.9.2).
    """
    for batch in shard.open_batches.values():
        batch.answers[:] = (each for each in batch.answers if each.token != due.token)
    reported = operation_error(shard, due.request, Errors.REQUEST_TIMED_OUT)
    shard.fail(due.token, error_response(shard, due.request, reported))


def linger_is_over(shard: CoordinatorRuntime, due: FlushBatch) -> None:
    """Write a batch. If it has no writes, fail the requests that wait for it, as it has no log offset.

    Decided in: CoordinatorRuntime#flushCurrentBatch,
    SnapshottableCoordinator#updateLastWrittenOffset (3.9.2).
    """
    if shard.open_batches[due.partition].writes:
        shard.flush_current_batch(due.partition)
    else:
        fail_current_batch(shard, due.partition, Errors.UNKNOWN_SERVER_ERROR)


def fail_current_batch(shard: CoordinatorRuntime, partition: int, error: Errors) -> None:
    """Discard a batch and fail the requests that wait for it.

    Source: CoordinatorRuntime.CoordinatorContext#failCurrentBatch (3.9.2).
    """
    batch = shard.open_batches.pop(partition, None)
    shard.timers.cancel(BatchKey(partition=partition))
    if batch is None:
        return
    waiting = {answer.token for answer in batch.answers}
    for token in batch.waiting:
        key = OperationKey(awaited=token, is_write=False)
        waits = shard.timers.deadline_of(key)
        if isinstance(waits, AnswerTakesTooLong):
            shard.timers.cancel(key)
            reported = operation_error(shard, waits.request, error)
            end = shard.respond if token in waiting else shard.fail
            end(token, error_response(shard, waits.request, reported))


def group_ids_of(request: messages.GroupRequest) -> Iterable[GroupId]:
    """Return the groups whose partitions a request writes to, or waits for."""
    match request:
        case messages.OffsetFetchRequest():
            return (each.group_id for each in request.groups)
        case messages.DeleteGroupsRequest():
            return request.groups_names
        case (
            messages.DescribeGroupsRequest()
            | messages.ListGroupsRequest()
            | messages.ConsumerGroupDescribeRequest()
            | ShareGroupDescribeRequest()
            | DescribeShareGroupOffsetsRequest()
            | messages.StreamsGroupDescribeRequest()
        ):
            raise AssertionError("these read what is committed, and are answered at once")
        case _:
            return (request.group_id,)


def _batch_before(shard: CoordinatorRuntime, request: messages.GroupRequest) -> OpenBatch | None:
    batches = (shard.open_batches.get(shard.partition_for(each)) for each in group_ids_of(request))
    return next((batch for batch in batches if batch is not None), None)
