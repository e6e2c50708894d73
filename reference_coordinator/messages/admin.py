"""DescribeGroups, ListGroups and DeleteGroups."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    GroupId,
    GroupInstanceId,
    MemberId,
)
from reference_coordinator.core.values import value

AUTHORIZED_OPERATIONS_OMITTED: Final = -(2**31)
"""The value if it was not requested. Source: MetadataResponse.AUTHORIZED_OPERATIONS_OMITTED (4.3.1)."""


@value
class DescribeGroupsRequest:
    """A request to describe groups."""

    groups: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@value
class DescribedGroupMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str | None
    """None cannot be written on the wire."""
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@value
class DescribedGroup:
    """A group as an administrator sees it."""

    error_code: Errors
    error_message: str | None
    """In DescribeGroups v6 and later."""
    group_id: GroupId
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@value
class DescribeGroupsResponse:
    """One entry per requested group, in request order only with the Scala coordinator."""

    groups: tuple[DescribedGroup, ...]


@value
class ListGroupsRequest:
    """A request to list all groups of this coordinator; empty filters match all of them."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@value
class ListedGroup:
    """A group in a listing."""

    group_id: GroupId
    protocol_type: str
    group_state: str
    group_type: str


@value
class ListGroupsResponse:
    """The groups, in no order that Kafka promises."""

    error_code: Errors
    groups: tuple[ListedGroup, ...]


@value
class DeleteGroupsRequest:
    """A request to delete empty groups with their offsets."""

    groups_names: tuple[GroupId, ...]


@value
class DeletableGroupResult:
    """The result for one group."""

    group_id: GroupId
    error_code: Errors
    error_message: None = None
    """In DeleteGroups v3: only groups of another protocol have one."""


@value
class DeleteGroupsResponse:
    """One result per group, in no order that Kafka promises."""

    results: tuple[DeletableGroupResult, ...]
