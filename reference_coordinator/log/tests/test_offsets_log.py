"""What the log remembers of producers, and refuses for it."""

import pytest

from reference_coordinator.core.effects import AppendRecords, Producer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, AppendId, ProducerEpoch, ProducerId
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.log.offsets_log import MarkerHeader, OffsetsLog
from reference_coordinator.tests.log_kit import FORGOTTEN, append, committed, end, in_transaction
from reference_coordinator.tests.log_kit import marker as kit_marker

PRODUCER = ProducerId(7)


@pytest.fixture(name="log")
def empty_log() -> OffsetsLog:
    return OffsetsLog()


def data(epoch: int) -> AppendRecords:
    producer = Producer(producer_id=PRODUCER, producer_epoch=ProducerEpoch(epoch))
    return AppendRecords(append_id=AppendId(1), partition=0, records=(), producer=producer)


def marker(epoch: int, partition: int = 0) -> EndTransactionMarker:
    return EndTransactionMarker(
        partition=partition, producer_id=PRODUCER, producer_epoch=ProducerEpoch(epoch), is_commit=True
    )


def test_an_epoch_below_one_that_was_seen_is_refused(log: OffsetsLog) -> None:
    assert [log.append(data(epoch)) for epoch in (1, 1, 2, 1)] == [
        Errors.NONE,
        Errors.NONE,
        Errors.NONE,
        Errors.INVALID_PRODUCER_EPOCH,
    ]
    assert log.append_marker(OFFSETS_TOPIC, marker(1), MarkerHeader()) is Errors.INVALID_PRODUCER_EPOCH
    assert log.append_marker(OFFSETS_TOPIC, marker(1, partition=1), MarkerHeader()) is Errors.NONE


def test_a_transaction_goes_on_from_its_first_records_to_its_marker(log: OffsetsLog) -> None:
    epoch = ProducerEpoch(1)

    assert not log.has_ongoing_transaction(0, PRODUCER, None)
    log.append(data(1))
    assert log.has_ongoing_transaction(0, PRODUCER, None)
    assert log.has_ongoing_transaction(0, PRODUCER, epoch)
    assert not log.has_ongoing_transaction(0, PRODUCER, ProducerEpoch(2))
    log.append_marker(OFFSETS_TOPIC, marker(1), MarkerHeader())
    assert not log.has_ongoing_transaction(0, PRODUCER, epoch)


def test_a_marker_of_a_former_coordinator_is_refused(log: OffsetsLog) -> None:
    assert log.append_marker(OFFSETS_TOPIC, marker(1), MarkerHeader(coordinator_epoch=7)) is Errors.NONE
    assert (
        log.append_marker(OFFSETS_TOPIC, marker(1), MarkerHeader(coordinator_epoch=6))
        is Errors.TRANSACTION_COORDINATOR_FENCED
    )


@pytest.mark.parametrize(
    ("epoch", "version", "error"),
    [
        (1, 0, Errors.NONE),
        (1, 2, Errors.INVALID_PRODUCER_EPOCH),
        (2, 2, Errors.NONE),
        (0, 2, Errors.INVALID_PRODUCER_EPOCH),
    ],
)
def test_in_version_2_the_end_has_an_epoch_of_its_own(
    log: OffsetsLog, epoch: int, version: int, error: Errors
) -> None:
    log.append(data(1))

    assert log.append_marker(OFFSETS_TOPIC, marker(epoch), MarkerHeader(transaction_version=version)) is error


def test_in_version_2_a_marker_may_be_repeated(log: OffsetsLog) -> None:
    header = MarkerHeader(transaction_version=2)
    log.append(data(1))

    assert [log.append_marker(OFFSETS_TOPIC, marker(2), header) for _ in range(2)] == [Errors.NONE] * 2


def test_only_markers_of_the_offsets_are_kept(log: OffsetsLog) -> None:
    log.append_marker("orders", marker(1), MarkerHeader())
    log.append_marker(OFFSETS_TOPIC, marker(2), MarkerHeader())

    assert log.records == [marker(2)]


def test_each_partition_has_offsets_of_its_own(log: OffsetsLog) -> None:
    for partition, record in ((3, committed(1)), (5, committed(2)), (3, committed(3))):
        assert append(log, record, partition=partition) is Errors.NONE
    end(log, is_commit=True, partition=3)

    assert log.partitions() == (3, 5)
    assert list(log.read(3)) == [committed(1), committed(3), kit_marker(is_commit=True, partition=3)]
    assert list(log.read_with_offsets(5)) == [(0, committed(2))]
    assert [log.end_offset(partition) for partition in (3, 4, 5)] == [3, 0, 1]
    assert list(log.read(4)) == []


def test_one_append_is_one_batch_with_the_latest_time_that_its_partition_knows(log: OffsetsLog) -> None:
    append(log, committed(5), committed(7))
    append(log, FORGOTTEN)

    assert [(each.base_offset, len(each.records), each.timestamp_ms) for each in log.batches(0)] == [
        (0, 2, 1_007),
        (2, 1, 1_007),
    ]


def test_a_deleted_log_begins_anew(log: OffsetsLog) -> None:
    append(log, in_transaction(1))
    log.delete()

    assert (log.partitions(), log.records, log.end_offset(0)) == ((), [], 0)
    assert not log.has_ongoing_transaction(0, PRODUCER, None)
