"""Records to write into logs, and a store over a directory."""

from dataclasses import replace
from pathlib import Path

from reference_coordinator.core.effects import AppendRecords, Producer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_ID,
    OFFSETS_TOPIC,
    AppendId,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerEpoch,
    ProducerId,
)
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.log.directory import DirectoryStore
from reference_coordinator.log.inspection import LoadedGroup, load_log
from reference_coordinator.log.offsets_log import MarkerHeader, OffsetsLog
from reference_coordinator.log.segments import ENDS_NAME
from reference_coordinator.log.serde import read_record
from reference_coordinator.profile.profiles import profile_for

GROUP = GroupId("g")
PRODUCER = Producer(producer_id=ProducerId(7), producer_epoch=ProducerEpoch(2))
MEMBER = GroupMetadataRecordMember(
    member_id=MemberId("ana-1"),
    group_instance_id=GroupInstanceId("i"),
    client_id="ana",
    client_host="/127.0.0.1",
    rebalance_timeout_ms=Millis(60_000),
    session_timeout_ms=Millis(10_000),
    subscription=bytes.fromhex("0000 00000001 0006 6f7264657273 ffffffff"),
    assignment=b"assignment",
)
STABLE = GroupMetadataRecord(
    group_id=GROUP,
    protocol_type="consumer",
    generation_id=GenerationId(3),
    protocol="range",
    leader=MEMBER.member_id,
    current_state_timestamp_ms=Millis(1_000),
    members=(MEMBER,),
)
EMPTY = replace(STABLE, protocol=None, leader=None, members=(), generation_id=GenerationId(4))
GONE = GroupMetadataTombstone(group_id=GROUP)
FORGOTTEN = OffsetCommitTombstone(group_id=GROUP, topic="orders", partition=0)


def committed(
    offset: int, *, partition: int = 0, group: str = "g", producer_id: ProducerId = NO_PRODUCER_ID
) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id=GroupId(group),
        topic="orders",
        partition=partition,
        offset=offset,
        leader_epoch=5,
        metadata="mé",
        commit_timestamp_ms=Millis(1_000 + offset),
        expire_timestamp_ms=None,
        producer_id=producer_id,
    )


def in_transaction(offset: int, *, partition: int = 0) -> OffsetCommitRecord:
    return committed(offset, partition=partition, producer_id=PRODUCER.producer_id)


def append(log: OffsetsLog, *records: CoordinatorRecord, partition: int = 0) -> Errors:
    """Write records in the name of the producer that they name, if they do."""
    is_transactional = any(getattr(each, "producer_id", NO_PRODUCER_ID) != NO_PRODUCER_ID for each in records)
    return log.append(
        AppendRecords(
            append_id=AppendId(1),
            partition=partition,
            records=records,
            producer=PRODUCER if is_transactional else None,
        )
    )


def end(log: OffsetsLog, *, is_commit: bool, partition: int = 0) -> Errors:
    """Write the end of the producer's transaction."""
    return log.append_marker(OFFSETS_TOPIC, marker(is_commit=is_commit, partition=partition), MarkerHeader())


def marker(*, is_commit: bool, partition: int = 0) -> EndTransactionMarker:
    return EndTransactionMarker(
        partition=partition,
        producer_id=PRODUCER.producer_id,
        producer_epoch=PRODUCER.producer_epoch,
        is_commit=is_commit,
    )


def opened(
    directory: Path, profile: str = "4.4", *, num_partitions: int = 1, segment_bytes: int = 10_000
) -> tuple[DirectoryStore, OffsetsLog]:
    """Open a directory with one partition."""
    store = DirectoryStore(
        directory, profile_for(profile), num_partitions=num_partitions, segment_bytes=segment_bytes
    )
    return store, OffsetsLog(store)


def segment_of(directory: Path, base_offset: int = 0, partition: int = 0) -> Path:
    return directory / f"__consumer_offsets-{partition}" / f"{base_offset:020d}.log"


def groups_in(log: OffsetsLog, profile: str = "4.4") -> tuple[LoadedGroup, ...]:
    """What a coordinator would have of a log of one partition, but for its clocks."""
    stored = {
        partition: StoredPartition(batches=log.batches(partition), end_offset=log.end_offset(partition))
        for partition in log.partitions()
    }
    return load_log(stored, profile_for(profile), num_partitions=1).groups


def never_noted(directory: Path) -> None:
    """Have a directory as a kill leaves it in the middle of an append, which was not acknowledged."""
    (directory / ENDS_NAME).unlink()


def read(key: bytes | None, value: bytes | None, profile: str = "4.4") -> CoordinatorRecord | None:
    """Read a record without a producer as a release reads it."""
    return read_record(key, value, producer_id=NO_PRODUCER_ID, profile=profile_for(profile))
