"""What the log refuses for its configuration, and what the coordinator makes of it."""

from dataclasses import replace

import pytest

from reference_coordinator.core.effects import AppendRecords, Producer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
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
from reference_coordinator.log.batches import LogBatch
from reference_coordinator.log.conversion import to_record_batch
from reference_coordinator.log.record_batch import encode_batch
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.limits import log_limits, size_in_bytes
from reference_coordinator.tests.kit import JAVA, Broker, join, parked_members

GROUP = GroupId("g" * 100)
OFFSET = OffsetCommitRecord(
    group_id=GROUP,
    topic="orders",
    partition=0,
    offset=7,
    leader_epoch=-1,
    metadata="m" * 50,
    commit_timestamp_ms=Millis(0),
    expire_timestamp_ms=None,
)


def outcome(profile: str, *records: CoordinatorRecord, **properties: str) -> Errors:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    limits = log_limits(GroupCoordinatorConfig.from_properties(named), profile_for(profile))
    return limits(AppendRecords(append_id=AppendId(1), partition=0, records=records))


@pytest.mark.parametrize(("limit", "error"), [(260, Errors.MESSAGE_TOO_LARGE), (261, Errors.NONE)])
def test_a_batch_is_as_large_as_its_record_and_what_is_around_it(limit: int, error: Errors) -> None:
    assert outcome("4.4", OFFSET, message_max_bytes=str(limit)) is error


@pytest.mark.parametrize("profile", ["3.9-java", "4.0.0", "4.1.1"])
@pytest.mark.parametrize(("limit", "error"), [(321, Errors.MESSAGE_TOO_LARGE), (322, Errors.NONE)])
def test_a_coordinator_that_sees_to_it_by_itself_wants_room_for_two_heads(
    profile: str, limit: int, error: Errors
) -> None:
    assert outcome(profile, OFFSET, message_max_bytes=str(limit)) is error


MEMBER = GroupMetadataRecordMember(
    member_id=MemberId("ana-1"),
    group_instance_id=None,
    client_id="ana",
    client_host="/127.0.0.1",
    rebalance_timeout_ms=Millis(1),
    session_timeout_ms=Millis(1),
    subscription=b"s" * 1000,
    assignment=b"a" * 20_000,
)
GROUP_RECORD = GroupMetadataRecord(
    group_id=GROUP,
    protocol_type="consumer",
    generation_id=GenerationId(1),
    protocol="range",
    leader=MEMBER.member_id,
    current_state_timestamp_ms=Millis(0),
    members=(MEMBER, replace(MEMBER, group_instance_id=GroupInstanceId("é"))),
)
TOMBSTONE = OffsetCommitTombstone(group_id=GROUP, topic="orders", partition=0)


@pytest.mark.parametrize("profile", ["2.4", "4.0", "4.1", "4.4"])
@pytest.mark.parametrize(
    "records",
    [
        (OFFSET,),
        (replace(OFFSET, expire_timestamp_ms=Millis(5)),),
        (replace(OFFSET, metadata="é" * 70),),
        (OFFSET,) * 200,
        (GROUP_RECORD,),
        (replace(GROUP_RECORD, members=(), protocol=None, leader=None),),
        (GroupMetadataTombstone(group_id=GROUP), TOMBSTONE),
    ],
)
def test_sizes_are_those_of_the_bytes(profile: str, records: tuple[CoordinatorRecord, ...]) -> None:
    batch = LogBatch(base_offset=0, timestamp_ms=Millis(0), records=records)
    written = encode_batch(to_record_batch(batch, profile_for(profile)))

    assert size_in_bytes(records, profile_for(profile)) == len(written)


def test_a_marker_is_as_large_as_its_bytes() -> None:
    producer = Producer(producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0))
    marker = EndTransactionMarker(
        partition=0, producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0), is_commit=True
    )
    batch = LogBatch(
        base_offset=0, timestamp_ms=Millis(0), records=(marker,), producer=producer, coordinator_epoch=0
    )
    profile = profile_for("4.4")

    assert size_in_bytes([marker], profile) == len(encode_batch(to_record_batch(batch, profile)))


@pytest.mark.parametrize(
    ("profile", "error"), [("3.6", Errors.NOT_ENOUGH_REPLICAS), ("3.7.0", Errors.NONE), ("4.4", Errors.NONE)]
)
def test_replicas_that_are_not_there_are_wanted_until_3_6(profile: str, error: Errors) -> None:
    assert outcome(profile, OFFSET, min_insync_replicas="2") is error


def test_a_first_member_learns_of_the_failure_even_without_an_initial_delay() -> None:
    broker = Broker(JAVA, {"group.initial.rebalance.delay.ms": "0"})
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    (call,) = parked_members(broker, join(instance="i"))

    assert (call.join.error_code, call.join.member_id) == (Errors.UNKNOWN_SERVER_ERROR, "")
    broker.elapse(1)
    assert broker.state() == "Dead"
