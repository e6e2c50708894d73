"""The path of a request from its operation's result to its answer. Only this code writes for a request."""

from typing_extensions import override

from reference_coordinator.core.effects import Producer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest, GroupResponse
from reference_coordinator.runtime.append_errors import operation_error
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.error_responses import error_response
from reference_coordinator.runtime.open_batch import group_ids_of, respond_when_written


@value
class CoordinatorWriteEvent(Continuation):
    """A request whose write is in progress. Source: CoordinatorRuntime.CoordinatorWriteEvent (4.3.1)."""

    shard: CoordinatorRuntime
    token: ResponseToken
    request: GroupRequest
    result: CoordinatorResult[GroupResponse]

    @override
    def append_completed(self, error: Errors) -> None:
        """Run the operation's own continuation, then answer or refuse the request.

        Decided in: CoordinatorRuntime.CoordinatorWriteEvent#complete (4.3.1).
        """
        if self.result.append_future is not None:
            self.result.append_future.append_completed(error)
        response = self.result.response
        if response is None:
            return
        if error is not Errors.NONE:
            reported = operation_error(self.shard, self.request, error)
            response = error_response(self.shard, self.request, reported)
        self.shard.respond(self.token, response)


def complete_operation(
    shard: CoordinatorRuntime,
    request: GroupRequest,
    token: ResponseToken,
    result: CoordinatorResult[GroupResponse],
    *,
    producer: Producer | None = None,
) -> None:
    """Write the records of a request's operation. Answer when these, or all before the request, are written.

    Decided in: CoordinatorRuntime.CoordinatorWriteEvent#run, CoordinatorRuntime.CoordinatorContext#append
    (4.3.1).
    """
    if not result.records:
        respond_when_written(shard, request, token, result.response, result.permitted)
        return
    event = CoordinatorWriteEvent(shard=shard, token=token, request=request, result=result)
    group_id = next(iter(group_ids_of(request)))
    shard.append(group_id, result, event, producer=producer)
    respond_when_written(shard, request, token, None)
