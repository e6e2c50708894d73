"""The groups and offsets that a release's coordinator has after loading a log."""

from collections.abc import Mapping
from operator import itemgetter

from reference_coordinator.coordinator.loader import Loader
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupId, Millis, ProducerId, TopicPartition
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.log.consumer_groups import StoredConsumerGroup, stored_consumer_group
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.values import OffsetAndMetadata
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile


@value
class LoadedMember:
    """A member, as stored."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    metadata: bytes
    assignment: bytes


@value
class LoadedOffset:
    """A committed offset, or one that waits for the end of a transaction."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None
    producer_id: int | None
    """The producer of the transaction that it waits for, if any."""


@value
class LoadedGroup:
    """A group with its offsets."""

    offsets_partition: int
    group_id: str
    state: str
    generation_id: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[LoadedMember, ...]
    offsets: tuple[LoadedOffset, ...]
    pending_offsets: tuple[LoadedOffset, ...]


@value
class LoadedConsumerGroup:
    """A consumer group with its offsets."""

    offsets_partition: int
    group: StoredConsumerGroup
    offsets: tuple[LoadedOffset, ...]
    pending_offsets: tuple[LoadedOffset, ...]

    @property
    def group_id(self) -> str:
        """Its id."""
        return self.group.group_id


@value
class LoadedLog:
    """The groups that were loaded from a log, and the failures."""

    groups: tuple[LoadedGroup, ...]
    """Classic groups by partition and id."""
    consumer_groups: tuple[LoadedConsumerGroup, ...]
    """Consumer groups by partition and id."""
    failures: tuple[str, ...]
    """For each partition that is not loaded, the reason and the consequence."""


def load_log(stored: Mapping[int, StoredPartition], profile: Profile, *, num_partitions: int) -> LoadedLog:
    """Load partitions as the release's coordinator does."""
    groups: list[LoadedGroup] = []
    of_consumers: list[LoadedConsumerGroup] = []
    failures: list[str] = []
    for partition, found in sorted(stored.items()):
        if found.unreadable is not None:
            failures.append(str(found.unreadable))
            continue
        try:
            loaded = _load_partition(partition, found, profile, num_partitions=num_partitions)
        except IllegalStateError as error:
            failures.append(f"partition {partition} fails to load: {error}")
        else:
            groups.extend(loaded.groups)
            of_consumers.extend(loaded.consumer_groups)
    return LoadedLog(groups=tuple(groups), consumer_groups=tuple(of_consumers), failures=tuple(failures))


def _load_partition(
    partition: int, found: StoredPartition, profile: Profile, *, num_partitions: int
) -> LoadedLog:
    config = GroupCoordinatorConfig(offsets_topic_num_partitions=num_partitions)
    shard = CoordinatorShard(config=config, profile=profile, choices=DeterministicChoices())
    loader = Loader(shard=shard, partition=partition)
    loader.replay(record for batch in found.batches for record in batch.records)
    loader.finish()
    pending: dict[GroupId, list[LoadedOffset]] = {}
    for producer_id, group_id, place, offset in shard.offsets.transactions.by_producer():
        pending.setdefault(group_id, []).append(_offset(place, offset, producer_id))
    groups = sorted(shard.groups(), key=lambda group: group.group_id)
    return LoadedLog(
        groups=tuple(
            _group(shard, group, tuple(pending.get(group.group_id, ())))
            for group in groups
            if isinstance(group, ClassicGroup)
        ),
        consumer_groups=tuple(
            LoadedConsumerGroup(
                offsets_partition=partition,
                group=stored_consumer_group(group),
                offsets=_offsets(shard, group.group_id),
                pending_offsets=tuple(pending.get(group.group_id, ())),
            )
            for group in groups
            if isinstance(group, ConsumerGroup)
        ),
        failures=(),
    )


def _group(shard: CoordinatorShard, group: ClassicGroup, pending: tuple[LoadedOffset, ...]) -> LoadedGroup:
    return LoadedGroup(
        offsets_partition=shard.partition_for(group.group_id),
        group_id=group.group_id,
        state=group.state.value,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type or "",
        protocol=group.protocol_name or "",
        leader=group.leader_id or "",
        members=tuple(
            LoadedMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id or "",
                client_host=member.client_host,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                metadata=member.supported_protocols[0].metadata,
                assignment=member.assignment,
            )
            for member in group.members.values()
        ),
        offsets=_offsets(shard, group.group_id),
        pending_offsets=pending,
    )


def _offsets(shard: CoordinatorShard, group_id: GroupId) -> tuple[LoadedOffset, ...]:
    offsets = sorted(shard.offsets.of_group(group_id).items(), key=itemgetter(0))
    return tuple(_offset(partition, offset, None) for partition, offset in offsets)


def _offset(
    partition: TopicPartition, offset: OffsetAndMetadata, producer_id: ProducerId | None
) -> LoadedOffset:
    return LoadedOffset(
        topic=partition.topic,
        partition=partition.partition,
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp_ms=Millis(offset.commit_timestamp_ms),
        expire_timestamp_ms=offset.expire_timestamp_ms,
        producer_id=producer_id,
    )
