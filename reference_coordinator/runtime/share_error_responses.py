"""The responses of share group APIs to requests that are refused as a whole."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupDescribeResponseGroup,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    ShareGroupRequest,
    ShareGroupResponse,
)

_TEXTS: Final[Mapping[Errors, str]] = MappingProxyType(
    {
        Errors.UNSUPPORTED_VERSION: "The version of API is not supported.",
        Errors.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
        Errors.INVALID_GROUP_ID: "The group id is invalid.",
        Errors.NOT_COORDINATOR: "This is not the correct coordinator.",
        Errors.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
        Errors.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
        Errors.NON_EMPTY_GROUP: "The group is not empty.",
    }
)
"""Kafka's default messages, for errors without a message. Source: Errors (4.3.1)."""


def default_message(error: Errors) -> str | None:
    """Return Kafka's default message of an error, None if no share group API needs it here.

    Decided in: Errors#message (4.3.1).
    """
    return _TEXTS.get(error)


def share_error_response(
    request: ShareGroupRequest, error: Errors, message: str | None = None
) -> ShareGroupResponse:
    """Return the response to a request that is refused as a whole.

    Decided in: AlterShareGroupOffsetsRequest#getErrorResponseData,
    DeleteShareGroupOffsetsRequest#getErrorDeleteResponseData,
    ShareGroupDescribeRequest#getErrorDescribedGroupList (4.3.1).
    """
    text = message or default_message(error)
    match request:
        case ShareGroupHeartbeatRequest():
            return ShareGroupHeartbeatResponse(error_code=error, error_message=message)
        case ShareGroupDescribeRequest():
            groups = (
                ShareGroupDescribeResponseGroup(error_code=error, group_id=each) for each in request.group_ids
            )
            return ShareGroupDescribeResponse(groups=tuple(groups))
        case DescribeShareGroupOffsetsRequest():
            refused = (
                DescribeShareGroupOffsetsResponseGroup(group_id=each.group_id, error_code=error)
                for each in request.groups
            )
            return DescribeShareGroupOffsetsResponse(groups=tuple(refused))
        case AlterShareGroupOffsetsRequest():
            return AlterShareGroupOffsetsResponse(error_code=error, error_message=text)
        case DeleteShareGroupOffsetsRequest():
            return DeleteShareGroupOffsetsResponse(error_code=error, error_message=text)
        case _:
            assert_never(request)
