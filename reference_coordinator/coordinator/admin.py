"""DescribeGroups, ConsumerGroupDescribe and ListGroups: the administrator's view of groups."""

from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.java import trim
from reference_coordinator.core.map_order import partitions_in_java_hash_map_order
from reference_coordinator.core.parts import between_parts
from reference_coordinator.groups.classic.answers import MOST_ORDERS
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group, classic_group
from reference_coordinator.groups.consumer.describing import as_described_consumer_group
from reference_coordinator.groups.consumer.lookups import consumer_group
from reference_coordinator.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    StreamsGroupDescribeRequest,
)
from reference_coordinator.messages.consumer_groups import ConsumerGroupDescribeResponseGroup
from reference_coordinator.messages.share_groups import ShareGroupDescribeRequest
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.error_responses import (
    described_error,
    in_answer_order,
    operations_not_asked_for,
)

_MISSING_GROUP_NAMED_SINCE: Final = 6
_MISSING: Final = "Dead"
"""The state with which a missing group is described."""
_READ_DESCRIBE_DELETE: Final = 1 << 3 | 1 << 8 | 1 << 6
"""A bit field, whose bit numbers are the codes of AclOperation."""
_DESCRIBE_AND_ALTER_CONFIGS: Final = 1 << 10 | 1 << 11


def describe_groups(
    shard: CoordinatorShard, request: DescribeGroupsRequest, *, api_version: int
) -> DescribeGroupsResponse:
    """Describe each requested group.

    Source: GroupMetadataManager#describeGroups (4.3.1), GroupCoordinator#handleDescribeGroup (3.9.2).
    """
    groups = in_answer_order(shard, request.groups)
    return DescribeGroupsResponse(
        groups=tuple(_describe_group(shard, request, each, api_version=api_version) for each in groups)
    )


def described_in_any_order(
    shard: CoordinatorShard, described: tuple[DescribedGroup, ...]
) -> Iterator[tuple[DescribedGroup, ...]]:
    """Yield the descriptions with the topics of former consumer groups' assignments in any order.

    Decided in: Utils#toConsumerProtocolAssignment (4.3.1).
    """
    groups = ((shard.find_group(each.group_id), each) for each in described)
    choices = [
        tuple(islice(group.permitted_descriptions(each), MOST_ORDERS))
        if isinstance(group, ClassicGroup)
        else (each,)
        for group, each in groups
    ]
    return product(*choices)


def _describe_group(
    shard: CoordinatorShard, request: DescribeGroupsRequest, group_id: GroupId, *, api_version: int
) -> DescribedGroup:
    between_parts()
    try:
        shard.throw_if_not_active(group_id)
    except CoordinatorError as refusal:
        return described_error(shard, group_id, refusal.error)
    operations = authorized_operations(shard, request)
    try:
        group = classic_group(shard, group_id, committed=True)
    except CoordinatorError as refusal:
        if api_version >= _MISSING_GROUP_NAMED_SINCE:
            message = refusal.message
            return described_error(shard, group_id, refusal.error, state=_MISSING, message=message)
        return described_error(shard, group_id, Errors.NONE, state=_MISSING, authorized_operations=operations)
    return group.as_described_group(authorized_operations=operations)


def consumer_group_describe(
    shard: CoordinatorShard, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """Describe each requested consumer group.

    Groups without an id come first, then the others, partition by partition.

    Source: GroupCoordinatorService#consumerGroupDescribe, GroupMetadataManager#consumerGroupDescribe (4.3.1).
    """
    unnamed = tuple(each for each in request.group_ids if not each)
    if unnamed and shard.profile.has(Behaviour.EMPTY_GROUP_ID_FAILS_DESCRIBE):
        raise IllegalStateError("a response without a group id cannot be written")
    named = tuple(each for each in request.group_ids if each)
    if shard.profile.has(Behaviour.EVERY_PARTITION_DESCRIBES_ALL_GROUPS):
        return ConsumerGroupDescribeResponse(groups=_describe_by_every_partition(shard, request, named))
    ordered = (*unnamed, *in_answer_order(shard, named))
    return ConsumerGroupDescribeResponse(
        groups=tuple(_describe_consumer_group(shard, request, each) for each in ordered)
    )


def _describe_by_every_partition(
    shard: CoordinatorShard, request: ConsumerGroupDescribeRequest, group_ids: tuple[GroupId, ...]
) -> tuple[ConsumerGroupDescribeResponseGroup, ...]:
    """Describe all groups once for each partition; groups of other partitions are not found.

    Decided in: GroupCoordinatorService#consumerGroupDescribe (4.0.0).
    """
    partitions = partitions_in_java_hash_map_order(shard.partition_for(each) for each in group_ids)
    return tuple(
        _describe_consumer_group(shard, request, group_id)
        if shard.partition_for(group_id) == partition
        else ConsumerGroupDescribeResponseGroup(
            error_code=Errors.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
            group_id=group_id,
        )
        for partition in partitions
        for group_id in group_ids
    )


def _describe_consumer_group(
    shard: CoordinatorShard, request: ConsumerGroupDescribeRequest, group_id: GroupId
) -> ConsumerGroupDescribeResponseGroup:
    between_parts()
    if not group_id:
        return ConsumerGroupDescribeResponseGroup(error_code=Errors.INVALID_GROUP_ID, group_id=group_id)
    try:
        shard.throw_if_not_active(group_id)
        group = consumer_group(shard, group_id, committed=True)
    except CoordinatorError as refusal:
        return ConsumerGroupDescribeResponseGroup(
            error_code=refusal.error, error_message=refusal.message, group_id=group_id
        )
    operations = authorized_operations(shard, request)
    return as_described_consumer_group(shard, group, authorized_operations=operations)


def authorized_operations(
    shard: CoordinatorShard,
    request: DescribeGroupsRequest
    | ConsumerGroupDescribeRequest
    | ShareGroupDescribeRequest
    | StreamsGroupDescribeRequest,
) -> int:
    """Return the operations allowed on a group, if the request includes them.

    A broker without an authorizer allows every supported operation to everybody.

    Source: AuthHelper#authorizedOperations, AclEntry#supportedOperations (4.3.1).
    """
    if not request.include_authorized_operations:
        return operations_not_asked_for(shard)
    if shard.profile.has(Behaviour.GROUP_OPERATIONS_INCLUDE_CONFIGS):
        return _READ_DESCRIBE_DELETE | _DESCRIBE_AND_ALTER_CONFIGS
    return _READ_DESCRIBE_DELETE


def list_groups(shard: CoordinatorShard, request: ListGroupsRequest) -> ListGroupsResponse:
    """List the groups in one of the states and of one of the types; unknown names match nothing.

    While a partition is loading, the Scala coordinator lists the other partitions' groups with the error, and
    the Java one lists none. The groups of partitions that other brokers own are not listed.

    Source: GroupCoordinatorService#listGroups (4.3.1), GroupCoordinator#handleListGroups (3.9.2).
    """
    if not shard.partitions.are_any_loading:
        return ListGroupsResponse(error_code=Errors.NONE, groups=_listed_groups(shard, request))
    is_scala = shard.profile.coordinator is CoordinatorFamily.SCALA
    listed = _listed_groups(shard, request) if is_scala else ()
    return ListGroupsResponse(error_code=Errors.COORDINATOR_LOAD_IN_PROGRESS, groups=listed)


def _listed_groups(shard: CoordinatorShard, request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """Decided in: GroupMetadataManager#listGroups (4.3.1)."""
    states = {_filter_state(shard, each) for each in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    if states and shard.profile.has(Behaviour.STATES_FILTER_DESCRIBES_GROUPS):
        _throw_if_indescribable(shard)
    return tuple(
        group.as_listed_group()
        for group in shard.groups(committed=True)
        if (not states or group.is_in_states(states)) and (not types or group.type.value in types)
    )


def _throw_if_indescribable(shard: CoordinatorShard) -> None:
    """Refuse to list by state while there is a group that cannot be described.

    Decided in: GroupCoordinator#handleListGroups (2.6.0), GroupMetadata#summary (2.6.0).

    Raises:
        IllegalStateError: a member does not support the protocol of its Stable group.
    """
    for group in shard.groups(committed=True):
        described = as_classic_group(group)
        described.as_described_group(authorized_operations=operations_not_asked_for(shard))


def _filter_state(shard: CoordinatorShard, state: str) -> str:
    if shard.profile.has(Behaviour.STATES_FILTER_TRIMMED):
        state = trim(state)
    return state.lower() if shard.profile.has(Behaviour.STATES_FILTER_IGNORES_CASE) else state
