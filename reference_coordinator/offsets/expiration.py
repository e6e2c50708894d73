"""Removal of offsets that expire or whose topic was deleted, and of groups that have none left."""

from collections.abc import Collection, Iterable

from reference_coordinator.core.effects import NO_REPLICAS
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.core.java import as_long
from reference_coordinator.core.records import (
    CoordinatorRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.classic.membership import BEFORE_FIRST_GENERATION
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group import Group, GroupType, OffsetExpirationCondition
from reference_coordinator.groups.group_metadata_manager import PendingDeletion
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.values import OffsetAndMetadata
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.coordinator_result import CoordinatorResult, VoidResult
from reference_coordinator.runtime.deadlines import CleanUpOffsets, OffsetExpirationKey


def schedule_group_metadata_expiration(shard: CoordinatorShard, partition: int | None) -> None:
    """Schedule the next expiry check, one interval from now, for one partition or for all owned ones.

    The Scala coordinator checks all partitions at once; gaining or losing one does not move the schedule.

    Source: GroupCoordinatorShard#scheduleGroupMetadataExpiration (4.3.1),
    GroupMetadataManager#startup (3.9.2).
    """
    if shard.profile.coordinator is CoordinatorFamily.SCALA:
        partition = None
    key = OffsetExpirationKey(partition=partition)
    if shard.timers.deadline_of(key) is None:
        at_ms = shard.now_ms + shard.config.offsets_retention_check_interval_ms
        shard.timers.schedule(key, at_ms, CleanUpOffsets(partition=partition))


def cancel_group_metadata_expiration(shard: CoordinatorShard, partition: int) -> None:
    """Cancel the expiry checks of a partition, and every check once no partition is owned.

    Decided in: GroupCoordinatorShard#onUnloaded (4.3.1).
    """
    shard.timers.cancel(OffsetExpirationKey(partition=partition))
    if not shard.partitions.are_any_owned:
        shard.timers.cancel(OffsetExpirationKey(partition=None))


def cleanup_all_group_metadata(shard: CoordinatorShard, partition: int | None) -> None:
    """Remove the offsets that have expired, and the groups that have none left.

    Decided in: GroupCoordinatorShard#cleanupGroupMetadata (4.3.1),
    GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            for group in shard.groups():
                expired = expired_offsets(shard, group)
                cleanup_group_metadata(shard, as_classic_group(group), expired, of_transactions_too=False)
        case CoordinatorFamily.JAVA:
            assert partition is not None, "each partition is looked at by itself"
            for group in shard.groups_of(partition):
                if group.type is GroupType.SHARE and shard.profile.has(Behaviour.SHARE_GROUPS_STAY):
                    continue
                result = _maybe_delete_group(shard, group, expired_offsets(shard, group))
                shard.append(group.group_id, result)
    schedule_group_metadata_expiration(shard, partition)


def cleanup_group_metadata(
    shard: CoordinatorShard,
    group: ClassicGroup,
    partitions: Iterable[TopicPartition],
    *,
    of_transactions_too: bool = True,
) -> None:
    """Remove offsets of a group at once, and the group if it is empty and has none left.

    The operation that appends the tombstones does not wait for them, not even for other replicas: a failed
    write changes nothing. Expiry ignores pending transactional offsets.

    Source: GroupMetadataManager#cleanupGroupMetadata (3.9.2).
    """
    removed = [
        each
        for each in partitions
        if _forget_offset(shard, group.group_id, each, of_transactions_too=of_transactions_too)
    ]
    records: list[CoordinatorRecord] = [new_offset_commit_tombstone_record(group, each) for each in removed]
    has_nothing = not shard.offsets.has_offsets(group.group_id)
    if group.state is ClassicGroupState.EMPTY and has_nothing:
        group.transition_to(ClassicGroupState.DEAD, now_ms=shard.now_ms)
        if shard.pauses_at_dead:
            shard.pending_deletions.append(PendingDeletion(token=None, groups=(group,), results=()))
    if group.state is ClassicGroupState.DEAD and not _is_paused(shard, group):
        shard.remove_group(group.group_id)
        # The Scala coordinator keeps open transactions in the group, the Java one apart from it.
        shard.offsets.transactions.forget_group(group.group_id)
        if group.generation_id > BEFORE_FIRST_GENERATION:
            records.extend(group.create_group_tombstone_records())
    result = VoidResult(records=tuple(records), replay_records=False)
    shard.append(group.group_id, result, required_acks=NO_REPLICAS)


def _forget_offset(
    shard: CoordinatorShard, group_id: GroupId, partition: TopicPartition, *, of_transactions_too: bool
) -> bool:
    """Remove a partition's pending and committed offset; return whether there was a committed one.

    Decided in: GroupMetadata#removeOffsets (3.9.2).
    """
    shard.offsets.forget_pending(group_id, partition)
    if of_transactions_too:
        shard.offsets.transactions.clear(group_id, partition)
    return shard.offsets.remove(group_id, partition)


def _is_paused(shard: CoordinatorShard, group: Group) -> bool:
    return any(paused is group for each in shard.pending_deletions for paused in each.groups)


def on_topics_deleted(shard: CoordinatorShard, topics: Collection[str]) -> None:
    """Remove all offsets of deleted topics.

    Source: OffsetMetadataManager#onTopicsDeleted (4.3.1), GroupCoordinator#handleDeletedPartitions (3.9.2).
    """
    for group in shard.groups():
        gone = [each for each in all_partitions(shard, group.group_id) if each.topic in topics]
        match shard.profile.coordinator:
            case CoordinatorFamily.SCALA:
                cleanup_group_metadata(shard, as_classic_group(group), gone)
            case CoordinatorFamily.JAVA:
                records = tuple(new_offset_commit_tombstone_record(group, each) for each in gone)
                shard.append(group.group_id, VoidResult(records=records))


def expired_offsets(shard: CoordinatorShard, group: Group) -> list[TopicPartition]:
    """Return the partitions whose offsets have outlived their retention.

    Decided in: OffsetMetadataManager#cleanupExpiredOffsets (4.3.1),
    GroupMetadata#removeExpiredOffsets (3.9.2).
    """
    condition = group.offset_expiration_condition()
    if condition is None:
        return []
    return [
        partition
        for partition, offset in shard.offsets.of_group(group.group_id).items()
        if not _is_in_use(shard, group, partition) and is_offset_expired(shard, offset, condition)
    ]


def _is_in_use(shard: CoordinatorShard, group: Group, partition: TopicPartition) -> bool:
    is_read = not group.is_empty and group.is_subscribed_to_topic(partition.topic)
    if is_read or shard.offsets.has_pending_offset_commits_for_topic_partition(group.group_id, partition):
        return True
    expires_underneath = shard.profile.has(Behaviour.PENDING_OFFSETS_EXPIRE_UNDERNEATH)
    return not expires_underneath and shard.offsets.transactions.contains(group.group_id, partition)


def is_offset_expired(
    shard: CoordinatorShard, offset: OffsetAndMetadata, condition: OffsetExpirationCondition
) -> bool:
    """Return whether an offset's own retention, or else the broker's, has passed.

    Source: OffsetExpirationConditionImpl#isOffsetExpired (4.3.1).
    """
    if offset.expire_timestamp_ms is not None:
        return shard.now_ms >= offset.expire_timestamp_ms
    age_ms = as_long(shard.now_ms - condition.base_timestamp_ms(offset.commit_timestamp_ms))
    return age_ms >= shard.config.offsets_retention_ms


def _maybe_delete_group(shard: CoordinatorShard, group: Group, expired: list[TopicPartition]) -> VoidResult:
    """Source: GroupMetadataManager#maybeDeleteGroup (4.3.1)."""
    records: list[CoordinatorRecord] = [new_offset_commit_tombstone_record(group, each) for each in expired]
    committed = shard.offsets.of_group(group.group_id)
    all_expired = len(expired) == len(committed)
    if all_expired and group.is_empty and not _is_kept_open(shard, group):
        records.extend(group.create_group_tombstone_records())
    return CoordinatorResult(records=tuple(records))


def _is_kept_open(shard: CoordinatorShard, group: Group) -> bool:
    """Return whether an open transaction prevents the deletion of an empty group.

    Decided in: OffsetMetadataManager#cleanupExpiredOffsets (4.3.1).
    """
    has_committed = bool(shard.offsets.of_group(group.group_id))
    keeps = has_committed or shard.profile.has(Behaviour.PENDING_OFFSETS_KEEP_GROUP)
    return keeps and bool(shard.offsets.transactions.partitions(group.group_id))


def all_partitions(shard: CoordinatorShard, group_id: GroupId) -> tuple[TopicPartition, ...]:
    """Return the partitions with offsets, committed or in open transactions.

    Decided in: OffsetMetadataManager#deleteAllOffsets (4.3.1).
    """
    committed = shard.offsets.of_group(group_id)
    return tuple(dict.fromkeys((*committed, *shard.offsets.transactions.partitions(group_id))))


def new_offset_commit_tombstone_record(group: Group, partition: TopicPartition) -> OffsetCommitTombstone:
    """Build the tombstone that deletes an offset in the log.

    Source: GroupCoordinatorRecordHelpers#newOffsetCommitTombstoneRecord (4.3.1).
    """
    return OffsetCommitTombstone(
        group_id=group.group_id, topic=partition.topic, partition=partition.partition
    )
