"""Lookups of streams groups among the groups of all types, and checks of their members."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID, GroupId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.streams_records import TaskIds
from reference_coordinator.groups.classic.join import classic_group_join_to_classic_group
from reference_coordinator.groups.group import Group, GroupType
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology
from reference_coordinator.groups.streams.group import StreamsGroup, new_streams_group
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.timers import InitialRebalanceKey
from reference_coordinator.messages.consumer_groups import JOIN_GROUP_MEMBER_EPOCH
from reference_coordinator.messages.streams_groups import StreamsGroupHeartbeatRequest
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, Join, VoidResult
from reference_coordinator.runtime.error_responses import join_error


def as_streams_group(group: Group) -> StreamsGroup:
    """Return the group as a streams group. Its type must be streams."""
    assert isinstance(group, StreamsGroup), f"{group.group_id} is of type {group.type.value}"
    return group


def streams_group(shard: GroupMetadataManager, group_id: GroupId, *, committed: bool = False) -> StreamsGroup:
    """Return the streams group with an id: the newest state, or the committed one that reads use.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, also if a group of another type has the id.

    Source: GroupMetadataManager#streamsGroup (4.3.1).
    """
    return cast_to_streams_group(shard.group(group_id, committed=committed))


def cast_to_streams_group(group: Group) -> StreamsGroup:
    """Return the group if it is a streams group.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, if it has another type.

    Source: GroupMetadataManager#castToStreamsGroup (4.3.1).
    """
    if not isinstance(group, StreamsGroup):
        message = f"Group {group.group_id} is not a streams group."
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, message)
    return group


def get_or_create_streams_group(
    shard: GroupMetadataManager, group_id: GroupId, records: list[CoordinatorRecord]
) -> StreamsGroup:
    """Return the streams group with an id. Create it if there is none or only an empty classic group.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND.

    Source: GroupMetadataManager#getOrCreateStreamsGroup (4.3.1).
    """
    group = shard.find_group(group_id)
    if group is None:
        return new_streams_group(group_id, shard.profile)
    if group.type is GroupType.CLASSIC and group.is_empty:
        records.extend(group.create_group_tombstone_records())
        return new_streams_group(group_id, shard.profile)
    return cast_to_streams_group(group)


def get_streams_group_or_throw(shard: GroupMetadataManager, group_id: GroupId) -> StreamsGroup:
    """Return the streams group with an id.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND.

    Source: GroupMetadataManager#getStreamsGroupOrThrow (4.3.1).
    """
    group = shard.find_group(group_id)
    if group is None:
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
    return cast_to_streams_group(group)


def throw_if_streams_group_is_full(
    shard: GroupMetadataManager, group: StreamsGroup, request: StreamsGroupHeartbeatRequest
) -> None:
    """Refuse a member if the group has its maximum size. Older releases refuse known members too.

    Raises:
        CoordinatorError: GROUP_MAX_SIZE_REACHED.

    Source: GroupMetadataManager#throwIfStreamsGroupIsFull (4.3.1).
    """
    if shard.profile.has(Behaviour.STREAMS_REJOIN_FITS_FULL_GROUP) and (
        request.member_id in group.members or request.instance_id in group.static_members
    ):
        return
    max_size = shard.config.group_streams_max_size
    if len(group.members) >= max_size:
        raise CoordinatorError(
            Errors.GROUP_MAX_SIZE_REACHED,
            f"The streams group has reached its maximum capacity of {max_size} members.",
        )


def throw_if_streams_group_member_epoch_is_invalid(
    member: StreamsGroupMember, request: StreamsGroupHeartbeatRequest
) -> None:
    """Refuse an epoch other than the member's current one.

    Its previous epoch is accepted if all tasks that it reports are assigned to it.

    Raises:
        CoordinatorError: FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#throwIfStreamsGroupMemberEpochIsInvalid (4.3.1).
    """
    received = request.member_epoch
    if received in {JOIN_GROUP_MEMBER_EPOCH, member.member_epoch}:
        return
    has = member.assigned_tasks
    is_late_heartbeat = (
        received == member.previous_member_epoch
        and _are_contained(request.active_tasks, has.active_tasks)
        and _are_contained(request.standby_tasks, has.standby_tasks)
        and _are_contained(request.warmup_tasks, has.warmup_tasks)
    )
    if received > member.member_epoch or not is_late_heartbeat:
        comparison = "greater" if received > member.member_epoch else "smaller"
        raise CoordinatorError(
            Errors.FENCED_MEMBER_EPOCH,
            f"The streams group member has a {comparison} member epoch ({received}) than the one known by "
            f"the group coordinator ({member.member_epoch}). The member must abandon all its partitions and "
            "rejoin.",
        )


def throw_if_request_contains_invalid_tasks(
    topology: ConfiguredTopology, tasks: Iterable[TaskIds] | None
) -> None:
    """Refuse tasks that the topology does not have.

    Raises:
        CoordinatorError: INVALID_REQUEST.

    Source: GroupMetadataManager#throwIfRequestContainsInvalidTasks (4.3.1).
    """
    subtopologies = topology.subtopologies or {}
    for each in tasks or ():
        key = each.subtopology_id
        if key not in subtopologies:
            message = f"Subtopology {key} does not exist in the topology."
            raise CoordinatorError(Errors.INVALID_REQUEST, message)
        count = subtopologies[key].number_of_tasks
        for partition in each.partitions:
            if not 0 <= partition < count:
                raise CoordinatorError(
                    Errors.INVALID_REQUEST,
                    f"Task {partition} for subtopology {key} is invalid. Number of tasks for this "
                    f"subtopology: {count}",
                )


def _are_contained(owned: Iterable[TaskIds] | None, assigned: Mapping[str, Iterable[int]]) -> bool:
    """Decided in: GroupMetadataManager#areOwnedTasksContainedInAssignedTasks (4.3.1)."""
    return owned is not None and all(
        each.subtopology_id in assigned and set(each.partitions) <= set(assigned[each.subtopology_id])
        for each in owned
    )


def classic_group_join_to_streams_group(
    shard: GroupMetadataManager, group: StreamsGroup, join: Join
) -> VoidResult:
    """Refuse a JoinGroup to a streams group. An empty streams group is replaced by a classic one.

    Decided in: GroupMetadataManager#classicGroupJoin, GroupMetadataManager#maybeDeleteEmptyStreamsGroup
    (4.3.1).
    """
    if not group.is_empty:
        shard.respond(join.token, join_error(UNKNOWN_MEMBER_ID, Errors.INCONSISTENT_GROUP_PROTOCOL))
        return EMPTY_RESULT
    known = shard.partition_of(group.group_id)
    shard.timers.cancel(InitialRebalanceKey(group_id=group.group_id))
    shard.put_written(group.group_id, None, record_offset=known.last_written_offset)
    result = classic_group_join_to_classic_group(shard, join)
    if not result.records:
        return result
    return replace(result, records=(*group.create_group_tombstone_records(), *result.records))
