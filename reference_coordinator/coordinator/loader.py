"""Loading `__consumer_offsets`: records are replayed one by one, then the groups become visible."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupId
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
from reference_coordinator.groups import dispatch
from reference_coordinator.groups.classic.lookups import new_classic_group
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.replay import replay
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.replay import replay as replay_share
from reference_coordinator.groups.streams import replay as streams_replay
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.txn_completion import replay_end_transaction_marker
from reference_coordinator.profile.behaviours import Behaviour


@dataclass(slots=True, kw_only=True)
class Loader:
    """The groups of a partition's log, as far as it has been read.

    Source: GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2), GroupMetadataManager#replay and
    OffsetMetadataManager#replay (4.3.1).
    """

    shard: CoordinatorShard
    partition: int
    _groups: dict[GroupId, GroupMetadataRecord | ConsumerGroup | ShareGroup | StreamsGroup | None] = field(
        default_factory=dict
    )
    """The value None marks a group that is known only by its offsets."""

    def replay(self, records: Iterable[CoordinatorRecord]) -> None:
        """Replay records in the order of the log."""
        known = self.shard.partitions.of(self.partition)
        for record in records:
            self._replay(record, record_offset=known.last_written_offset)
            known.last_written_offset += 1

    def _replay(self, record: CoordinatorRecord, *, record_offset: int) -> None:
        match record:
            case GroupMetadataRecord():
                self._groups[record.group_id] = record
            case GroupMetadataTombstone():
                self._groups.pop(record.group_id, None)
            case OffsetCommitRecord():
                self._groups.setdefault(record.group_id, None)
                self.shard.replay(record, record_offset=record_offset)
            case OffsetCommitTombstone():
                self.shard.replay(record, record_offset=record_offset)
            case EndTransactionMarker():
                replay_end_transaction_marker(self.shard, record)
            case _ if isinstance(record, ShareGroupRecord):
                self._replay_share_group(record)
            case _ if isinstance(record, StreamsGroupRecord):
                self._replay_streams_group(record)
            case _:
                self._replay_consumer_group(record)

    def _replay_consumer_group(self, record: ConsumerGroupRecord) -> None:
        """Replay a record of a consumer group, which replaces a simple group with its id.

        Raises:
            IllegalStateError: the record contradicts those before it.
        """
        before = self._groups.get(record.group_id)
        if isinstance(before, GroupMetadataRecord | ShareGroup | StreamsGroup):
            raise IllegalStateError(f"Group {record.group_id} is not a consumer group")
        after = replay(before, record, self.shard.profile)
        self._keep(record.group_id, before, after)

    def _replay_share_group(self, record: ShareGroupRecord) -> None:
        """Replay a record of a share group.

        Raises:
            IllegalStateError: the record contradicts those before it.
        """
        before = self._groups.get(record.group_id)
        if isinstance(before, GroupMetadataRecord | ConsumerGroup | StreamsGroup):
            raise IllegalStateError(f"Group {record.group_id} is not a share group")
        after = replay_share(before, record, self.shard.profile, now_ms=self.shard.now_ms)
        self._keep(record.group_id, before, after)

    def _replay_streams_group(self, record: StreamsGroupRecord) -> None:
        """Replay a record of a streams group, which replaces a simple group with its id.

        Raises:
            IllegalStateError: the record contradicts those before it.
        """
        before = self._groups.get(record.group_id)
        if isinstance(before, GroupMetadataRecord | ConsumerGroup | ShareGroup):
            raise IllegalStateError(f"Group {record.group_id} is not a streams group.")
        after = streams_replay.replay(before, record, self.shard.profile)
        self._keep(record.group_id, before, after)

    def _keep(
        self, group_id: GroupId, before: Group | None, after: ConsumerGroup | ShareGroup | StreamsGroup | None
    ) -> None:
        if after is not None:
            self._groups[group_id] = after
        elif before is not None:
            del self._groups[group_id]

    def finish(self) -> None:
        """Build the groups.

        The coordinators differ for groups known by offsets only. The Scala one builds those that have offsets
        left, even after a tombstone. The Java one builds those without a tombstone, even without offsets.
        """
        revives = not self.shard.profile.has(Behaviour.TOMBSTONED_GROUP_LOSES_OFFSETS)
        if revives:
            for group_id in self.shard.offsets.groups_with_any():
                if self.shard.partition_for(group_id) == self.partition:
                    self._groups.setdefault(group_id, None)
        stays = self.shard.profile.has(Behaviour.EMPTIED_SIMPLE_GROUP_STAYS)
        for group_id, record in self._groups.items():
            if isinstance(record, ConsumerGroup | ShareGroup | StreamsGroup):
                self.shard.put_group(record)
            elif record is not None:
                dispatch.replay(self.shard, record)
            elif stays or self.shard.offsets.has_offsets(group_id):
                self.shard.put_group(new_classic_group(self.shard, group_id))
        dispatch.on_loaded(self.shard, self.partition)
