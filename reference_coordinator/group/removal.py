"""Forgetting: offsets that expire, groups that are left with nothing, and groups deleted on request."""

from collections.abc import Callable, Collection, Iterable

from reference_coordinator.classic.deadlines import CleanUpOffsets, OffsetExpirationKey
from reference_coordinator.classic.group import BEFORE_FIRST_GENERATION, ClassicGroup
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, Millis, ResponseToken
from reference_coordinator.core.java import as_long
from reference_coordinator.core.records import (
    CoordinatorRecord,
    GroupMetadataTombstone,
    OffsetCommitTombstone,
)
from reference_coordinator.group.append_errors import handle_operation_exception
from reference_coordinator.group.appends import Deletion, GroupsDeleted, HeldDeletion, NobodyWaits
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from reference_coordinator.offsets.values import OffsetAndMetadata, TopicPartition
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily

_BaseTimestamp = Callable[[OffsetAndMetadata], Millis]


def schedule_group_metadata_expiration(shard: Shard, partition: int | None) -> None:
    """Look for what has expired one interval from now, in a partition or else in all that are owned.

    The Scala coordinator has one look at everything, whose rhythm does not change with what it owns.

    Source: GroupCoordinatorShard#scheduleGroupMetadataExpiration (4.3.1),
    GroupMetadataManager#startup (3.9.2).
    """
    if shard.profile.coordinator is CoordinatorFamily.SCALA:
        partition = None
    key = OffsetExpirationKey(partition=partition)
    if shard.timers.deadline_of(key) is None:
        at_ms = shard.now_ms + shard.config.offsets_retention_check_interval_ms
        shard.timers.schedule(key, at_ms, CleanUpOffsets(partition=partition))


def cancel_group_metadata_expiration(shard: Shard, partition: int) -> None:
    """Look no more for what has expired in a partition, nor at all once none is owned.

    Source: GroupCoordinatorShard#cancelGroupMetadataExpiration (4.3.1).
    """
    shard.timers.cancel(OffsetExpirationKey(partition=partition))
    if not shard.partitions.are_any_owned:
        shard.timers.cancel(OffsetExpirationKey(partition=None))


def cleanup_all_group_metadata(shard: Shard, partition: int | None) -> None:
    """Forget the offsets that have expired, and the groups that are left with nothing.

    Source: GroupCoordinatorShard#cleanupGroupMetadata (4.3.1),
    GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            for group in shard.groups():
                expired = expired_offsets(shard, group)
                cleanup_group_metadata(shard, group, expired, of_transactions_too=False)
        case CoordinatorFamily.JAVA:
            assert partition is not None, "each partition is looked at by itself"
            for group in shard.groups_of(partition):
                _append_tombstones(shard, group, expired_offsets(shard, group))
    schedule_group_metadata_expiration(shard, partition)


def cleanup_group_metadata(
    shard: Shard,
    group: ClassicGroup,
    partitions: Iterable[TopicPartition],
    *,
    of_transactions_too: bool = True,
) -> None:
    """Forget offsets of a group at once, and the group if it is empty and has none left.

    Whether the tombstones are written makes no difference. Expiry leaves alone what transactions hold.

    Source: GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    removed = [
        each
        for each in partitions
        if _forget_offset(shard, group.group_id, each, of_transactions_too=of_transactions_too)
    ]
    records: list[CoordinatorRecord] = [_offset_tombstone(group, each) for each in removed]
    has_nothing = not shard.offsets.has_offsets(group.group_id)
    if group.state is ClassicGroupState.EMPTY and has_nothing:
        group.transition_to(ClassicGroupState.DEAD, now_ms=shard.now_ms)
        if shard.holds_dead:
            shard.held_deletions.append(HeldDeletion(token=None, groups=(group,), results=()))
    if group.state is ClassicGroupState.DEAD and not _is_held(shard, group):
        shard.remove_group(group.group_id)
        if group.generation_id > BEFORE_FIRST_GENERATION:
            records.append(GroupMetadataTombstone(group_id=group.group_id))
    if records:
        shard.append(group.group_id, tuple(records), NobodyWaits())


def _forget_offset(
    shard: Shard, group_id: GroupId, partition: TopicPartition, *, of_transactions_too: bool
) -> bool:
    """Forget what there is of a partition, on its way or committed; whether it was committed.

    Source: GroupMetadata#removeOffsets (3.9.2).
    """
    shard.offsets.forget_pending(group_id, partition)
    if of_transactions_too:
        shard.offsets.transactions.forget(group_id, partition)
    return shard.offsets.remove(group_id, partition)


def _is_held(shard: Shard, group: ClassicGroup) -> bool:
    return any(held is group for each in shard.held_deletions for held in each.groups)


def on_topics_deleted(shard: Shard, topics: Collection[str]) -> None:
    """Forget all offsets of topics that are no more.

    Source: OffsetMetadataManager#onTopicsDeleted (4.3.1), GroupCoordinator#handleDeletedPartitions (3.9.2).
    """
    for group in shard.groups():
        gone = [each for each in _all_partitions(shard, group.group_id) if each.topic in topics]
        match shard.profile.coordinator:
            case CoordinatorFamily.SCALA:
                cleanup_group_metadata(shard, group, gone)
            case CoordinatorFamily.JAVA:
                records = tuple(_offset_tombstone(group, each) for each in gone)
                if records:
                    shard.append(group.group_id, records, NobodyWaits(), replays=True)


def expired_offsets(shard: Shard, group: ClassicGroup) -> list[TopicPartition]:
    """The partitions whose offsets have outlived their retention.

    Source: OffsetMetadataManager#cleanupExpiredOffsets (4.3.1), GroupMetadata#removeExpiredOffsets (3.9.2).
    """
    base_timestamp = offset_expiration_condition(shard, group)
    if base_timestamp is None:
        return []
    return [
        partition
        for partition, offset in shard.offsets.of_group(group.group_id).items()
        if not _is_in_use(shard, group, partition) and is_offset_expired(shard, offset, base_timestamp)
    ]


def _is_in_use(shard: Shard, group: ClassicGroup, partition: TopicPartition) -> bool:
    is_active = group.state is not ClassicGroupState.EMPTY
    is_read = is_active and group.is_subscribed_to_topic(partition.topic)
    if is_read or shard.offsets.is_pending(group.group_id, partition):
        return True
    expires_underneath = shard.profile.has(Behaviour.PENDING_OFFSETS_EXPIRE_UNDERNEATH)
    return not expires_underneath and shard.offsets.transactions.has(group.group_id, partition)


def offset_expiration_condition(shard: Shard, group: ClassicGroup) -> _BaseTimestamp | None:
    """From when retention counts for a group's offsets; None while none of them expires.

    Source: ClassicGroup#offsetExpirationCondition (4.3.1).
    """
    if group.protocol_type is None:
        return _commit_timestamp
    if group.state is ClassicGroupState.EMPTY:
        since_ms = group.current_state_timestamp_ms
        return _commit_timestamp if since_ms is None else lambda _: since_ms
    stable_only = shard.profile.has(Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS)
    if stable_only and group.state is not ClassicGroupState.STABLE:
        return None
    knows_topics = group.uses_consumer_group_protocol and group.subscribed_topics is not None
    return _commit_timestamp if knows_topics else None


def _commit_timestamp(offset: OffsetAndMetadata) -> Millis:
    return offset.commit_timestamp_ms


def is_offset_expired(shard: Shard, offset: OffsetAndMetadata, base_timestamp: _BaseTimestamp) -> bool:
    """Whether an offset's own retention, or else the broker's, has passed.

    Source: OffsetExpirationConditionImpl#isOffsetExpired (4.3.1).
    """
    if offset.expire_timestamp_ms is not None:
        return shard.now_ms >= offset.expire_timestamp_ms
    age_ms = as_long(shard.now_ms - base_timestamp(offset))
    return age_ms >= shard.config.offsets_retention_ms


def _append_tombstones(shard: Shard, group: ClassicGroup, expired: list[TopicPartition]) -> None:
    """Source: GroupMetadataManager#maybeDeleteGroup (4.3.1)."""
    records: list[CoordinatorRecord] = [_offset_tombstone(group, each) for each in expired]
    committed = shard.offsets.of_group(group.group_id)
    all_expired = len(expired) == len(committed)
    if all_expired and group.state is ClassicGroupState.EMPTY and not _is_kept_open(shard, group):
        records.append(GroupMetadataTombstone(group_id=group.group_id))
    if records:
        shard.append(group.group_id, tuple(records), NobodyWaits(), replays=True)


def _is_kept_open(shard: Shard, group: ClassicGroup) -> bool:
    """Whether an open transaction keeps an empty group.

    Source: OffsetMetadataManager#cleanupExpiredOffsets (4.3.1).
    """
    has_committed = bool(shard.offsets.of_group(group.group_id))
    keeps = has_committed or shard.profile.has(Behaviour.PENDING_OFFSETS_KEEP_GROUP)
    return keeps and bool(shard.offsets.transactions.partitions(group.group_id))


def delete_groups(shard: Shard, request: DeleteGroupsRequest, token: ResponseToken) -> None:
    """Forget groups that nobody is in, with their offsets.

    Source: GroupCoordinatorShard#deleteGroups (4.3.1), GroupCoordinator#handleDeleteGroups (3.9.2).
    """
    group_ids = tuple(dict.fromkeys(request.groups_names))
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            _delete_at_once(shard, group_ids, token)
        case CoordinatorFamily.JAVA:
            _delete_when_written(shard, group_ids, token)


def validate_delete_group(shard: Shard, group_id: GroupId) -> ClassicGroup:
    """Find a group and refuse it if somebody is in it; a pending member is not.

    Raises:
        CoordinatorError: this broker does not coordinate it, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

    Source: ClassicGroup#validateDeleteGroup (4.3.1), GroupCoordinator#handleDeleteGroups (3.9.2).
    """
    shard.throw_if_not_active(group_id)
    group = shard.group(group_id)
    if group is None or group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
    if group.state is not ClassicGroupState.EMPTY:
        raise CoordinatorError(Errors.NON_EMPTY_GROUP)
    return group


def _delete_at_once(shard: Shard, group_ids: tuple[GroupId, ...], token: ResponseToken) -> None:
    """Let groups die, all of them before the first is removed."""
    refused: list[DeletableGroupResult] = []
    dead: list[ClassicGroup] = []
    for group_id in group_ids:
        try:
            group = validate_delete_group(shard, group_id)
        except CoordinatorError as refusal:
            refused.append(DeletableGroupResult(group_id=group_id, error_code=refusal.error))
            continue
        group.transition_to(ClassicGroupState.DEAD, now_ms=shard.now_ms)
        dead.append(group)
    deletion = HeldDeletion(token=token, groups=tuple(dead), results=tuple(refused))
    if dead and shard.holds_dead:
        shard.held_deletions.append(deletion)
    else:
        _remove_dead_groups(shard, deletion)


def remove_held_groups(shard: Shard) -> None:
    """Go on with what was held between the death of groups and their removal.

    Source: GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    held, shard.held_deletions = shard.held_deletions, []
    for deletion in held:
        _remove_dead_groups(shard, deletion)


def _remove_dead_groups(shard: Shard, deletion: HeldDeletion) -> None:
    for group in deletion.groups:
        if shard.group(group.group_id) is group:
            cleanup_group_metadata(shard, group, list(shard.offsets.of_group(group.group_id)))
    deleted = (
        DeletableGroupResult(group_id=each.group_id, error_code=Errors.NONE) for each in deletion.groups
    )
    if deletion.token is not None:
        shard.respond(deletion.token, DeleteGroupsResponse(results=(*deletion.results, *deleted)))


def _delete_when_written(shard: Shard, group_ids: tuple[GroupId, ...], token: ResponseToken) -> None:
    deletion = Deletion(token=token, outstanding=0, results=[])
    records: dict[int, list[CoordinatorRecord]] = {}
    deletable: dict[int, list[GroupId]] = {}
    for group_id in group_ids:
        try:
            group = validate_delete_group(shard, group_id)
        except CoordinatorError as refusal:
            result = DeletableGroupResult(group_id=group_id, error_code=refusal.error)
            deletion.results.append(result)
            continue
        partition = shard.partition_for(group_id)
        deletable.setdefault(partition, []).append(group_id)
        records.setdefault(partition, []).extend(
            [
                *(_offset_tombstone(group, each) for each in _all_partitions(shard, group_id)),
                GroupMetadataTombstone(group_id=group_id),
            ]
        )
    deletion.outstanding = len(records)
    for partition, tombstones in records.items():
        named = tuple(deletable[partition])
        deleted = GroupsDeleted(deletion=deletion, group_ids=named)
        shard.append(named[0], tuple(tombstones), deleted, replays=True)
    _answer_if_through(shard, deletion)


def _all_partitions(shard: Shard, group_id: GroupId) -> tuple[TopicPartition, ...]:
    """The partitions with offsets, committed or of transactions.

    Source: OffsetMetadataManager#deleteAllOffsets (4.3.1).
    """
    committed = shard.offsets.of_group(group_id)
    return tuple(dict.fromkeys((*committed, *shard.offsets.transactions.partitions(group_id))))


def groups_deleted(shard: Shard, deleted: GroupsDeleted, error: Errors) -> None:
    """Note that groups of one partition are gone or stay; answer when that was the last partition.

    Source: GroupCoordinatorService#deleteGroups (4.3.1).
    """
    told = handle_operation_exception(error)
    deletion = deleted.deletion
    deletion.results.extend(
        DeletableGroupResult(group_id=each, error_code=told) for each in deleted.group_ids
    )
    deletion.outstanding -= 1
    _answer_if_through(shard, deletion)


def _answer_if_through(shard: Shard, deletion: Deletion) -> None:
    if deletion.outstanding == 0:
        shard.respond(deletion.token, DeleteGroupsResponse(results=tuple(deletion.results)))


def _offset_tombstone(group: ClassicGroup, partition: TopicPartition) -> OffsetCommitTombstone:
    return OffsetCommitTombstone(
        group_id=group.group_id, topic=partition.topic, partition=partition.partition
    )
