"""Loading `__consumer_offsets`: records are replayed one by one, then the groups become visible."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

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
from reference_coordinator.groups.consumer.group import ConsumerGroup, new_consumer_group
from reference_coordinator.groups.consumer.replay import replay
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.replay import replay as replay_share
from reference_coordinator.groups.streams import replay as streams_replay
from reference_coordinator.groups.streams.group import StreamsGroup, new_streams_group
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.txn_commit import replay_end_transaction_marker
from reference_coordinator.profile.profiles import Behaviour, Profile

_ModernGroup: TypeAlias = ConsumerGroup | ShareGroup | StreamsGroup
_GroupT = TypeVar("_GroupT", ConsumerGroup, ShareGroup, StreamsGroup)
_ABSENT: Final = object()


@dataclass(slots=True, kw_only=True)
class Loader:
    """The groups of a partition's log, as far as it has been read.

    Source: GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2), GroupMetadataManager#replay and
    OffsetMetadataManager#replay (4.3.1).
    """

    shard: CoordinatorShard
    partition: int
    _groups: dict[GroupId, GroupMetadataRecord | _ModernGroup | None] = field(default_factory=dict)
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
        before = self._persisted(record, ConsumerGroup, new_consumer_group)
        self._keep(record.group_id, replay(before, record, self.shard.profile))

    def _replay_share_group(self, record: ShareGroupRecord) -> None:
        before = self._persisted(record, ShareGroup, None)
        after = replay_share(before, record, self.shard.profile, now_ms=self.shard.now_ms)
        self._keep(record.group_id, after)

    def _replay_streams_group(self, record: StreamsGroupRecord) -> None:
        replaces = self.shard.profile.has(Behaviour.STREAMS_GROUP_REPLACES_SIMPLE_GROUP)
        before = self._persisted(record, StreamsGroup, new_streams_group if replaces else None)
        self._keep(record.group_id, streams_replay.replay(before, record, self.shard.profile))

    def _persisted(
        self,
        record: ConsumerGroupRecord | ShareGroupRecord | StreamsGroupRecord,
        group_class: type[_GroupT],
        new_group: Callable[[GroupId, Profile], _GroupT] | None,
    ) -> _GroupT | None:
        """Return the group that a record belongs to, or None if there is none.

        Args:
            record: the record, or a tombstone.
            group_class: the type of its group.
            new_group: makes a group in place of a simple one, also for a tombstone; None if a simple group
                stays.

        Raises:
            IllegalStateError: a group of another type has the id.

        Decided in: GroupMetadataManager#getOrMaybeCreatePersistedConsumerGroup (4.3.1).
        """
        before = self._groups.get(record.group_id, _ABSENT)
        if isinstance(before, group_class):
            return before
        if before is _ABSENT:
            return None
        if new_group is not None and _is_simple(before):
            return new_group(record.group_id, self.shard.profile)
        raise IllegalStateError(f"Group {record.group_id} cannot become a {group_class.__name__}")

    def _keep(self, group_id: GroupId, after: _ModernGroup | None) -> None:
        if after is not None:
            self._groups[group_id] = after
        else:
            self._groups.pop(group_id, None)

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


def _is_simple(group: object) -> bool:
    """Return whether a group only stores offsets. Decided in: ClassicGroup#isSimpleGroup (4.3.1)."""
    if isinstance(group, GroupMetadataRecord):
        return not group.protocol_type and not group.members
    return group is None
