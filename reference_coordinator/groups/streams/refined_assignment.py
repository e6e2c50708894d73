"""What members are to have, as it is remembered for the epoch of an assignment.

Kafka 4.4 is to refine a target assignment by warm-up tasks. 4.4.0 leaves it as it is, but remembers it.
"""

from collections.abc import Mapping
from dataclasses import replace

from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.tasks import RefinedAssignment, TasksTuple
from reference_coordinator.groups.streams.timers import streams_group_num_warmup_replicas
from reference_coordinator.profile.behaviours import Behaviour


def refined_assignment_for_epoch(
    shard: GroupMetadataManager, group: StreamsGroup, epoch: int, target: Mapping[MemberId, TasksTuple]
) -> Mapping[MemberId, TasksTuple]:
    """What was remembered for an epoch; or else the target, which is remembered.

    Source: GroupMetadataManager#refinedAssignmentForEpoch (4.4.0).
    """
    cached = group.refined_assignment
    if cached is not None and cached.assignment_epoch == epoch:
        return cached.assignment
    maybe_cache_refined_assignment(shard, group, epoch, target)
    return target


def maybe_cache_refined_assignment(
    shard: GroupMetadataManager, group: StreamsGroup, epoch: int, target: Mapping[MemberId, TasksTuple]
) -> None:
    """Remember a target, unless the group is to have no warm-up tasks.

    Source: GroupMetadataManager#maybeCacheRefinedAssignment (4.4.0).
    """
    remembers = shard.profile.has(Behaviour.STREAMS_TARGET_KEPT_FOR_EPOCH)
    if remembers and streams_group_num_warmup_replicas(shard, group.group_id) > 0:
        _set(shard, group, RefinedAssignment(assignment_epoch=epoch, assignment=target))


def relabel_refined_assignment(
    shard: GroupMetadataManager, group: StreamsGroup, old_member_id: MemberId, new_member_id: MemberId
) -> StreamsGroup:
    """Remember a member's tasks as those of another that has its instance id, even if it is refused then.

    Source: StreamsGroup#relabelRefinedAssignment (4.4.0).
    """
    cached = group.refined_assignment
    if cached is None or old_member_id not in cached.assignment:
        return group
    relabelled = dict(cached.assignment)
    relabelled[new_member_id] = relabelled.pop(old_member_id)
    return _set(shard, group, replace(cached, assignment=relabelled))


def _set(shard: GroupMetadataManager, group: StreamsGroup, refined: RefinedAssignment) -> StreamsGroup:
    """Let a group that is there remember; a new one forgets it, as its records do not tell."""
    if group.refined_assignment == refined:
        return group
    kept = replace(group, refined_assignment=refined)
    if shard.find_group(group.group_id) is group:
        shard.add_new_group(kept)
    return kept
