"""The target assignment of a streams group: when it is computed, and its records."""

from collections.abc import Mapping

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.assignors.group_spec import AssignmentMemberSpec, GroupSpec
from reference_coordinator.groups.streams.assignors.sticky import StickyTaskAssignor
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology, Status
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import (
    new_streams_group_target_assignment_metadata_record,
    new_streams_group_target_assignment_record,
)
from reference_coordinator.groups.streams.tasks import EMPTY, TasksTuple
from reference_coordinator.groups.streams.timers import (
    is_initial_rebalance_delayed,
    streams_group_assignment_interval_ms,
)
from reference_coordinator.messages.streams_groups import StreamsGroupHeartbeatResponseStatus
from reference_coordinator.profile.profiles import Behaviour, Profile

_REPLICAS = "num.standby.replicas"


@value
class UpdateTargetAssignmentResult:
    """The target assignment, its epoch, the records to write, and the reason of a delay.

    Source: GroupMetadataManager.UpdateTargetAssignmentResult (4.3.1).
    """

    target_assignment_epoch: int
    target_assignment: Mapping[MemberId, TasksTuple]
    records: tuple[CoordinatorRecord, ...] = ()
    delayed_by: str | None = None
    """The configuration that delays the assignment, or None."""

    @property
    def status(self) -> tuple[StreamsGroupHeartbeatResponseStatus, ...]:
        """The status that reports a delay to the member."""
        if self.delayed_by is None:
            return ()
        detail = f"Assignment delayed due to the configured {self.delayed_by}."
        code = Status.ASSIGNMENT_DELAYED.value
        return (StreamsGroupHeartbeatResponseStatus(status_code=code, status_detail=detail),)


def maybe_update_streams_target_assignment(
    shard: GroupMetadataManager,
    group: StreamsGroup,
    group_epoch: int,
    updated_member: StreamsGroupMember | None,
    topology: ConfiguredTopology,
    assignment_configs: Mapping[str, str],
    *,
    refine_only: bool = False,
) -> UpdateTargetAssignmentResult:
    """Run the assignor if the group epoch is newer than the assignment and no delay applies.

    If the epoch was bumped only for one member (`refine_only`), the assignment does not change.

    Source: GroupMetadataManager#maybeUpdateStreamsTargetAssignment (4.4.0),
    GroupMetadataManager#updateStreamsTargetAssignment (4.2.1).
    """
    last = _target_assignment(group, updated_member)
    is_newer = group_epoch > group.assignment_epoch
    is_delayed = updated_member is not None and is_initial_rebalance_delayed(shard, group.group_id)
    if is_delayed:
        return UpdateTargetAssignmentResult(
            target_assignment_epoch=max(1, group.assignment_epoch),
            target_assignment={},
            delayed_by="initial rebalance delay",
        )
    if not is_newer:
        return UpdateTargetAssignmentResult(
            target_assignment_epoch=group.assignment_epoch, target_assignment=last
        )
    if refine_only:
        return _in_next_epoch(group, group_epoch, last)
    if not _can_compute_next_target_assignment(shard, group):
        return UpdateTargetAssignmentResult(
            target_assignment_epoch=group.assignment_epoch,
            target_assignment=last,
            delayed_by="assignment interval",
        )
    members = _members(group, updated_member)
    assigned = _assign(members, topology, assignment_configs, group.profile)
    metadata = new_streams_group_target_assignment_metadata_record(
        group.group_id, group_epoch, shard.now_ms, shard.profile
    )
    return UpdateTargetAssignmentResult(
        target_assignment_epoch=group_epoch,
        target_assignment=assigned,
        records=(*_changed(group, last, assigned), metadata),
    )


def _in_next_epoch(
    group: StreamsGroup, group_epoch: int, last: Mapping[MemberId, TasksTuple]
) -> UpdateTargetAssignmentResult:
    """Return the same assignment with a new epoch."""
    kept = new_streams_group_target_assignment_metadata_record(
        group.group_id, group_epoch, group.assignment_timestamp_ms, group.profile
    )
    return UpdateTargetAssignmentResult(
        target_assignment_epoch=group_epoch, target_assignment=last, records=(kept,)
    )


def _can_compute_next_target_assignment(shard: GroupMetadataManager, group: StreamsGroup) -> bool:
    """Decided in: GroupMetadataManager#canComputeNextTargetAssignment (4.3.1)."""
    interval_ms = streams_group_assignment_interval_ms(shard, group.group_id)
    if not shard.profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT) or interval_ms == 0:
        return True
    if group.assignment_timestamp_ms == 0:
        return True
    return shard.now_ms >= group.assignment_timestamp_ms + interval_ms


def _members(
    group: StreamsGroup, updated_member: StreamsGroupMember | None
) -> Mapping[MemberId, AssignmentMemberSpec]:
    """Return the members as input of the assignor, in the order of Kafka's map.

    Decided in: streams.TargetAssignmentBuilder#build (4.4.0).
    """
    specs: JavaHashMap[MemberId, AssignmentMemberSpec] = JavaHashMap(string_hash_code)
    is_current = group.profile.has(Behaviour.STREAMS_ASSIGNED_BY_CURRENT_TASKS)
    replaced = _replaced_member_id(group, updated_member)
    for member in (*group.members.values(), *(() if updated_member is None else (updated_member,))):
        key = member.member_id
        if key == replaced:
            continue
        before = member.assigned_tasks.without_epochs() if is_current else group.target_assignment_of(key)
        specs[key] = AssignmentMemberSpec(
            process_id=member.process_id,
            active_tasks=before.active_tasks,
            standby_tasks=before.standby_tasks,
            task_offsets=group.task_offsets(key).task_offsets if is_current else {},
        )
    return specs


def _replaced_member_id(group: StreamsGroup, updated_member: StreamsGroupMember | None) -> MemberId | None:
    """Return the id of the static member that a member replaces, or None if it replaces no other."""
    if updated_member is None or updated_member.instance_id is None:
        return None
    previous = group.static_members.get(updated_member.instance_id)
    return None if previous == updated_member.member_id else previous


def _target_assignment(
    group: StreamsGroup, updated_member: StreamsGroupMember | None
) -> Mapping[MemberId, TasksTuple]:
    """Return the previous target assignment. A member that replaces another one has that one's tasks.

    Decided in: UpdatedMembersAndTargetAssignmentView#addOrUpdateMember (4.4.0).
    """
    replaced = _replaced_member_id(group, updated_member)
    if updated_member is None or replaced is None or replaced not in group.target_assignment:
        return group.target_assignment
    target = dict(group.target_assignment)
    target[updated_member.member_id] = target.pop(replaced)
    return target


def _assign(
    members: Mapping[MemberId, AssignmentMemberSpec],
    topology: ConfiguredTopology,
    assignment_configs: Mapping[str, str],
    profile: Profile,
) -> Mapping[MemberId, TasksTuple]:
    """Compute an assignment, which is empty for all members while the topology is not ready."""
    if not topology.is_ready or topology.subtopologies is None:
        return dict.fromkeys(members, EMPTY)
    spec = GroupSpec(
        members=members,
        subtopologies=topology.subtopologies,
        num_standby_replicas=int(assignment_configs.get(_REPLICAS, "0")),
        ranks_candidates=profile.has(Behaviour.STREAMS_ASSIGNED_BY_CURRENT_TASKS),
    )
    return StickyTaskAssignor(spec).assign()


def _changed(
    group: StreamsGroup, last: Mapping[MemberId, TasksTuple], assigned: Mapping[MemberId, TasksTuple]
) -> tuple[CoordinatorRecord, ...]:
    """Return the records of the members whose target assignment changed."""
    return tuple(
        new_streams_group_target_assignment_record(group.group_id, member_id, target)
        for member_id, target in assigned.items()
        if last.get(member_id) != target
    )
