"""What the log says after a restart, a move or a compaction."""

from collections.abc import Collection
from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.coordinator.deletion import GroupsDeleted
from reference_coordinator.coordinator.loader import Loader
from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.core.records import (
    CoordinatorRecord,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitTombstone,
)
from reference_coordinator.groups.group import Group
from reference_coordinator.offsets.expiration import all_partitions, new_offset_commit_tombstone_record
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.runtime.coordinator_result import VoidResult


@fault(
    "members-are-not-loaded",
    "coordinator.loader:Loader._replay",
    source="redpanda-data/redpanda#3732",
    saw="each move of a coordinator makes its groups rebalance, as nobody is a member any more",
    releases="until 21.11",
    red=(
        "loading/restart/nothing-is-left-over",
        "loading/held/commit",
    ),
)
def members_are_not_loaded(
    healthy: Replacement, loader: Loader, record: CoordinatorRecord, *, record_offset: int
) -> None:
    """A group's metadata in the log is not read."""
    if isinstance(record, GroupMetadataRecord):
        record = replace(record, members=(), leader=None, protocol=None)
    healthy(loader, record, record_offset=record_offset)


@fault(
    "consumer-groups-load-over-classic-ones",
    "coordinator.loader:Loader._replay_consumer_group",
    source="KAFKA-21117 (open; what mends it)",
    saw="after a downgrade and a compaction no group of the partition has a coordinator",
    releases="4.0.0-4.4.0",
    red=("loading/two-types/consumer-group-behind-a-classic-one",),
)
def consumer_groups_load_over_classic_ones(
    healthy: Replacement, loader: Loader, record: ConsumerGroupRecord
) -> None:
    """Records of a consumer group replace a classic group, as the proposed fix has it."""
    if isinstance(loader._groups.get(record.group_id), GroupMetadataRecord):  # noqa: SLF001 - the loader's own code
        loader._groups[record.group_id] = None  # noqa: SLF001 - likewise
    healthy(loader, record)


@fault(
    "tombstones-of-consumer-groups-cost-the-partition",
    "coordinator.loader:Loader._replay_consumer_group",
    source="KAFKA-17306",
    saw="after a compaction no group of the partition has a coordinator",
    releases="3.7-3.9, a preview",
    red=("consumer_groups/loading/tombstones",),
)
def tombstones_of_consumer_groups_cost_the_partition(
    healthy: Replacement, loader: Loader, record: ConsumerGroupRecord
) -> None:
    """A tombstone of something that is not there contradicts the log."""
    if type(record).__name__.endswith("Tombstone") and loader._groups.get(record.group_id) is None:  # noqa: SLF001 - the loader's own code
        raise IllegalStateError(f"Group {record.group_id} not found")
    healthy(loader, record)


def _unwritten(shard: CoordinatorShard, result: VoidResult, kind: type) -> VoidResult:
    """Let tombstones of a kind take effect, and return what is left to be written."""
    for record in result.records:
        if isinstance(record, kind):
            shard.replay(record, record_offset=0)
    return replace(result, records=tuple(each for each in result.records if not isinstance(each, kind)))


@fault(
    "deleted-groups-are-back",
    "runtime.coordinator_runtime:CoordinatorRuntime.append",
    source="redpanda-data/redpanda#4900",
    saw="a group that was deleted is listed again after a restart",
    releases="22.1.3",
    red=("loading/removed/classic-group-itself",),
)
def deleted_groups_are_back(
    healthy: Replacement,
    shard: CoordinatorShard,
    group_id: GroupId,
    result: VoidResult,
    *given: object,
    **named: object,
) -> None:
    """DeleteGroups writes tombstones of offsets, and none of the group."""
    if not isinstance(result.append_future, GroupsDeleted):
        healthy(shard, group_id, result, *given, **named)
        return
    left = _unwritten(shard, result, GroupMetadataTombstone)
    nothing = OffsetCommitTombstone(group_id=group_id, topic="nothing", partition=0)
    healthy(shard, group_id, replace(left, records=(*left.records, nothing)), *given, **named)


@fault(
    "offsets-of-deleted-groups-are-back",
    "runtime.coordinator_runtime:CoordinatorRuntime.append",
    source="redpanda-data/redpanda#4900",
    saw="a group that was deleted and made anew has its old offsets after a restart",
    releases="22.1.3",
    red=("loading/removed/classic-group", "loading/removed/after-a-move"),
)
def offsets_of_deleted_groups_are_back(
    healthy: Replacement,
    shard: CoordinatorShard,
    group_id: GroupId,
    result: VoidResult,
    *given: object,
    **named: object,
) -> None:
    """DeleteGroups writes a tombstone of the group, and none of its offsets."""
    if isinstance(result.append_future, GroupsDeleted):
        result = _unwritten(shard, result, OffsetCommitTombstone)
    healthy(shard, group_id, result, *given, **named)


@fault(
    "expired-offsets-are-back",
    "offsets.expiration:_maybe_delete_group",
    source="redpanda-data/redpanda#4900, its sibling",
    saw="an offset that had expired is there again after a restart",
    red=("loading/removed/expired-offset",),
)
def expired_offsets_are_back(
    healthy: Replacement, shard: CoordinatorShard, group: Group, expired: list[TopicPartition]
) -> VoidResult:
    """Expiry writes no tombstones of offsets."""
    return _unwritten(shard, healthy(shard, group, expired), OffsetCommitTombstone)


@fault(
    "offsets-of-deleted-topics-are-back",
    "offsets.expiration:on_topics_deleted",
    source="redpanda-data/redpanda#4900, its sibling",
    saw="the offsets of a deleted topic are there again after a restart",
    red=("loading/removed/deleted-topic",),
)
def offsets_of_deleted_topics_are_back(
    healthy: Replacement, shard: CoordinatorShard, topics: Collection[str]
) -> None:
    """The deletion of a topic writes no tombstones."""
    del healthy
    for group in shard.groups():
        for each in all_partitions(shard, group.group_id):
            if each.topic in topics:
                shard.replay(new_offset_commit_tombstone_record(group, each), record_offset=0)
