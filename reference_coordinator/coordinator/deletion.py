"""DeleteGroups: delete groups and their offsets on request."""

from dataclasses import dataclass

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import PendingDeletion
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.offsets import (
    persister_delete,
    share_group_build_partition_delete_request,
)
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_state_partition_metadata_record,
)
from reference_coordinator.groups.share.state_partitions import attach_topic_name
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from reference_coordinator.offsets.expiration import (
    all_partitions,
    cleanup_group_metadata,
    new_offset_commit_tombstone_record,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import handle_operation_exception
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, Continuation, CoordinatorResult


@dataclass(slots=True, kw_only=True, eq=False)
class Deletion:
    """A DeleteGroups in progress: one write for each partition, and one answer after the last write."""

    token: ResponseToken
    outstanding: int
    results: list[DeletableGroupResult]


@value
class GroupsDeleted(Continuation):
    """What to do after the tombstones of one partition's groups were written or failed."""

    shard: CoordinatorShard
    deletion: Deletion
    group_ids: tuple[GroupId, ...]
    """The groups of one partition that could be deleted."""

    @override
    def append_completed(self, error: Errors) -> None:
        """Record whether one partition's groups were deleted; answer after the last partition.

        Decided in: GroupCoordinatorService#deleteGroups (4.3.1).
        """
        reported = handle_operation_exception(error)
        self.deletion.results.extend(
            DeletableGroupResult(group_id=each, error_code=reported) for each in self.group_ids
        )
        self.deletion.outstanding -= 1
        if self.deletion.outstanding == 0:
            results = tuple(self.deletion.results)
            self.shard.respond(self.deletion.token, DeleteGroupsResponse(results=results))


@value
class OpenBatchWritten(Continuation):
    """The deletion of a group that awaits what is being written before it."""

    shard: CoordinatorShard
    deletion: Deletion
    group_id: GroupId

    @override
    def append_completed(self, error: Errors) -> None:
        """Delete the group, or record that what was before the deletion could not be written.

        Decided in: GroupCoordinatorService#deleteGroups and #deleteShareGroups (4.1.0).
        """
        self.deletion.outstanding -= 1
        group_ids: tuple[GroupId, ...] = (self.group_id,)
        if error is not Errors.NONE:
            reported = handle_operation_exception(error)
            self.deletion.results.append(DeletableGroupResult(group_id=self.group_id, error_code=reported))
            group_ids = ()
        response = _delete_when_written(self.shard, group_ids, self.deletion).response
        if response is not None:
            self.shard.respond(self.deletion.token, response)


def delete_groups(
    shard: CoordinatorShard, request: DeleteGroupsRequest, token: ResponseToken
) -> CoordinatorResult[DeleteGroupsResponse]:
    """Delete groups without members, with their offsets.

    The Java coordinator uses one operation for each partition, and answers when the last one ends.

    Source: GroupCoordinatorShard#deleteGroups (4.3.1), GroupCoordinator#handleDeleteGroups (3.9.2).
    """
    group_ids = tuple(dict.fromkeys(request.groups_names))
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            return _delete_at_once(shard, group_ids, token)
        case CoordinatorFamily.JAVA:
            deletion = Deletion(token=token, outstanding=0, results=[])
            behind = frozenset(each for each in group_ids if _awaits_open_batch(shard, each, deletion))
            deletion.outstanding = len(behind)
            at_once = tuple(each for each in group_ids if each not in behind)
            return _delete_when_written(shard, at_once, deletion)


def validate_delete_group(shard: CoordinatorShard, group_id: GroupId) -> Group:
    """Find a group, and refuse to delete it if it has members.

    Raises:
        CoordinatorError: this broker does not coordinate it, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

    Source: GroupMetadataManager#validateDeleteGroup (4.3.1), GroupCoordinator#handleDeleteGroups (3.9.2).
    """
    shard.throw_if_not_active(group_id)
    group = shard.group(group_id)
    group.validate_delete_group()
    return group


def _delete_at_once(
    shard: CoordinatorShard, group_ids: tuple[GroupId, ...], token: ResponseToken
) -> CoordinatorResult[DeleteGroupsResponse]:
    """Mark all groups Dead before the first one is removed."""
    refused: list[DeletableGroupResult] = []
    dead: list[ClassicGroup] = []
    for group_id in group_ids:
        try:
            group = as_classic_group(validate_delete_group(shard, group_id))
        except CoordinatorError as refusal:
            refused.append(DeletableGroupResult(group_id=group_id, error_code=refusal.error))
            continue
        group.transition_to(ClassicGroupState.DEAD, now_ms=shard.now_ms)
        dead.append(group)
    deletion = PendingDeletion(token=token, groups=tuple(dead), results=tuple(refused))
    if dead and shard.pauses_at_dead:
        shard.pending_deletions.append(deletion)
    else:
        _remove_dead_groups(shard, deletion)
    return EMPTY_RESULT


def remove_paused_groups(shard: CoordinatorShard) -> None:
    """Resume the deletions that were paused between marking groups Dead and removing them.

    Decided in: GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    paused, shard.pending_deletions = shard.pending_deletions, []
    for deletion in paused:
        _remove_dead_groups(shard, deletion)


def _remove_dead_groups(shard: CoordinatorShard, deletion: PendingDeletion) -> None:
    for group in deletion.groups:
        if shard.find_group(group.group_id) is group:
            cleanup_group_metadata(
                shard, as_classic_group(group), list(shard.offsets.of_group(group.group_id))
            )
    deleted = (
        DeletableGroupResult(group_id=each.group_id, error_code=Errors.NONE) for each in deletion.groups
    )
    if deletion.token is not None:
        shard.respond(deletion.token, DeleteGroupsResponse(results=(*deletion.results, *deleted)))


def _delete_share_state(shard: CoordinatorShard, group: Group) -> Errors:
    """Delete a share group's partitions from the share coordinator. Return the first error or NONE.

    Kafka first writes this intent to the log. It is not visible once the group is deleted, so it is written
    here only if the group stays.

    Decided in: GroupCoordinatorService#deleteShareGroups (4.3.1).
    """
    if not isinstance(group, ShareGroup):
        return Errors.NONE
    topics = share_group_build_partition_delete_request(shard, group)
    failure = persister_delete(shard, group.group_id, topics)
    if failure is not Errors.NONE:
        deleting = attach_topic_name(topics, shard.metadata_image)
        record = new_share_group_state_partition_metadata_record(group.group_id, {}, {}, deleting)
        shard.append(group.group_id, CoordinatorResult(records=(record,)))
    return failure


def _awaits_open_batch(shard: CoordinatorShard, group_id: GroupId, deletion: Deletion) -> bool:
    if not shard.profile.has(Behaviour.DELETION_AWAITS_OPEN_BATCH):
        return False
    return shard.await_open_batch(
        group_id, OpenBatchWritten(shard=shard, deletion=deletion, group_id=group_id)
    )


def _delete_when_written(
    shard: CoordinatorShard, group_ids: tuple[GroupId, ...], deletion: Deletion
) -> CoordinatorResult[DeleteGroupsResponse]:
    records: dict[int, list[CoordinatorRecord]] = {}
    deletable: dict[int, list[GroupId]] = {}
    for group_id in group_ids:
        try:
            group = validate_delete_group(shard, group_id)
        except CoordinatorError as refusal:
            result = DeletableGroupResult(group_id=group_id, error_code=refusal.error)
            deletion.results.append(result)
            continue
        failure = _delete_share_state(shard, group)
        if failure is not Errors.NONE:
            deletion.results.append(DeletableGroupResult(group_id=group_id, error_code=failure))
            continue
        partition = shard.partition_for(group_id)
        deletable.setdefault(partition, []).append(group_id)
        records.setdefault(partition, []).extend(
            [
                *(
                    new_offset_commit_tombstone_record(group, each)
                    for each in all_partitions(shard, group_id)
                ),
                *group.create_group_tombstone_records(),
            ]
        )
    deletion.outstanding += len(records)
    for partition, tombstones in records.items():
        named = tuple(deletable[partition])
        deleted = GroupsDeleted(shard=shard, deletion=deletion, group_ids=named)
        shard.append(named[0], CoordinatorResult(records=tuple(tombstones), append_future=deleted))
    if deletion.outstanding:
        return EMPTY_RESULT
    return CoordinatorResult(response=DeleteGroupsResponse(results=tuple(deletion.results)))
