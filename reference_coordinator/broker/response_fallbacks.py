"""Answers that Kafka cannot write in the requested version, and the errors that it sends instead.

Each is a fault of some releases: the serialization throws because of a field without a default that the
version lacks, a structure that it does not support, or a null that is not allowed.
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
    """Return the response, or the error that a release sends if it cannot write the response.

    Kafka fails while it answers all members of a group, so later members may get no answer. Which members
    these are depends on the order of a hash map. Here they are answered.
    """
    version = context.api_version
    match response:
        case JoinGroupResponse() if version < _FIRST_JOIN_WITH_INSTANCES and profile.has(
            Behaviour.JOIN_BEFORE_V5_NAMES_NO_INSTANCE
        ):
            names_instance = any(member.group_instance_id is not None for member in response.members)
            return join_error(UNKNOWN_MEMBER_ID, Errors.UNSUPPORTED_VERSION) if names_instance else response
        case JoinGroupResponse(protocol_name="") if profile.has(Behaviour.EMPTY_PROTOCOL_NAME_IS_NULL):
            return replace(response, protocol_name=None)
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
    """Describe a group by the error alone. Source: DescribeGroupsRequest#getErrorResponse (2.5.0)."""
    return DescribedGroup(
        error_code=error,
        error_message=None,
        group_id=group.group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
