"""What a coordinator reads from its log of a group, made of a seed; and a seed, made of what it wrote."""

from collections.abc import Iterable, Mapping

from harness.replay.seeds import Seed, SeedGroup, SeedMember, SeedOffset
from harness.targets.reference.profile import CLIENT_HOST
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
from reference_coordinator.offsets.values import OffsetAndMetadata


def records_of(seed: Seed, group_id: GroupId, now_ms: Millis) -> list[CoordinatorRecord]:
    """Return a log that says what a seed says."""
    records: list[CoordinatorRecord] = [_offset_record(group_id, each, now_ms) for each in seed.offsets]
    if seed.group is not None:
        records.append(_group_record(group_id, seed.group, now_ms))
    return records


def seed_of(
    group: SeedGroup | None,
    log: Iterable[CoordinatorRecord],
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    group_id: GroupId,
    now_ms: Millis,
) -> Seed:
    """Return what a coordinator that came now would find.

    Args:
        group: what the log began with.
        log: what was written to it since.
        offsets: the committed ones.
        group_id: of the group.
        now_ms: the time.
    """
    for record in log:
        match record:
            case GroupMetadataRecord() if record.group_id == group_id:
                group = _seed_group(record)
            case GroupMetadataTombstone() if record.group_id == group_id:
                group = None
            case _:
                continue
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
    return Seed(at_ms=now_ms, group=group, offsets=found)


def _offset_record(group_id: GroupId, offset: SeedOffset, now_ms: Millis) -> OffsetCommitRecord:
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


def _seed_group(record: GroupMetadataRecord) -> SeedGroup:
    return SeedGroup(
        generation_id=record.generation_id,
        protocol_type=record.protocol_type,
        protocol=record.protocol,
        leader=record.leader,
        members=tuple(
            SeedMember(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                client_id=each.client_id,
                rebalance_timeout_ms=each.rebalance_timeout_ms,
                session_timeout_ms=each.session_timeout_ms,
                subscription=each.subscription,
                assignment=each.assignment,
            )
            for each in record.members
        ),
    )
