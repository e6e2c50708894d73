"""What the log refuses for its configuration, and what the coordinator makes of it."""

import pytest

from reference_coordinator.config import GroupCoordinatorConfig
from reference_coordinator.effects import AppendRecords
from reference_coordinator.errors import Errors
from reference_coordinator.ids import AppendId, GenerationId, GroupId, MemberId, Millis
from reference_coordinator.log_limits import batch_bytes, log_limits
from reference_coordinator.profiles import profile_for
from reference_coordinator.records import (
    CoordinatorRecord,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
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


@pytest.mark.parametrize(("limit", "error"), [(221, Errors.MESSAGE_TOO_LARGE), (300, Errors.NONE)])
def test_a_batch_is_as_large_as_its_record_and_what_is_around_it(limit: int, error: Errors) -> None:
    assert outcome("4.4", OFFSET, message_max_bytes=str(limit)) is error


def test_records_of_a_batch_are_counted_together() -> None:
    one, two = batch_bytes([OFFSET]), batch_bytes([OFFSET, OFFSET])
    assert one < two < 2 * one


def test_a_group_is_as_large_as_its_members() -> None:
    member = GroupMetadataRecordMember(
        member_id=MemberId("ana-1"),
        group_instance_id=None,
        client_id="ana",
        client_host="/127.0.0.1",
        rebalance_timeout_ms=Millis(1),
        session_timeout_ms=Millis(1),
        subscription=b"s" * 1000,
        assignment=b"a" * 2000,
    )
    group = GroupMetadataRecord(
        group_id=GROUP,
        protocol_type="consumer",
        generation_id=GenerationId(1),
        protocol="range",
        leader=member.member_id,
        current_state_timestamp_ms=Millis(0),
        members=(member,),
    )
    assert 3_000 < batch_bytes([group]) < 3_400


def test_a_tombstone_is_as_large_as_its_key() -> None:
    group = batch_bytes([GroupMetadataTombstone(group_id=GROUP)])
    offset = batch_bytes([OffsetCommitTombstone(group_id=GROUP, topic="orders", partition=0)])
    assert (group, offset) == (61 + 9 + 104, 61 + 9 + 104 + 12)


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
