"""Requests of classic members to a streams group."""

from dataclasses import replace

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import UNKNOWN_MEMBER_ID
from reference_coordinator.groups.classic.join import classic_group_join_to_classic_group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.deadlines import InitialRebalanceKey
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, VoidResult
from reference_coordinator.runtime.error_responses import join_error
from reference_coordinator.runtime.parked import Join


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
