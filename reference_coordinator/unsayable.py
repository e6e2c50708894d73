"""Answers that Kafka could not write down in the version that was asked for, and what it said instead.

Each is a fault of some releases: a field without a default that the version lacks, or a shape that it cannot
have, made the serialization throw, and the request was answered UNSUPPORTED_VERSION.
"""

from dataclasses import replace
from typing import Final

from reference_coordinator.classic.answers import join_error
from reference_coordinator.errors import Errors
from reference_coordinator.ids import UNKNOWN_MEMBER_ID
from reference_coordinator.messages import (
    DescribedGroup,
    DescribeGroupsResponse,
    GroupResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    RequestContext,
)
from reference_coordinator.profiles import Behaviour, Profile

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
        case DescribeGroupsResponse() if version < _FIRST_DESCRIBE_WITH_INSTANCES and profile.has(
            Behaviour.DESCRIBE_BEFORE_V4_NAMES_NO_INSTANCE
        ):
            return _described(response)
        case LeaveGroupResponse() if version < _FIRST_BATCHED_LEAVE and profile.has(
            Behaviour.LEAVE_BEFORE_V3_NEEDS_MEMBER
        ):
            has_member = len(response.members) == 1
            return response if has_member else replace(response, error_code=Errors.UNSUPPORTED_VERSION)
        case _:
            return response


def _described(response: DescribeGroupsResponse) -> DescribeGroupsResponse:
    names_instance = any(
        member.group_instance_id is not None for group in response.groups for member in group.members
    )
    if not names_instance:
        return response
    return DescribeGroupsResponse(groups=tuple(_refused(group) for group in response.groups))


def _refused(group: DescribedGroup) -> DescribedGroup:
    """Say nothing of a group but the error. Source: DescribeGroupsRequest#getErrorResponse (2.5.0)."""
    return DescribedGroup(
        error_code=Errors.UNSUPPORTED_VERSION,
        error_message=None,
        group_id=group.group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
