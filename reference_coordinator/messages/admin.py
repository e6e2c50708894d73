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
"""Stands where nobody asked. Source: MetadataResponse.AUTHORIZED_OPERATIONS_OMITTED (4.3.1)."""


@value
class DescribeGroupsRequest:
    """Asks what the coordinator knows of some groups."""

    groups: tuple[GroupId, ...]
    include_authorized_operations: bool = False


@value
class DescribedGroupMember:
    """A member as an administrator sees it."""

    member_id: MemberId
    group_instance_id: GroupInstanceId | None
    client_id: str | None
    """None cannot be written down."""
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@value
class DescribedGroup:
    """A group as an administrator sees it."""

    error_code: Errors
    error_message: str | None
    """DescribeGroups v6 and later."""
    group_id: GroupId
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@value
class DescribeGroupsResponse:
    """One entry a requested group, in an order that only the Scala coordinator takes from the request."""

    groups: tuple[DescribedGroup, ...]


@value
class ListGroupsRequest:
    """Asks for all groups of this coordinator; empty filters let everything pass."""

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
    """Asks that empty groups, with their offsets, be forgotten."""

    groups_names: tuple[GroupId, ...]


@value
class DeletableGroupResult:
    """How it went for one group."""

    group_id: GroupId
    error_code: Errors
    error_message: None = None
    """DeleteGroups v3: only groups of another protocol have one."""


@value
class DeleteGroupsResponse:
    """One result a group, in no order that Kafka promises."""

    results: tuple[DeletableGroupResult, ...]
