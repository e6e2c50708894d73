"""Conversion of a seed to the records that a coordinator loads, and of the records it wrote to a seed."""

from collections.abc import Iterable, Mapping
from typing import Final

from harness.replay.seeds import Seed, SeedGroup, SeedOffset
from harness.targets.reference.profile import CLIENT_HOST
from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    TopicPartition,
)
from reference_coordinator.core.records import (
    CoordinatorRecord,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
)
from reference_coordinator.core.share_records import ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.offsets.values import OffsetAndMetadata

_OF_MODERN: Final = ConsumerGroupRecord | ShareGroupRecord | StreamsGroupRecord
_OF_GROUPS: Final = GroupMetadataRecord | GroupMetadataTombstone | _OF_MODERN
"""Records of groups, except for their offsets."""


def records_of(seed: Seed, group_id: GroupId, now_ms: Millis) -> list[CoordinatorRecord]:
    """Return the log records that a seed describes."""
    records: list[CoordinatorRecord] = [offset_record(group_id, each, now_ms) for each in seed.offsets]
    records += [each for each in seed.log if isinstance(each, _OF_GROUPS)]
    if seed.group is not None:
        records.append(_group_record(group_id, seed.group, now_ms))
    return records


def seed_of(
    log: Iterable[CoordinatorRecord],
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    group_id: GroupId,
    now_ms: Millis,
) -> Seed:
    """Return the seed that a coordinator that took over now would find.

    Args:
        log: all records that were ever written to it.
        offsets: the committed ones.
        group_id: of the group.
        now_ms: the time.
    """
    of_group = [each for each in log if isinstance(each, _OF_GROUPS) and each.group_id == group_id]
    found = tuple(
        SeedOffset(
            topic=partition.topic,
            partition=partition.partition,
            offset=each.offset,
            leader_epoch=each.leader_epoch,
            metadata=each.metadata,
        )
        for partition, each in offsets.items()
    )
    return Seed(at_ms=now_ms, log=tuple(of_group), offsets=found)


def latest(log: Iterable[CoordinatorRecord]) -> list[CoordinatorRecord]:
    """Return a log's records of groups, without those of classic groups that later ones replaced."""
    records = [each for each in log if isinstance(each, _OF_GROUPS)]
    last = max((place for place, each in enumerate(records) if not isinstance(each, _OF_MODERN)), default=0)
    return [each for place, each in enumerate(records) if place >= last or isinstance(each, _OF_MODERN)]


def offset_record(group_id: GroupId, offset: SeedOffset, now_ms: Millis) -> OffsetCommitRecord:
    """Return the record of an offset."""
    return OffsetCommitRecord(
        group_id=group_id,
        topic=offset.topic,
        partition=offset.partition,
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp_ms=now_ms,
        expire_timestamp_ms=None,
    )


def _group_record(group_id: GroupId, group: SeedGroup, now_ms: Millis) -> GroupMetadataRecord:
    return GroupMetadataRecord(
        group_id=group_id,
        protocol_type=group.protocol_type,
        generation_id=GenerationId(group.generation_id),
        protocol=group.protocol,
        leader=None if group.leader is None else MemberId(group.leader),
        current_state_timestamp_ms=now_ms,
        members=tuple(
            GroupMetadataRecordMember(
                member_id=MemberId(each.member_id),
                group_instance_id=None
                if each.group_instance_id is None
                else GroupInstanceId(each.group_instance_id),
                client_id=each.client_id,
                client_host=CLIENT_HOST,
                rebalance_timeout_ms=Millis(each.rebalance_timeout_ms),
                session_timeout_ms=Millis(each.session_timeout_ms),
                subscription=each.subscription,
                assignment=each.assignment,
            )
            for each in group.members
        ),
    )
