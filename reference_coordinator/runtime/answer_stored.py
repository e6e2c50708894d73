"""Answering a request when its records are written."""

from typing_extensions import override

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import GroupRequest, GroupResponse
from reference_coordinator.runtime.append_errors import operation_error
from reference_coordinator.runtime.appends import Continuation
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.error_responses import error_response


@value
class AnswerStored(Continuation):
    """A request was to be answered when its records were written, and refused if they were not."""

    shard: CoordinatorRuntime
    token: ResponseToken
    request: GroupRequest
    response: GroupResponse

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer the request. Decided in: CoordinatorRuntime.CoordinatorWriteEvent#complete (4.3.1)."""
        response = self.response
        if error is not Errors.NONE:
            reported = operation_error(self.shard, self.request, error)
            response = error_response(self.shard, self.request, reported)
        self.shard.respond(self.token, response)
