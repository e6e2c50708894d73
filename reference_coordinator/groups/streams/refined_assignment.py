"""The cache of the refined assignment of an epoch.

Kafka 4.4 is meant to refine a target assignment by warm-up tasks. 4.4.0 caches it without a change.
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
    """Return the assignment cached for an epoch, or else cache and return the target.

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
    """Cache a target assignment, unless the group is configured to have no warm-up tasks.

    Source: GroupMetadataManager#maybeCacheRefinedAssignment (4.4.0).
    """
    remembers = shard.profile.has(Behaviour.STREAMS_TARGET_KEPT_FOR_EPOCH)
    if remembers and streams_group_num_warmup_replicas(shard, group.group_id) > 0:
        _set(shard, group, RefinedAssignment(assignment_epoch=epoch, assignment=target))


def relabel_refined_assignment(
    shard: GroupMetadataManager, group: StreamsGroup, old_member_id: MemberId, new_member_id: MemberId
) -> StreamsGroup:
    """Move cached tasks to a member with the same instance id, even if its request is refused later.

    Source: StreamsGroup#relabelRefinedAssignment (4.4.0).
    """
    cached = group.refined_assignment
    if cached is None or old_member_id not in cached.assignment:
        return group
    relabelled = dict(cached.assignment)
    relabelled[new_member_id] = relabelled.pop(old_member_id)
    return _set(shard, group, replace(cached, assignment=relabelled))


def _set(shard: GroupMetadataManager, group: StreamsGroup, refined: RefinedAssignment) -> StreamsGroup:
    """Store the assignment in a registered group. A new group loses it, as no record has it."""
    if group.refined_assignment == refined:
        return group
    kept = replace(group, refined_assignment=refined)
    if shard.find_group(group.group_id) is group:
        shard.add_new_group(kept)
    return kept
