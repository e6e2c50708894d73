"""How share APIs say that a request failed as a whole."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.shares.messages import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareGroupStateResponse,
    ShareResponse,
    StatePartitionResult,
    StateRequest,
    StateTopicResult,
    WriteShareGroupStateRequest,
)


def _state(request: StateRequest, error: Errors) -> ShareGroupStateResponse:
    """Source: ReadShareGroupStateRequest#getErrorResponse (4.3.1)."""
    return ShareGroupStateResponse(
        results=tuple(
            StateTopicResult(
                topic_id=topic.topic_id,
                partitions=tuple(
                    StatePartitionResult(partition=each.partition, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


SHARE_ERROR_RESPONSES: Final[Mapping[type, Callable[[Any, Errors], ShareResponse]]] = MappingProxyType(
    {
        ShareFetchRequest: lambda _, error: ShareFetchResponse(error_code=error),
        ShareAcknowledgeRequest: lambda _, error: ShareAcknowledgeResponse(error_code=error),
        InitializeShareGroupStateRequest: _state,
        ReadShareGroupStateRequest: _state,
        WriteShareGroupStateRequest: _state,
        DeleteShareGroupStateRequest: _state,
        ReadShareGroupStateSummaryRequest: _state,
    }
)
"""By the type of the request, the answer that tells its error."""
