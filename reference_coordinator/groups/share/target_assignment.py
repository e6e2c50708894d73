"""The target assignment, as the assignor computes it, and when it is computed."""

from collections import Counter
from collections.abc import Mapping

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors.group_spec import PartitionAssignorError
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.assignors import assign
from reference_coordinator.groups.share.assignors.share_spec import ShareGroupSpec, ShareMemberSpec
from reference_coordinator.groups.share.group import ShareGroup, subscription_type
from reference_coordinator.groups.share.member import NO_PARTITIONS, AssignedPartitions, ShareGroupMember
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_target_assignment_metadata_record,
    new_share_group_target_assignment_record,
)
from reference_coordinator.profile.behaviours import Behaviour


@value
class ShareTargetAssignment:
    """One member's target assignment, its epoch, and the records to write.

    Source: GroupMetadataManager.UpdateTargetAssignmentResult (4.3.1).
    """

    target_assignment_epoch: int
    target_assignment: AssignedPartitions
    records: tuple[CoordinatorRecord, ...] = ()


def maybe_update_target_assignment(
    shard: GroupMetadataManager,
    group: ShareGroup,
    group_epoch: int,
    updated_member: ShareGroupMember,
    names: Counter[str],
) -> ShareTargetAssignment:
    """Run the assignor if the group epoch is newer than the assignment and the interval allows it.

    Args:
        shard: the coordinator shard of the group.
        group: the group before the request.
        group_epoch: the group epoch after the request.
        updated_member: the member that sent the request, after the request.
        names: the subscribed topics, with their numbers of subscribers.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR, as the assignor found no assignment.

    Source: GroupMetadataManager#maybeUpdateTargetAssignment (4.3.1),
    GroupMetadataManager#updateTargetAssignment (4.2.1).
    """
    member_id = updated_member.member_id
    if group.assignment_epoch >= group_epoch or not _can_compute_next_target_assignment(shard, group):
        return ShareTargetAssignment(
            target_assignment_epoch=group.assignment_epoch,
            target_assignment=group.target_assignment_of(member_id),
        )
    members: JavaHashMap[MemberId, ShareMemberSpec] = JavaHashMap(string_hash_code)
    for key, member in group.members.items():
        members[key] = _member_spec(group, member, shard.metadata_image)
    members[member_id] = _member_spec(group, updated_member, shard.metadata_image)
    spec = ShareGroupSpec(
        members=members,
        subscription_type=subscription_type(names, len(members)),
        assignable=_assignable_partitions(shard, group),
    )
    try:
        assigned = assign(spec, shard.profile)
    except PartitionAssignorError as failure:
        raise CoordinatorError(Errors.UNKNOWN_SERVER_ERROR, str(failure)) from failure
    metadata = new_share_group_target_assignment_metadata_record(
        group.group_id, group_epoch, shard.now_ms, shard.profile
    )
    return ShareTargetAssignment(
        target_assignment_epoch=group_epoch,
        target_assignment=assigned.get(member_id, NO_PARTITIONS),
        records=(*_changed(group, spec, assigned), metadata),
    )


def _can_compute_next_target_assignment(shard: GroupMetadataManager, group: ShareGroup) -> bool:
    """Return whether the minimum interval since the last assignment has passed.

    Decided in: GroupMetadataManager#canComputeNextTargetAssignment (4.3.1).
    """
    interval_ms = share_group_assignment_interval_ms(shard, group.group_id)
    if not shard.profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT) or interval_ms == 0:
        return True
    last_ms = group.assignment_timestamp_ms
    return last_ms == 0 or shard.now_ms >= last_ms + interval_ms


def share_group_assignment_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> int:
    """Return the minimum interval between two target assignments of a group.

    Source: GroupMetadataManager#shareGroupAssignmentIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).share_assignment_interval_ms
    return shard.config.group_share_assignment_interval_ms if own is None else own


def _assignable_partitions(
    shard: GroupMetadataManager, group: ShareGroup
) -> Mapping[TopicId, tuple[int, ...]]:
    """Return the partitions of existing topics that have share state, or all partitions in the preview.

    Decided in: GroupMetadataManager#maybeUpdateTargetAssignment, GroupSpecImpl#isPartitionAssignable (4.3.1).
    """
    topics = shard.metadata_image.topics.values()
    every = {each.topic_id: range(each.num_partitions) for each in topics}
    if not shard.profile.has(Behaviour.SHARE_STATE_INITIALIZED):
        return {topic_id: tuple(partitions) for topic_id, partitions in every.items()}
    initialized = {} if group.state_partitions is None else group.state_partitions.initialized_topics
    return {
        topic_id: tuple(each for each in every[topic_id] if each in found.partitions)
        for topic_id, found in initialized.items()
        if topic_id in every
    }


def _member_spec(group: ShareGroup, member: ShareGroupMember, image: MetadataImage) -> ShareMemberSpec:
    names = member.subscribed_topic_names
    return ShareMemberSpec(
        subscribed_topic_ids=tuple(image.topics[each].topic_id for each in names if each in image.topics),
        names_topics=bool(names),
        assignment=group.target_assignment_of(member.member_id),
    )


def _changed(
    group: ShareGroup, spec: ShareGroupSpec, assigned: Mapping[MemberId, AssignedPartitions]
) -> tuple[CoordinatorRecord, ...]:
    """Return the records of the members whose target assignment changed, in the order of Kafka's map."""
    return tuple(
        new_share_group_target_assignment_record(
            group.group_id, member_id, assigned.get(member_id, NO_PARTITIONS)
        )
        for member_id in spec.members
        if member_id not in group.target_assignment
        or assigned.get(member_id, NO_PARTITIONS) != group.target_assignment[member_id]
    )
