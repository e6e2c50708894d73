"""Answers that Kafka could not write down in the version that was asked for, and what it said instead.

Each is a fault of some releases: a field without a default that the version lacks, a shape that it cannot
have, or a null where none may be made the serialization throw, and the request was answered with an error.
"""

from dataclasses import replace
from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID
from reference_coordinator.messages import (
    DescribedGroup,
    DescribeGroupsResponse,
    GroupResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    RequestContext,
)
from reference_coordinator.profile.profiles import Behaviour, Profile
from reference_coordinator.runtime.error_responses import join_error

_FIRST_JOIN_WITH_INSTANCES: Final = 5
_FIRST_DESCRIBE_WITH_INSTANCES: Final = 4
_FIRST_BATCHED_LEAVE: Final = 3


def as_far_as_sayable(response: GroupResponse, context: RequestContext, profile: Profile) -> GroupResponse:
    """Return the response, or the refusal that a release sends where it fails to write it.

    Kafka fails while it answers the whole group, so members that come after may go without an answer; which,
    hangs on the order of a hash map. Here they are answered.
    """
    version = context.api_version
    match response:
        case JoinGroupResponse() if version < _FIRST_JOIN_WITH_INSTANCES and profile.has(
            Behaviour.JOIN_BEFORE_V5_NAMES_NO_INSTANCE
        ):
            names_instance = any(member.group_instance_id is not None for member in response.members)
            return join_error(UNKNOWN_MEMBER_ID, Errors.UNSUPPORTED_VERSION) if names_instance else response
        case DescribeGroupsResponse() if _names_null_client(response):
            return _described_as(response, Errors.UNKNOWN_SERVER_ERROR, profile)
        case DescribeGroupsResponse() if version < _FIRST_DESCRIBE_WITH_INSTANCES and profile.has(
            Behaviour.DESCRIBE_BEFORE_V4_NAMES_NO_INSTANCE
        ):
            return _described(response, profile)
        case LeaveGroupResponse() if version < _FIRST_BATCHED_LEAVE and profile.has(
            Behaviour.LEAVE_BEFORE_V3_NEEDS_MEMBER
        ):
            has_member = len(response.members) == 1
            return response if has_member else replace(response, error_code=Errors.UNSUPPORTED_VERSION)
        case _:
            return response


def _described(response: DescribeGroupsResponse, profile: Profile) -> DescribeGroupsResponse:
    names_instance = any(
        member.group_instance_id is not None for group in response.groups for member in group.members
    )
    return _described_as(response, Errors.UNSUPPORTED_VERSION, profile) if names_instance else response


def _names_null_client(response: DescribeGroupsResponse) -> bool:
    return any(member.client_id is None for group in response.groups for member in group.members)


def _described_as(
    response: DescribeGroupsResponse, error: Errors, profile: Profile
) -> DescribeGroupsResponse:
    omits = profile.has(Behaviour.AUTHORIZED_OPERATIONS_OMITTED)
    refused = (_refused(group, error) for group in response.groups)
    return DescribeGroupsResponse(
        groups=tuple(each if omits else replace(each, authorized_operations=0) for each in refused)
    )


def _refused(group: DescribedGroup, error: Errors) -> DescribedGroup:
    """Say nothing of a group but the error. Source: DescribeGroupsRequest#getErrorResponse (2.5.0)."""
    return DescribedGroup(
        error_code=error,
        error_message=None,
        group_id=group.group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
