"""The state of one coordinator: its groups and their offsets."""

from dataclasses import dataclass, field
from typing import Final, get_args

from typing_extensions import override

from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.ids import NO_PRODUCER_ID, GroupId, TopicPartition
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.core.share_records import ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.groups.consumer.replay import replay
from reference_coordinator.groups.dispatch import (
    as_persisted_consumer_group,
    as_persisted_share_group,
    as_persisted_streams_group,
)
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.replay import replay as replay_share
from reference_coordinator.groups.streams import replay as streams_replay
from reference_coordinator.offsets.store import OffsetStore
from reference_coordinator.offsets.values import OffsetAndMetadata
from reference_coordinator.profile.behaviours import CoordinatorFamily

_MODERN_RECORDS: Final = (
    *get_args(ConsumerGroupRecord),
    *get_args(ShareGroupRecord),
    *get_args(StreamsGroupRecord),
)


@dataclass(slots=True, kw_only=True)
class CoordinatorShard(GroupMetadataManager):
    """The state of one coordinator. Source: GroupCoordinatorShard (4.3.1)."""

    offsets: OffsetStore = field(default_factory=OffsetStore)

    @override
    def replay(self, record: CoordinatorRecord, *, record_offset: int) -> None:
        match record:
            case GroupMetadataRecord():
                raise AssertionError("group metadata takes effect before it is written")
            case GroupMetadataTombstone():
                self.remove_group(record.group_id)
            case OffsetCommitRecord():
                self._replay_offset(record, record_offset)
            case OffsetCommitTombstone():
                self._replay_offset_tombstone(record)
            case EndTransactionMarker():
                raise AssertionError("the shell tells of markers that it has written")
            case _:
                # The remaining records are those of newer group types, which took effect when written.
                return

    @override
    def replay_written(self, records: tuple[CoordinatorRecord, ...], *, record_offset: int) -> bool:
        if not any(isinstance(each, _MODERN_RECORDS) for each in records):
            return False
        groups: dict[GroupId, Group | None] = {}
        for record in records:
            if isinstance(record, GroupMetadataTombstone):
                groups[record.group_id] = None
            elif isinstance(record, ConsumerGroupRecord):
                group_id = record.group_id
                group = groups[group_id] if group_id in groups else self.find_group(group_id)
                groups[group_id] = replay(as_persisted_consumer_group(group, record), record, self.profile)
            elif isinstance(record, ShareGroupRecord):
                group_id = record.group_id
                group = groups[group_id] if group_id in groups else self.find_group(group_id)
                of_shares = as_persisted_share_group(group, record)
                groups[group_id] = replay_share(of_shares, record, self.profile, now_ms=self.now_ms)
            elif isinstance(record, StreamsGroupRecord):
                group_id = record.group_id
                group = groups[group_id] if group_id in groups else self.find_group(group_id)
                known = as_persisted_streams_group(group, record)
                groups[group_id] = streams_replay.replay(known, record, self.profile)
        for group_id, group in groups.items():
            self.put_written(group_id, group, record_offset=record_offset)
        return True

    def _replay_offset(self, record: OffsetCommitRecord, record_offset: int) -> None:
        """Commit an offset, or keep it until its transaction ends.

        Decided in: OffsetMetadataManager#replay (4.3.1).
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
            self.offsets.put(record.group_id, partition, offset)
        else:
            self.offsets.transactions.prepare_txn_offset_commit(
                record.producer_id, record.group_id, {partition: offset}
            )

    def _replay_offset_tombstone(self, record: OffsetCommitTombstone) -> None:
        """Remove an offset; the Java coordinator also removes those of open transactions.

        Decided in: OffsetMetadataManager#replay (4.3.1), GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2).
        """
        partition = TopicPartition(topic=record.topic, partition=record.partition)
        self.offsets.remove(record.group_id, partition)
        if self.profile.coordinator is CoordinatorFamily.JAVA:
            self.offsets.transactions.clear(record.group_id, partition)

    @override
    def forget_partition(self, partition: int) -> None:
        """Forget a partition's groups, offsets and deadlines, but not its writes in progress."""
        for group_id in self.offsets.group_ids():
            if self.partition_for(group_id) == partition:
                self.offsets.forget_group(group_id)
        GroupMetadataManager.forget_partition(self, partition)
