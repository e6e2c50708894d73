"""Reading `__consumer_offsets` back: record by record, then the groups become visible."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.member import ClassicGroupMember
from reference_coordinator.classic.rebalance import (
    prepare_rebalance,
    reschedule_classic_group_member_heartbeat,
)
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import NO_PRODUCER_ID, GroupId
from reference_coordinator.core.records import (
    NO_TIMESTAMP_MS,
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.offsets.txn_completion import complete_transaction
from reference_coordinator.offsets.values import OffsetAndMetadata, TopicPartition
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily


@dataclass(slots=True, kw_only=True)
class Loader:
    """What a partition's log has said so far.

    Source: GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2), GroupMetadataManager#replay and
    OffsetMetadataManager#replay (4.3.1).
    """

    shard: Shard
    partition: int
    _groups: dict[GroupId, GroupMetadataRecord | None] = field(default_factory=dict)
    """None stands for a group that is known by its offsets only."""

    def replay(self, records: Iterable[CoordinatorRecord]) -> None:
        """Take in records in the order of the log."""
        known = self.shard.partitions.of(self.partition)
        for record in records:
            self._replay(record, record_offset=known.log_end_offset)
            known.log_end_offset += 1

    def _replay(self, record: CoordinatorRecord, *, record_offset: int) -> None:
        match record:
            case GroupMetadataRecord():
                self._groups[record.group_id] = record
            case GroupMetadataTombstone():
                self._groups.pop(record.group_id, None)
            case OffsetCommitRecord():
                self._groups.setdefault(record.group_id, None)
                replay_offset(self.shard, record, record_offset=record_offset)
            case OffsetCommitTombstone():
                replay_offset_tombstone(self.shard, record)
            case EndTransactionMarker():
                complete_transaction(self.shard, record)
            case _:
                assert_never(record)

    def finish(self) -> None:
        """Build the groups.

        The two coordinators differ in what outlives its tombstone: to the Scala one a group is what it
        has, to the Java one what it was.
        """
        revives = not self.shard.profile.has(Behaviour.TOMBSTONED_GROUP_LOSES_OFFSETS)
        if revives:
            for group_id in self.shard.offsets.groups_with_any():
                if self.shard.partition_for(group_id) == self.partition:
                    self._groups.setdefault(group_id, None)
        stays = self.shard.profile.has(Behaviour.EMPTIED_SIMPLE_GROUP_STAYS)
        for group_id, record in self._groups.items():
            if record is not None:
                self.shard.put_group(load_group(self.shard, record))
            elif stays or self.shard.offsets.has_offsets(group_id):
                self.shard.put_group(_simple_group(self.shard, group_id))
        on_loaded(self.shard, self.partition)


def replay(shard: Shard, records: Iterable[CoordinatorRecord], *, record_offset: int) -> None:
    """Let records that were written, the first of them at that offset of the log, take effect.

    Source: GroupMetadataManager#replay and OffsetMetadataManager#replay (4.3.1).
    """
    for at, record in enumerate(records, record_offset):
        match record:
            case GroupMetadataRecord():
                raise AssertionError("group metadata takes effect before it is written")
            case GroupMetadataTombstone():
                shard.remove_group(record.group_id)
            case OffsetCommitRecord():
                replay_offset(shard, record, record_offset=at)
            case OffsetCommitTombstone():
                replay_offset_tombstone(shard, record)
            case EndTransactionMarker():
                raise AssertionError("the shell tells of markers that it has written")
            case _:
                assert_never(record)


def replay_offset(shard: Shard, record: OffsetCommitRecord, *, record_offset: int) -> None:
    """Let an offset be committed, or await the end of its transaction.

    Source: OffsetMetadataManager#replay (4.3.1).
    """
    partition = TopicPartition(topic=record.topic, partition=record.partition)
    offset = OffsetAndMetadata(
        offset=record.offset,
        leader_epoch=record.leader_epoch,
        metadata=record.metadata,
        commit_timestamp_ms=record.commit_timestamp_ms,
        expire_timestamp_ms=record.expire_timestamp_ms,
        record_offset=record_offset,
    )
    if record.producer_id == NO_PRODUCER_ID:
        shard.offsets.put(record.group_id, partition, offset)
    else:
        shard.offsets.transactions.prepare(record.producer_id, record.group_id, {partition: offset})


def replay_offset_tombstone(shard: Shard, record: OffsetCommitTombstone) -> None:
    """Let an offset be forgotten; to the Java coordinator, those of open transactions too.

    Source: OffsetMetadataManager#replay (4.3.1), GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2).
    """
    partition = TopicPartition(topic=record.topic, partition=record.partition)
    shard.offsets.remove(record.group_id, partition)
    if shard.profile.coordinator is CoordinatorFamily.JAVA:
        shard.offsets.transactions.forget(record.group_id, partition)


def load_group(shard: Shard, record: GroupMetadataRecord) -> ClassicGroup:
    """The group as the log has it: Stable with members, Empty without.

    Source: GroupMetadataManager#replay (4.3.1), GroupMetadata#loadGroup (3.9.2).
    """
    timestamp_ms = record.current_state_timestamp_ms
    group = ClassicGroup(
        group_id=record.group_id,
        profile=shard.profile,
        choices=shard.choices,
        current_state_timestamp_ms=None if timestamp_ms == NO_TIMESTAMP_MS else timestamp_ms,
        state=ClassicGroupState.STABLE if record.members else ClassicGroupState.EMPTY,
        generation_id=record.generation_id,
        protocol_type=record.protocol_type or None,
        protocol_name=record.protocol,
        leader_id=record.leader,
        leader_candidates=() if record.leader is None else (record.leader,),
    )
    for member in record.members:
        group.add(_load_member(record, member))
    group.subscribed_topics = group.compute_subscribed_topics()
    return group


def _load_member(record: GroupMetadataRecord, member: GroupMetadataRecordMember) -> ClassicGroupMember:
    protocol = JoinGroupRequestProtocol(name=record.protocol or "", metadata=member.subscription)
    return ClassicGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.session_timeout_ms,
        protocol_type=record.protocol_type,
        supported_protocols=(protocol,),
        assignment=member.assignment,
    )


def _simple_group(shard: Shard, group_id: GroupId) -> ClassicGroup:
    return ClassicGroup(
        group_id=group_id,
        profile=shard.profile,
        choices=shard.choices,
        current_state_timestamp_ms=shard.now_ms,
    )


def on_loaded(shard: Shard, partition: int) -> None:
    """Begin every member's session anew, and rebalance groups that outgrew the configuration.

    Source: GroupMetadataManager#onLoaded (4.3.1), GroupCoordinator#onGroupLoaded (3.9.2).
    """
    for group in shard.groups_of(partition):
        for member in tuple(group.members.values()):
            reschedule_classic_group_member_heartbeat(shard, group, member)
        if len(group.members) > shard.config.group_max_size:
            try:
                prepare_rebalance(shard, group)
            except IllegalStateError:
                # Nobody waits for this one; the other groups are loaded all the same.
                continue
