"""The target assignment, as an assignor computes it, and when it is computed."""

from collections.abc import Mapping

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors import assign
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    MemberSubscription,
    PartitionAssignorError,
    SubscribedTopic,
    SubscriptionType,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.membership import NO_ASSIGNMENT
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_target_assignment_metadata_record,
    new_consumer_group_target_assignment_record,
)
from reference_coordinator.groups.consumer.subscriptions import subscribed_topics
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour


@value
class UpdateTargetAssignmentResult:
    """One member's target assignment, its epoch, and the records to write.

    Source: GroupMetadataManager.UpdateTargetAssignmentResult (4.3.1).
    """

    target_assignment_epoch: int
    target_assignment: Assignment
    records: tuple[CoordinatorRecord, ...] = ()


def maybe_update_target_assignment(
    shard: GroupMetadataManager,
    group: ConsumerGroup,
    group_epoch: int,
    member: ConsumerGroupMember,
    updated_member: ConsumerGroupMember,
    subscription_type: SubscriptionType,
) -> UpdateTargetAssignmentResult:
    """Run the assignor if the group epoch is newer than the assignment and the interval allows it.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR, if the assignor fails.

    Source: GroupMetadataManager#maybeUpdateTargetAssignment (4.3.1),
    GroupMetadataManager#updateTargetAssignment (4.2.1).
    """
    if group.assignment_epoch >= group_epoch or not can_compute_next_target_assignment(shard, group):
        target = group.target_assignment_of(updated_member.member_id, updated_member.instance_id)
        return UpdateTargetAssignmentResult(
            target_assignment_epoch=group.assignment_epoch, target_assignment=target
        )
    preferred = group.compute_preferred_server_assignor(member, updated_member)
    assignor = preferred or shard.config.group_consumer_assignors[0]
    specs = _member_specs(group, updated_member, shard.metadata_image)
    try:
        assigned = assign(
            assignor,
            GroupSpec(
                members=specs,
                subscription_type=subscription_type,
                assigned_partitions=_assigned_partitions(group),
            ),
            {
                each.topic_id: SubscribedTopic(num_partitions=each.num_partitions)
                for each in shard.metadata_image.topics.values()
            },
            shard.profile,
        )
    except PartitionAssignorError as failure:
        raise CoordinatorError(Errors.UNKNOWN_SERVER_ERROR, str(failure)) from failure
    metadata = new_consumer_group_target_assignment_metadata_record(
        group.group_id, group_epoch, shard.now_ms, shard.profile
    )
    return UpdateTargetAssignmentResult(
        target_assignment_epoch=group_epoch,
        target_assignment=assigned.get(updated_member.member_id, NO_ASSIGNMENT),
        records=(*_changed(group, specs, assigned), metadata),
    )


def can_compute_next_target_assignment(shard: GroupMetadataManager, group: ConsumerGroup) -> bool:
    """Return whether the minimum interval since the last assignment has passed.

    Source: GroupMetadataManager#canComputeNextTargetAssignment (4.3.1).
    """
    interval_ms = consumer_group_assignment_interval_ms(shard, group.group_id)
    if not shard.profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT) or interval_ms == 0:
        return True
    if group.assignment_timestamp_ms == 0:
        return True
    return shard.now_ms >= group.assignment_timestamp_ms + interval_ms


def consumer_group_assignment_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> int:
    """Return the minimum interval between two target assignments of a group.

    Source: GroupMetadataManager#consumerGroupAssignmentIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).consumer_assignment_interval_ms
    return shard.config.group_consumer_assignment_interval_ms if own is None else own


def _member_specs(
    group: ConsumerGroup, updated_member: ConsumerGroupMember, image: MetadataImage
) -> JavaHashMap[MemberId, MemberSubscription]:
    """Return the members as input of the assignor.

    Until 4.3 a static member that is replaced may be removed only after its successor was put. Then the table
    may have grown for both.

    Decided in: TargetAssignmentBuilder#build (4.3.1), UpdatedMembersAndTargetAssignmentView (4.4.0).
    """
    source = updated_member.member_id
    if updated_member.instance_id is not None:
        source = group.static_members.get(updated_member.instance_id, source)
    members = dict(group.members)
    if group.profile.has(Behaviour.REPLACED_MEMBER_TAKES_NO_ROOM) and source != updated_member.member_id:
        members.pop(source, None)
    specs: JavaHashMap[MemberId, MemberSubscription] = JavaHashMap(string_hash_code)
    specs.update((key, _member_spec(group, each, key, image)) for key, each in members.items())
    updated: JavaHashMap[MemberId, MemberSubscription | None] = JavaHashMap(string_hash_code)
    updated[updated_member.member_id] = _member_spec(group, updated_member, source, image)
    if source != updated_member.member_id:
        updated[source] = None
    for member_id, spec in updated.items():
        if spec is None:
            specs.pop(member_id, None)
        else:
            specs[member_id] = spec
    return specs


def _member_spec(
    group: ConsumerGroup, member: ConsumerGroupMember, source: MemberId, image: MetadataImage
) -> MemberSubscription:
    """Decided in: TargetAssignmentBuilder#newMemberSubscriptionAndAssignment (4.3.1)."""
    names = subscribed_topics(member, group.resolved_regular_expressions)
    known = [image.topics[each].topic_id for each in names if each in image.topics]
    return MemberSubscription(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        subscribed_topic_ids=tuple(known),
        num_missing_topics=len(names) - len(known),
        assignment=group.target_assignment.get(source, NO_ASSIGNMENT),
    )


def _assigned_partitions(group: ConsumerGroup) -> frozenset[tuple[TopicId, int]]:
    return frozenset(
        (topic_id, partition)
        for target in group.target_assignment.values()
        for topic_id, partitions in target.items()
        for partition in partitions
    )


def _changed(
    group: ConsumerGroup,
    specs: Mapping[MemberId, MemberSubscription],
    assigned: Mapping[MemberId, Assignment],
) -> tuple[CoordinatorRecord, ...]:
    """Return the records of the members whose target assignment changed, in the order of Kafka's map."""
    return tuple(
        new_consumer_group_target_assignment_record(
            group.group_id, member_id, assigned.get(member_id, NO_ASSIGNMENT)
        )
        for member_id in specs
        if member_id not in group.target_assignment
        or _as_sets(assigned.get(member_id, NO_ASSIGNMENT)) != _as_sets(group.target_assignment[member_id])
    )


def _as_sets(assignment: Assignment) -> dict[TopicId, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items()}
