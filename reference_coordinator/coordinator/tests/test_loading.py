"""What a log says when it is read back, record by record. The witnesses named are Kafka's own tests."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
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
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS

GROUP_TOMBSTONE = GroupMetadataTombstone(group_id=GroupId("g"))
OFFSET_TOMBSTONE = OffsetCommitTombstone(group_id=GroupId("g"), topic="t", partition=0)


def group_record(*members: str, instance: str | None = None, generation: int = 3) -> GroupMetadataRecord:
    return GroupMetadataRecord(
        group_id=GroupId("g"),
        protocol_type="consumer",
        generation_id=GenerationId(generation),
        protocol="range" if members else None,
        leader=MemberId(members[0]) if members else None,
        current_state_timestamp_ms=Millis(0),
        members=tuple(
            GroupMetadataRecordMember(
                member_id=MemberId(each),
                group_instance_id=None if instance is None else GroupInstanceId(instance),
                client_id="client",
                client_host="/127.0.0.1",
                rebalance_timeout_ms=Millis(20_000),
                session_timeout_ms=Millis(SESSION_MS),
                subscription=b"",
                assignment=each.encode(),
            )
            for each in members
        ),
    )


def offset(value: int, *, producer_id: int = -1) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id=GroupId("g"),
        topic="t",
        partition=0,
        offset=value,
        leader_epoch=-1,
        metadata="",
        commit_timestamp_ms=Millis(0),
        expire_timestamp_ms=None,
        producer_id=ProducerId(producer_id),
    )


def marker(producer_id: int, *, is_commit: bool) -> EndTransactionMarker:
    return EndTransactionMarker(
        partition=0,
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(0),
        is_commit=is_commit,
    )


def elected(profile: str, *log: CoordinatorRecord) -> Broker:
    broker = Broker(profile, {"offsets.topic.num.partitions": "1"}, owned=False, log=list(log))
    broker.begin_loading()
    return broker


def loaded(profile: str, *log: CoordinatorRecord) -> Broker:
    broker = elected(profile, *log)
    broker.finish_loading()
    return broker


def test_a_group_that_was_removed_is_not_there(profile: str) -> None:
    """GroupMetadataManagerTest#testLoadGroupWithTombstone (3.9.2)."""
    broker = loaded(profile, group_record("m"), GROUP_TOMBSTONE)

    assert broker.state() == "Dead"
    assert broker.heartbeat("m", 3).error is Errors.UNKNOWN_MEMBER_ID


def test_a_group_that_was_removed_and_made_anew_is_there_as_it_was_made(profile: str) -> None:
    """GroupMetadataManager#doLoadGroupsAndOffsets (3.9.2), where a later record cancels the removal."""
    broker = loaded(profile, group_record("old"), GROUP_TOMBSTONE, group_record("new", generation=1))

    assert broker.state() == "Stable"
    assert broker.heartbeat("new", 1).error is Errors.NONE
    assert broker.heartbeat("old", 3).error is Errors.UNKNOWN_MEMBER_ID


def test_offsets_make_a_group_without_members(profile: str) -> None:
    """GroupMetadataManagerTest#testLoadOffsetsWithoutGroup (3.9.2)."""
    broker = loaded(profile, offset(5), offset(7))

    assert (broker.state(), broker.describe().protocol_type) == ("Empty", "")
    assert broker.fetch(0) == [(7, Errors.NONE)]


def test_pending_offsets_make_a_group_too(profile: str) -> None:
    """GroupMetadataManagerTest#testLoadTransactionalOffsetsWithoutGroup (3.9.2)."""
    broker = loaded(profile, offset(5, producer_id=7))

    assert broker.state() == "Empty"
    assert broker.fetch(0, stable=True) == [(-1, Errors.UNSTABLE_OFFSET_COMMIT)]


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ([group_record("m"), offset(5), OFFSET_TOMBSTONE], -1),
        ([offset(5), OFFSET_TOMBSTONE, offset(6)], 6),
        ([offset(5), offset(6, producer_id=7), marker(7, is_commit=True)], 6),
        ([offset(5), offset(6, producer_id=7), marker(7, is_commit=False)], 5),
        ([offset(50, producer_id=7), offset(99), marker(7, is_commit=True)], 99),
        (
            [
                *(offset(1, producer_id=7), offset(2, producer_id=8)),
                *(marker(8, is_commit=True), marker(7, is_commit=True)),
            ],
            2,
        ),
    ],
    ids=[
        "a tombstoned offset is gone",
        "a later one is there",
        "a transaction counts if it was committed",
        "and does not if it was aborted",
        "a plain offset stands against a transaction that wrote before it",
        "of two producers who wrote last wins, not who committed last",
    ],
)
def test_what_was_written_last_and_counts_is_found(
    profile: str, log: list[CoordinatorRecord], found: int
) -> None:
    """GroupMetadataManagerTest and OffsetMetadataManagerTest.

    There they are #testLoadOffsetsWithTombstones,
    #testLoadWithCommittedAndAbortedTransactionalOffsetCommits and
    #testGroupLoadWithConsumerAndTransactionalOffsetCommitsConsumerWins (3.9.2), and
    #testReplayTransactionEndMarkerKeepsTheMostRecentCommittedOffset (4.3.1).
    """
    assert loaded(profile, *log).fetch(0, stable=True) == [(found, Errors.NONE)]


@pytest.mark.parametrize(("profile", "found"), [(SCALA, 50), (JAVA, -1)])
def test_a_tombstone_clears_what_is_pending_on_java_only(profile: str, found: int) -> None:
    """OffsetMetadataManagerTest#testReplayWithTombstoneAndPendingTransactionalOffsets (4.3.1)."""
    log = (offset(50, producer_id=7), OFFSET_TOMBSTONE, marker(7, is_commit=True))

    assert loaded(profile, *log).fetch(0, stable=True) == [(found, Errors.NONE)]


def test_static_members_keep_their_seats(profile: str) -> None:
    broker = loaded(profile, group_record("m", instance="seat"))

    assert broker.heartbeat("m", 3, instance="seat").error is Errors.NONE
    assert broker.heartbeat("x", 3, instance="seat").error is Errors.FENCED_INSTANCE_ID
    assert broker.sync("m", 3, instance="seat").sync.assignment == b"m"


def test_sessions_begin_when_the_load_ends_however_long_it_took(profile: str) -> None:
    """GroupCoordinatorShardTest#testOnLoaded (4.3.1)."""
    broker = elected(profile, group_record("m"))
    broker.coordinator.load(0, broker.log)
    broker.elapse(10 * SESSION_MS)
    broker.settle(broker.coordinator.finish_loading(0, now_ms=broker.now))

    broker.elapse(SESSION_MS - 1)
    assert broker.state() == "Stable"
    broker.elapse(1)
    assert broker.state() != "Stable"


def test_a_group_loads_with_its_offsets(profile: str) -> None:
    """GroupMetadataManagerTest#testLoadOffsetsAndGroup (3.9.2)."""
    broker = loaded(profile, offset(1), group_record("m"), offset(2))

    assert broker.fetch(0) == [(2, Errors.NONE)]
    assert broker.describe().members[0].member_assignment == b"m"


@pytest.mark.parametrize(("profile", "state", "found"), [(SCALA, "Empty", 7), (JAVA, "Dead", -1)])
def test_offsets_outlive_their_groups_tombstone_on_scala_only(profile: str, state: str, found: int) -> None:
    broker = loaded(profile, group_record(), offset(7), GROUP_TOMBSTONE)

    assert broker.state() == state
    assert broker.fetch(0) == [(found, Errors.NONE)]


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Dead"), (JAVA, "Empty")])
def test_a_group_outlives_its_offsets_tombstone_on_java_only(profile: str, state: str) -> None:
    assert loaded(profile, offset(7), OFFSET_TOMBSTONE).state() == state


def test_an_offset_after_a_tombstone_brings_the_group_back(profile: str) -> None:
    broker = loaded(profile, group_record(), GROUP_TOMBSTONE, offset(7))

    assert (broker.state(), broker.describe().protocol_type) == ("Empty", "")
    assert broker.fetch(0) == [(7, Errors.NONE)]


def test_records_may_be_loaded_bit_by_bit(profile: str) -> None:
    broker = elected(profile)
    for record in (offset(1), offset(2)):
        broker.coordinator.load(0, [record])
        assert broker.heartbeat("m").error is Errors.NONE

    broker.settle(broker.coordinator.finish_loading(0, now_ms=broker.now))

    assert broker.fetch(0) == [(2, Errors.NONE)]
    assert broker.heartbeat("m").error is Errors.UNKNOWN_MEMBER_ID


def test_a_load_that_is_given_up_leaves_nothing() -> None:
    broker = elected(JAVA)
    broker.coordinator.load(0, [offset(1)])
    broker.unload()
    assert broker.heartbeat("m").error is Errors.NOT_COORDINATOR

    broker.take_over()

    assert broker.state() == "Dead"


def test_on_scala_a_load_goes_on_to_its_end_before_it_is_undone() -> None:
    broker = elected(SCALA)
    broker.coordinator.load(0, [offset(1)])
    broker.unload()
    assert broker.heartbeat("m").error is Errors.NONE

    broker.settle(broker.coordinator.finish_loading(0, now_ms=broker.now))

    assert broker.heartbeat("m").error is Errors.NOT_COORDINATOR
    broker.take_over()
    assert broker.state() == "Dead"
