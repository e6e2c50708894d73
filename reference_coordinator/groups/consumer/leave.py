"""Members leave a consumer group, permanently or temporarily, or are fenced."""

from dataclasses import replace

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.downgrade import (
    convert_to_classic_group,
    validate_online_downgrade_with_fenced_members,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.lookups import consumer_group, static_member_or_throw
from reference_coordinator.groups.consumer.member import NO_PARTITIONS, ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_epoch_records,
    new_consumer_group_target_assignment_metadata_record,
    remove_member,
)
from reference_coordinator.groups.consumer.regular_expressions import (
    maybe_delete_resolved_regular_expressions,
)
from reference_coordinator.groups.consumer.timers import cancel_timers
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages.consumer_groups import (
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult, VoidResult


def consumer_group_leave(
    shard: GroupMetadataManager, request: ConsumerGroupHeartbeatRequest
) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
    """Handle the heartbeat of a member that leaves.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Source: GroupMetadataManager#consumerGroupLeave (4.3.1).
    """
    group = consumer_group(shard, request.group_id)
    response = ConsumerGroupHeartbeatResponse(
        error_code=Errors.NONE, member_id=request.member_id, member_epoch=request.member_epoch
    )
    if request.instance_id is None:
        member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=False)
    else:
        member = static_member_or_throw(group, request.instance_id, request.member_id)
        if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
            return consumer_group_static_member_group_leave(group, member, response)
    result = consumer_group_fence_members(shard, group, (member,))
    return CoordinatorResult(
        records=result.records,
        response=response,
        append_future=result.append_future,
        replay_records=result.replay_records,
    )


def consumer_group_static_member_group_leave(
    group: ConsumerGroup, member: ConsumerGroupMember, response: ConsumerGroupHeartbeatResponse
) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
    """Let a static member leave temporarily. It keeps its assignment and no longer has to revoke partitions.

    Source: GroupMetadataManager#consumerGroupStaticMemberGroupLeave (4.3.1).
    """
    left = replace(
        member,
        member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH,
        partitions_pending_revocation=NO_PARTITIONS,
    ).reset_assigned_partitions_epochs_to_zero()
    record = new_consumer_group_current_assignment_record(group.group_id, left, group.profile)
    return CoordinatorResult(records=(record,), response=response)


def consumer_group_fence_members(
    shard: GroupMetadataManager, group: ConsumerGroup, members: tuple[ConsumerGroupMember, ...]
) -> VoidResult:
    """Remove members and bump the group epoch, or downgrade the group if only classic members remain.

    Source: GroupMetadataManager#consumerGroupFenceMembers (4.3.1).
    """
    if not members:
        return CoordinatorResult()
    if validate_online_downgrade_with_fenced_members(shard, group, members):
        converted = convert_to_classic_group(shard, group, leaving=members, rebalance=True)
        return CoordinatorResult(records=converted, replay_records=False)
    group_id = group.group_id
    records: list[CoordinatorRecord] = []
    for member in members:
        records += remove_member(group_id, member.member_id)
    records += maybe_delete_resolved_regular_expressions(group, members)
    names = group.subscriptions.changed(members).subscribed_topic_names
    metadata = compute_subscription_metadata(names, shard.metadata_image, shard.profile)
    group_epoch = group.group_epoch + 1
    records += new_consumer_group_epoch_records(group_id, group_epoch, metadata, group.subscription_metadata)
    is_emptied = len(members) == len(group.members)
    if is_emptied and shard.profile.has(Behaviour.EMPTIED_GROUP_COUNTS_AS_ASSIGNED):
        records.append(
            new_consumer_group_target_assignment_metadata_record(
                group_id, group_epoch, Millis(0), shard.profile
            )
        )
    for member in members:
        cancel_timers(shard, group_id, member.member_id)
    return CoordinatorResult(records=tuple(records))
