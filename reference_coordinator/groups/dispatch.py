"""Dispatch of requests, deadlines and records by the type of their group.

Callers have checked that this is the group's coordinator and that the group id is valid.
"""

from collections.abc import Collection
from typing import assert_never

from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.records import GroupMetadataRecord
from reference_coordinator.core.share_records import ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.groups.classic import expiry, loading
from reference_coordinator.groups.classic.deadlines import ClassicGroupDeadline
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.heartbeat import classic_group_heartbeat_to_classic_group
from reference_coordinator.groups.classic.join import classic_group_join_to_classic_group
from reference_coordinator.groups.classic.leave import (
    classic_group_leave_to_classic_group,
    leave_result,
    left,
)
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.classic.sync import classic_group_sync_to_classic_group
from reference_coordinator.groups.consumer import expiry as consumer_expiry
from reference_coordinator.groups.consumer import loading as consumer_loading
from reference_coordinator.groups.consumer.classic_join import (
    classic_group_join_to_consumer_group,
    join_instead_of_empty_consumer_group,
)
from reference_coordinator.groups.consumer.classic_members import (
    classic_group_heartbeat_to_consumer_group,
    classic_group_leave_to_consumer_group,
    classic_group_sync_to_consumer_group,
)
from reference_coordinator.groups.consumer.deadlines import ConsumerGroupDeadline
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.lookups import as_consumer_group
from reference_coordinator.groups.group import Group, GroupType
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share import expiry as share_expiry
from reference_coordinator.groups.share import loading as share_loading
from reference_coordinator.groups.share.deadlines import ShareGroupDeadline
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.lookups import as_share_group
from reference_coordinator.groups.streams import expiry as streams_expiry
from reference_coordinator.groups.streams import loading as streams_loading
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.lookups import as_streams_group, classic_group_join_to_streams_group
from reference_coordinator.groups.streams.timers import StreamsGroupDeadline
from reference_coordinator.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupResponse,
)
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    CoordinatorResult,
    Join,
    Sync,
    VoidResult,
)
from reference_coordinator.runtime.deadlines import GroupDeadline
from reference_coordinator.runtime.error_responses import join_error, sync_error


def classic_group_join(shard: GroupMetadataManager, join: Join) -> VoidResult:
    """Answer or park a JoinGroup. Source: GroupMetadataManager#classicGroupJoin (4.3.1)."""
    group = shard.find_group(join.request.group_id)
    if group is None:
        return classic_group_join_to_classic_group(shard, join)
    match group.type:
        case GroupType.CLASSIC:
            return classic_group_join_to_classic_group(shard, join)
        case GroupType.CONSUMER if group.is_empty:
            # A classic group replaces a consumer group without members.
            return join_instead_of_empty_consumer_group(shard, as_consumer_group(group), join)
        case GroupType.CONSUMER:
            return classic_group_join_to_consumer_group(shard, as_consumer_group(group), join)
        case GroupType.SHARE:
            shard.respond(join.token, join_error(UNKNOWN_MEMBER_ID, Errors.INCONSISTENT_GROUP_PROTOCOL))
            return EMPTY_RESULT
        case GroupType.STREAMS:
            return classic_group_join_to_streams_group(shard, as_streams_group(group), join)
        case _:
            assert_never(group.type)


def classic_group_sync(shard: GroupMetadataManager, sync: Sync) -> CoordinatorResult[SyncGroupResponse]:
    """Answer or park a SyncGroup.

    Raises:
        CoordinatorError: a consumer group refused the request.

    Source: GroupMetadataManager#classicGroupSync (4.3.1), GroupCoordinator#handleSyncGroup (3.9.2).
    """
    group = shard.find_group(sync.request.group_id)
    if group is None or group.is_empty:
        shard.respond(sync.token, sync_error(Errors.UNKNOWN_MEMBER_ID))
        return EMPTY_RESULT
    match group.type:
        case GroupType.CLASSIC:
            return classic_group_sync_to_classic_group(shard, as_classic_group(group), sync)
        case GroupType.CONSUMER:
            return classic_group_sync_to_consumer_group(shard, as_consumer_group(group), sync)
        case GroupType.SHARE | GroupType.STREAMS:
            shard.respond(sync.token, sync_error(Errors.UNKNOWN_MEMBER_ID))
            return EMPTY_RESULT
        case _:
            assert_never(group.type)


def classic_group_heartbeat(
    shard: GroupMetadataManager, request: HeartbeatRequest
) -> CoordinatorResult[HeartbeatResponse]:
    """Handle a heartbeat.

    Raises:
        CoordinatorError: the heartbeat is refused.

    Source: GroupMetadataManager#classicGroupHeartbeat (4.3.1), GroupCoordinator#handleHeartbeat (3.9.2).
    """
    group = shard.find_group(request.group_id)
    if group is None:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    match group.type:
        case GroupType.CLASSIC:
            return classic_group_heartbeat_to_classic_group(shard, as_classic_group(group), request)
        case GroupType.CONSUMER:
            return classic_group_heartbeat_to_consumer_group(shard, as_consumer_group(group), request)
        case GroupType.SHARE | GroupType.STREAMS:
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
        case _:
            assert_never(group.type)


def classic_group_leave(
    shard: GroupMetadataManager, request: LeaveGroupRequest
) -> CoordinatorResult[LeaveGroupResponse]:
    """Remove members that leave.

    Source: GroupMetadataManager#classicGroupLeave (4.3.1), GroupCoordinator#handleLeaveGroup (3.9.2).
    """
    group = shard.find_group(request.group_id)
    if group is None:
        return _unknown_members(request)
    match group.type:
        case GroupType.CLASSIC:
            return classic_group_leave_to_classic_group(shard, as_classic_group(group), request)
        case GroupType.CONSUMER:
            return classic_group_leave_to_consumer_group(shard, as_consumer_group(group), request)
        case GroupType.SHARE | GroupType.STREAMS:
            return _unknown_members(request)
        case _:
            assert_never(group.type)


def _unknown_members(request: LeaveGroupRequest) -> CoordinatorResult[LeaveGroupResponse]:
    unknown = tuple(left(each, Errors.UNKNOWN_MEMBER_ID) for each in request.members)
    return CoordinatorResult(response=leave_result(unknown))


def fall_due(shard: GroupMetadataManager, deadline: GroupDeadline) -> VoidResult:
    """Handle an expired deadline, if its group still exists and has the same type."""
    group = shard.find_group(deadline.group_id)
    if isinstance(group, ClassicGroup) and isinstance(deadline, ClassicGroupDeadline):
        return expiry.fall_due(shard, group, deadline)
    if isinstance(group, ConsumerGroup) and isinstance(deadline, ConsumerGroupDeadline):
        return consumer_expiry.fall_due(shard, group, deadline)
    if isinstance(group, ShareGroup) and isinstance(deadline, ShareGroupDeadline):
        return share_expiry.fall_due(shard, group, deadline)
    if isinstance(group, StreamsGroup) and isinstance(deadline, StreamsGroupDeadline):
        return streams_expiry.fall_due(shard, group, deadline)
    return EMPTY_RESULT


def as_persisted_consumer_group(group: Group | None, record: ConsumerGroupRecord) -> ConsumerGroup | None:
    """Return the consumer group of a record, or None if it must be created, also over a simple group.

    A simple group is a classic group that has only offsets. The log has no record of the group itself.

    Raises:
        IllegalStateError: a group of another type has the id.

    Decided in: GroupMetadataManager#getOrMaybeCreatePersistedConsumerGroup (4.3.1).
    """
    if group is None or isinstance(group, ConsumerGroup):
        return group
    if isinstance(group, ClassicGroup) and group.is_simple_group:
        return None
    raise IllegalStateError(f"Group {record.group_id} is not a consumer group")


def as_persisted_share_group(group: Group | None, record: ShareGroupRecord) -> ShareGroup | None:
    """Return the share group of a record, or None if it must be created.

    Raises:
        IllegalStateError: a group of another type has the id.

    Decided in: GroupMetadataManager#getOrMaybeCreatePersistedShareGroup (4.3.1).
    """
    if group is None or isinstance(group, ShareGroup):
        return group
    raise IllegalStateError(f"Group {record.group_id} is not a share group")


def as_persisted_streams_group(group: Group | None, record: StreamsGroupRecord) -> StreamsGroup | None:
    """Return the streams group of a record, or None if it must be created, also over a simple group.

    Raises:
        IllegalStateError: a group of another type has the id.

    Decided in: GroupMetadataManager#getOrMaybeCreatePersistedStreamsGroup (4.3.1).
    """
    if group is None or isinstance(group, StreamsGroup):
        return group
    if isinstance(group, ClassicGroup) and group.is_simple_group:
        return None
    raise IllegalStateError(f"Group {record.group_id} is not a streams group.")


def replay(shard: GroupMetadataManager, record: GroupMetadataRecord) -> None:
    """Register the classic group of a record. Source: GroupMetadataManager#replay (4.3.1)."""
    shard.put_group(loading.load_group(shard, record))


def on_loaded(shard: GroupMetadataManager, partition: int) -> None:
    """Resume the groups of a partition after its log has been loaded.

    Source: GroupMetadataManager#onLoaded (4.3.1).
    """
    for group in shard.groups_of(partition):
        match group.type:
            case GroupType.CLASSIC:
                loading.on_group_loaded(shard, as_classic_group(group))
            case GroupType.CONSUMER:
                consumer_loading.on_group_loaded(shard, as_consumer_group(group))
            case GroupType.SHARE:
                share_loading.on_group_loaded(shard, as_share_group(group))
            case GroupType.STREAMS:
                streams_loading.on_group_loaded(shard, as_streams_group(group))
            case _:
                assert_never(group.type)


def on_metadata_update(
    shard: GroupMetadataManager, image: MetadataImage, changed_topics: Collection[str]
) -> None:
    """Store a new metadata image, and request a refresh for the groups that subscribe to changed topics.

    Source: GroupMetadataManager#onMetadataUpdate (4.3.1), GroupMetadataManager#onNewMetadataImage (4.2.1).
    """
    known = {each.topic_id for each in shard.metadata_image.topics.values()}
    has_new_topics = any(each.topic_id not in known for each in image.topics.values())
    shard.metadata_image = image
    if has_new_topics or shard.last_image_with_new_topics < 0:
        shard.last_image_with_new_topics = image.version
    for group in shard.groups():
        if isinstance(group, ConsumerGroup | ShareGroup) and any(
            map(group.is_subscribed_to_topic, changed_topics)
        ):
            group.request_metadata_refresh()
        if isinstance(group, StreamsGroup) and group.requires_any_topic(changed_topics):
            group.request_metadata_refresh()


def on_unloaded(shard: GroupMetadataManager, partition: int) -> None:
    """Unload the groups of a partition that another broker now owns.

    Source: GroupMetadataManager#onUnloaded (4.3.1).
    """
    for group in shard.groups_of(partition):
        match group.type:
            case GroupType.CLASSIC:
                loading.on_group_unloaded(shard, as_classic_group(group))
            case GroupType.CONSUMER | GroupType.SHARE | GroupType.STREAMS:
                # Such groups have no parked requests.
                continue
            case _:
                assert_never(group.type)
