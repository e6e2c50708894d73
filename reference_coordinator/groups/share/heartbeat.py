"""ShareGroupHeartbeat: a member joins, sends changes, receives its assignment, or leaves."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.java import trim
from reference_coordinator.core.java_hash_map import JavaHashSet
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.assignors.assignor_helpers import from_record
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.consumer.regular_expressions import METADATA_REFRESH_INTERVAL_MS
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import (
    schedule_share_group_session_timeout,
    share_group_heartbeat_interval_ms,
)
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.initializing import (
    initialized_assignment_pending,
    maybe_create_initialize_share_group_state_request,
)
from reference_coordinator.groups.share.leave import share_group_leave
from reference_coordinator.groups.share.lookups import (
    get_or_maybe_create_share_group,
    throw_if_share_group_is_full,
    throw_if_share_group_member_epoch_is_invalid,
)
from reference_coordinator.groups.share.member import AssignedPartitions, ShareGroupMember
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_current_assignment_record,
    new_share_group_epoch_records,
    new_share_group_member_subscription_record,
)
from reference_coordinator.groups.share.target_assignment import (
    ShareTargetAssignment,
    maybe_update_target_assignment,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
)
from reference_coordinator.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    ShareGroupHeartbeatResponseAssignment,
    ShareGroupHeartbeatResponseTopicPartitions,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.runtime.coordinator_result import CoordinatorResult


def share_group_heartbeat(
    shard: GroupMetadataManager, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> CoordinatorResult[ShareGroupHeartbeatResponse]:
    """Handle a member's heartbeat.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupMetadataManager#shareGroupHeartbeat (4.3.1).
    """
    if request.member_epoch == LEAVE_GROUP_MEMBER_EPOCH:
        return share_group_leave(shard, request)
    joins = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
    group = get_or_maybe_create_share_group(shard, request.group_id, create_if_not_exists=joins)
    throw_if_share_group_is_full(shard, group, request.member_id)
    member = group.get_or_maybe_create_member(request.member_id, create_if_not_exists=joins)
    throw_if_share_group_member_epoch_is_invalid(group, member, request.member_epoch)
    if member.member_id not in group.members:
        group = _add_member(shard, group, member)
    updated = _updated(member, request, context)
    records: list[CoordinatorRecord] = []
    if updated != member:
        records.append(new_share_group_member_subscription_record(group.group_id, updated))
    group_epoch, names_looked_at, has_bumped = _update_subscription(shard, group, member, updated, records)
    target = maybe_update_target_assignment(
        shard, group, group_epoch, updated, group.compute_subscribed_topic_names(member, updated)
    )
    records += target.records
    after = _maybe_reconcile(shard, updated, target, has_subscription_changed=has_bumped)
    if after != updated:
        records.append(new_share_group_current_assignment_record(group.group_id, after))
    schedule_share_group_session_timeout(shard, request.group_id, request.member_id)
    noted = maybe_create_initialize_share_group_state_request(
        shard, group, group_epoch, names_looked_at, records
    )
    response = _response(shard, request, member, after)
    return CoordinatorResult(records=tuple(records), response=response, append_future=noted)


def _add_member(shard: GroupMetadataManager, group: ShareGroup, member: ShareGroupMember) -> ShareGroup:
    """Add a new member to the group's members immediately, before any record of it.

    Thus their order counts for the assignor. If the assignor finds no assignment, nothing is written, and
    nothing undoes the change: the refused member stays, without a session, until the group is loaded again. A
    new group loses it, as no record has it.

    Decided in: ShareGroup#getOrMaybeCreateMember, CoordinatorRuntime.CoordinatorWriteEvent#run (4.1.2).
    """
    added = group.update_member(member)
    if shard.find_group(group.group_id) is group:
        shard.add_new_group(added)
    return added


def _updated(
    member: ShareGroupMember, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> ShareGroupMember:
    """Return the member with the values from its heartbeat."""
    names: AbstractSet[str] = member.subscribed_topic_names
    if request.subscribed_topic_names is not None:
        names = JavaHashSet.copy_of(request.subscribed_topic_names, string_hash_code)
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topic_names=names,
        client_id=context.client_id or "",
        client_host=context.client_host,
    )


def _update_subscription(
    shard: GroupMetadataManager,
    group: ShareGroup,
    member: ShareGroupMember,
    updated: ShareGroupMember,
    records: list[CoordinatorRecord],
) -> tuple[int, frozenset[str], bool]:
    """Bump the group epoch on a change. Return the epoch, the subscribed topics and whether it was bumped.

    Decided in: GroupMetadataManager#shareGroupHeartbeat (4.3.1).
    """
    bumps = updated.subscribed_topic_names != member.subscribed_topic_names
    if _looks_for_pending(group):
        bumps |= initialized_assignment_pending(group)
    if not bumps and not group.has_metadata_expired(shard.now_ms):
        return group.group_epoch, frozenset(group.subscribed_topic_names), False
    names = group.compute_subscribed_topic_names(member, updated)
    metadata = compute_subscription_metadata(names, shard.metadata_image, shard.profile)
    before = group.subscription_metadata
    bumps |= metadata != before
    group_epoch = group.group_epoch + bumps
    if bumps:
        records += new_share_group_epoch_records(group.group_id, group_epoch, metadata, before)
    group.set_metadata_refresh_deadline(shard.now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    return group_epoch, frozenset(names), bumps


def _looks_for_pending(group: ShareGroup) -> bool:
    """Return whether to check for partitions that have state but are not assigned to any member.

    In 4.0 no partition has state.

    Decided in: GroupMetadataManager#shareGroupHeartbeat (4.1.2, 4.3.1).
    """
    is_assigned = group.assignment_epoch >= group.group_epoch
    return is_assigned or not group.profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)


def _maybe_reconcile(
    shard: GroupMetadataManager,
    member: ShareGroupMember,
    target: ShareTargetAssignment,
    *,
    has_subscription_changed: bool,
) -> ShareGroupMember:
    """Assign the member its target assignment, without a revocation before it.

    Decided in: GroupMetadataManager#maybeReconcile, ShareGroupAssignmentBuilder#build (4.3.1).
    """
    filters = shard.profile.has(Behaviour.UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE)
    is_newer = target.target_assignment_epoch != member.member_epoch
    if not is_newer and not (filters and has_subscription_changed):
        return member
    assigned = target.target_assignment
    if filters:
        assigned = _subscribed(assigned, member.subscribed_topic_names, shard.metadata_image)
    changed = replace(member, assigned_partitions=assigned)
    if not is_newer:
        return changed
    return replace(changed, state=MemberState.STABLE).update_member_epoch(target.target_assignment_epoch)


def _subscribed(
    partitions: AssignedPartitions, names: AbstractSet[str], image: MetadataImage
) -> AssignedPartitions:
    """Decided in: ShareGroupAssignmentBuilder#filterAssignedPartitions (4.3.1)."""
    topic_ids = {image.topics[each].topic_id for each in names if each in image.topics}
    return {topic_id: each for topic_id, each in partitions.items() if topic_id in topic_ids}


def _response(
    shard: GroupMetadataManager,
    request: ShareGroupHeartbeatRequest,
    before: ShareGroupMember,
    after: ShareGroupMember,
) -> ShareGroupHeartbeatResponse:
    """Return the member's epoch, with its assignment on a join, a full request or a change."""
    joins = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
    is_full = request.subscribed_topic_names is not None and _answers_full_requests(shard.profile)
    is_shown = joins or is_full or before.assigned_partitions != after.assigned_partitions
    return ShareGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=share_group_heartbeat_interval_ms(shard, request.group_id),
        assignment=create_assignment(after.assigned_partitions) if is_shown else None,
    )


def _answers_full_requests(profile: Profile) -> bool:
    return profile.has(Behaviour.SHARE_STATE_INITIALIZED)


def create_assignment(assigned: AssignedPartitions) -> ShareGroupHeartbeatResponseAssignment:
    """Return an assignment in the form of the heartbeat response.

    Source: ShareGroupHeartbeatResponse#createAssignment (4.3.1).
    """
    return ShareGroupHeartbeatResponseAssignment(
        topic_partitions=tuple(
            ShareGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=tuple(each))
            for topic_id, each in from_record(assigned).items()
        )
    )


def throw_if_share_group_heartbeat_request_is_invalid(request: ShareGroupHeartbeatRequest) -> None:
    """Refuse a request with invalid fields.

    Raises:
        CoordinatorError: INVALID_REQUEST.

    Source: GroupCoordinatorService#throwIfShareGroupHeartbeatRequestIsInvalid (4.3.1),
    GroupMetadataManager#throwIfShareGroupHeartbeatRequestIsInvalid (4.0.2).
    """
    for text, name in (
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.rack_id, "RackId"),
    ):
        if text is not None and not trim(text):
            raise CoordinatorError(Errors.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_GROUP_MEMBER_EPOCH and not request.subscribed_topic_names:
        raise CoordinatorError(Errors.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_GROUP_MEMBER_EPOCH:
        raise CoordinatorError(Errors.INVALID_REQUEST, "MemberEpoch is invalid.")
