"""What the log refuses for its configuration, and what the coordinator makes of it."""

from dataclasses import replace

import pytest

from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, GroupId, GroupInstanceId, Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.log.batches import LogBatch
from reference_coordinator.log.conversion import to_record_batch
from reference_coordinator.log.record_batch import encode_batch
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.limits import log_limits, size_in_bytes
from reference_coordinator.tests.kit import JAVA, Broker
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    MEMBER,
    PRODUCER,
    STABLE,
    committed,
    marker,
)
from reference_coordinator.tests.requests import join

GROUP = GroupId("g" * 100)
OFFSET = replace(committed(7, group=GROUP), metadata="m" * 50)


def outcome(profile: str, *records: CoordinatorRecord, **properties: str) -> Errors:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    limits = log_limits(GroupCoordinatorConfig.from_properties(named), profile_for(profile))
    return limits(AppendRecords(append_id=AppendId(1), partition=0, records=records))


@pytest.mark.parametrize(
    ("profile", "least"), [("4.4", 261), ("3.9-java", 322), ("4.0.0", 322), ("4.1.0", 322)]
)
def test_a_batch_is_as_large_as_its_record_and_one_head_or_where_the_coordinator_sees_to_it_two(
    profile: str, least: int
) -> None:
    assert outcome(profile, OFFSET, message_max_bytes=str(least - 1)) is Errors.MESSAGE_TOO_LARGE
    assert outcome(profile, OFFSET, message_max_bytes=str(least)) is Errors.NONE


LARGE = replace(MEMBER, group_instance_id=None, subscription=b"s" * 1000, assignment=b"a" * 20_000)
GROUP_RECORD = replace(
    STABLE, group_id=GROUP, members=(LARGE, replace(LARGE, group_instance_id=GroupInstanceId("é")))
)


@pytest.mark.parametrize("profile", ["2.4", "4.0", "4.1", "4.4"])
@pytest.mark.parametrize(
    "records",
    [
        (OFFSET,),
        (replace(OFFSET, expire_timestamp_ms=Millis(5)),),
        (replace(OFFSET, metadata="é" * 70),),
        (OFFSET,) * 200,
        (GROUP_RECORD,),
        (replace(EMPTY, group_id=GROUP),),
        (replace(GONE, group_id=GROUP), replace(FORGOTTEN, group_id=GROUP)),
    ],
)
def test_sizes_are_those_of_the_bytes(profile: str, records: tuple[CoordinatorRecord, ...]) -> None:
    batch = LogBatch(base_offset=0, timestamp_ms=Millis(0), records=records)
    written = encode_batch(to_record_batch(batch, profile_for(profile)))

    assert size_in_bytes(records, profile_for(profile)) == len(written)


def test_a_marker_is_as_large_as_its_bytes() -> None:
    ended = marker(is_commit=True)
    batch = LogBatch(
        base_offset=0, timestamp_ms=Millis(0), records=(ended,), producer=PRODUCER, coordinator_epoch=0
    )
    profile = profile_for("4.4")

    assert size_in_bytes([ended], profile) == len(encode_batch(to_record_batch(batch, profile)))


@pytest.mark.parametrize(
    ("profile", "error"), [("3.6", Errors.NOT_ENOUGH_REPLICAS), ("3.7.0", Errors.NONE), ("4.4", Errors.NONE)]
)
def test_replicas_that_are_not_there_are_wanted_until_3_6(profile: str, error: Errors) -> None:
    assert outcome(profile, OFFSET, min_insync_replicas="2") is error


def test_a_first_member_learns_of_the_failure_even_without_an_initial_delay() -> None:
    broker = Broker(JAVA, {"group.initial.rebalance.delay.ms": "0"})
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    (call,) = broker.parked_members(join(instance="i"))

    assert (call.join.error_code, call.join.member_id) == (Errors.UNKNOWN_SERVER_ERROR, "")
    broker.elapse(1)
    assert broker.state() == "Dead"
