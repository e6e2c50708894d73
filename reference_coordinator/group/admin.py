"""DescribeGroups and ListGroups: the groups as an administrator sees them."""

from typing import Final

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.member import ClassicGroupMember
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.java import trim
from reference_coordinator.core.map_order import partitions_in_java_hash_map_order
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily

_MISSING_GROUP_NAMED_SINCE: Final = 6
_GROUP_TYPE: Final = "classic"
_OPERATIONS_OMITTED: Final = -(2**31)
_READ_DESCRIBE_DELETE: Final = 1 << 3 | 1 << 8 | 1 << 6
"""The bits of AclOperation's codes."""
_DESCRIBE_AND_ALTER_CONFIGS: Final = 1 << 10 | 1 << 11


def describe_groups(
    shard: Shard, request: DescribeGroupsRequest, *, api_version: int
) -> tuple[DescribedGroup, ...]:
    """What the coordinator knows of each group that was asked for.

    Source: GroupMetadataManager#describeGroups (4.3.1), GroupCoordinator#handleDescribeGroup (3.9.2).
    """
    return tuple(
        _describe_group(shard, request, group_id, api_version=api_version)
        for group_id in in_answer_order(shard, request.groups)
    )


def in_answer_order(shard: Shard, group_ids: tuple[GroupId, ...]) -> tuple[GroupId, ...]:
    """Groups in the order in which they are described.

    Source: GroupCoordinatorService#describeGroups (4.3.1), which asks partition by partition, in the
    order of a hash map.
    """
    if shard.profile.coordinator is CoordinatorFamily.SCALA:
        return group_ids
    partitions = [shard.partition_for(each) for each in group_ids]
    return tuple(
        group_id
        for partition in partitions_in_java_hash_map_order(partitions)
        for group_id, of_partition in zip(group_ids, partitions, strict=True)
        if of_partition == partition
    )


def _describe_group(
    shard: Shard, request: DescribeGroupsRequest, group_id: GroupId, *, api_version: int
) -> DescribedGroup:
    try:
        shard.throw_if_not_active(group_id)
    except CoordinatorError as refusal:
        return _described(shard, group_id, state="", error=refusal.error)
    group = shard.committed_group(group_id)
    if group is None and api_version >= _MISSING_GROUP_NAMED_SINCE:
        message = f"Group {group_id} not found."
        error = Errors.GROUP_ID_NOT_FOUND
        return _described(shard, group_id, state="Dead", error=error, message=message)
    operations = _operations(shard, asked_for=request.include_authorized_operations)
    if group is None:
        return _described(shard, group_id, state="Dead", operations=operations)
    is_stable = group.state is ClassicGroupState.STABLE
    return _described(
        shard,
        group_id,
        state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=tuple(_describe_member(shard, group, each) for each in group.members.values()),
        operations=operations,
    )


def _describe_member(shard: Shard, group: ClassicGroup, member: ClassicGroupMember) -> DescribedGroupMember:
    """Source: ClassicGroupMember#describe (4.3.1), MemberMetadata#summary (3.9.2)."""
    is_stable = group.state is ClassicGroupState.STABLE
    shows = is_stable or shard.profile.has(Behaviour.DESCRIBE_SHOWS_ASSIGNMENT_IN_REBALANCE)
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
        member_assignment=member.assignment if shows else b"",
    )


def describe_error(shard: Shard, request: DescribeGroupsRequest, error: Errors) -> tuple[DescribedGroup, ...]:
    """A description refused, with no state at all.

    Source: DescribeGroupsRequest#getErrorDescribedGroupList (4.3.1).
    """
    group_ids = in_answer_order(shard, request.groups)
    return tuple(_described(shard, each, state="", error=error) for each in group_ids)


def _described(
    shard: Shard,
    group_id: GroupId,
    *,
    state: str,
    protocol_type: str = "",
    protocol_data: str = "",
    members: tuple[DescribedGroupMember, ...] = (),
    error: Errors = Errors.NONE,
    message: str | None = None,
    operations: int | None = None,
) -> DescribedGroup:
    omitted = _operations(shard, asked_for=False)
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
        authorized_operations=omitted if operations is None else operations,
    )


def _operations(shard: Shard, *, asked_for: bool) -> int:
    """Source: AclEntry#supportedOperations (4.3.1), all of which a broker without an authorizer allows."""
    if not asked_for:
        omits = shard.profile.has(Behaviour.AUTHORIZED_OPERATIONS_OMITTED)
        return _OPERATIONS_OMITTED if omits else 0
    if shard.profile.has(Behaviour.GROUP_OPERATIONS_INCLUDE_CONFIGS):
        return _READ_DESCRIBE_DELETE | _DESCRIBE_AND_ALTER_CONFIGS
    return _READ_DESCRIBE_DELETE


def list_groups(shard: Shard, request: ListGroupsRequest) -> ListGroupsResponse:
    """Every group in one of the states and of one of the types; unknown ones match nothing.

    While a partition is loading, the Scala coordinator lists the groups of the others beside the error, the
    Java one lists none. Partitions of somebody else have no groups to list.

    Source: GroupCoordinatorService#listGroups (4.3.1), GroupCoordinator#handleListGroups (3.9.2).
    """
    if not shard.partitions.are_any_loading:
        return ListGroupsResponse(error_code=Errors.NONE, groups=_listed_groups(shard, request))
    is_scala = shard.profile.coordinator is CoordinatorFamily.SCALA
    listed = _listed_groups(shard, request) if is_scala else ()
    return ListGroupsResponse(error_code=Errors.COORDINATOR_LOAD_IN_PROGRESS, groups=listed)


def _listed_groups(shard: Shard, request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """Source: GroupMetadataManager#listGroups (4.3.1)."""
    states = {_filter_state(shard, each) for each in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    if types and _GROUP_TYPE not in types:
        return ()
    return tuple(
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=_GROUP_TYPE,
        )
        for group in shard.committed_groups()
        if not states or _listed_state(shard, group) in states
    )


def _filter_state(shard: Shard, state: str) -> str:
    if shard.profile.has(Behaviour.STATES_FILTER_TRIMMED):
        state = trim(state)
    return state.lower() if shard.profile.has(Behaviour.STATES_FILTER_IGNORES_CASE) else state


def _listed_state(shard: Shard, group: ClassicGroup) -> str:
    state = group.state.value
    return state.lower() if shard.profile.has(Behaviour.STATES_FILTER_IGNORES_CASE) else state
