"""Compaction: what stays, what goes and when; and that no loader notices."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.log.compaction import DELETE_RETENTION_MS, compact
from reference_coordinator.log.conversion import to_log_batch, to_record_batch
from reference_coordinator.log.inspection import LoadedGroup, load_log
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.record_batch import RecordBatch, decode_batch, encode_batch
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    STABLE,
    append,
    committed,
    end,
    in_transaction,
    marker,
)

PROFILE = profile_for("4.4")
BEGIN, COMMIT, ABORT = "begin", "commit", "abort"
NOW = Millis(1_000_000)
LATER = Millis(NOW + DELETE_RETENTION_MS)
Step = CoordinatorRecord | tuple[CoordinatorRecord, ...] | str


def batches(*steps: Step) -> list[RecordBatch]:
    """Write records, or the ends of the producer's transaction."""
    log = OffsetsLog()
    for step in steps:
        if isinstance(step, str):
            end(log, is_commit=step == COMMIT)
        else:
            append(log, *(step if isinstance(step, tuple) else (step,)))
    return [to_record_batch(batch, PROFILE) for batch in log.batches(0)]


def records(stored: tuple[RecordBatch, ...]) -> list[CoordinatorRecord]:
    return [record for batch in stored for record in to_log_batch(batch, 0, PROFILE)[0].records]


def compacted(*steps: Step, now_ms: Millis = NOW) -> list[CoordinatorRecord]:
    return records(compact(batches(*steps), now_ms=now_ms))


def test_of_each_key_the_last_value_stays() -> None:
    other = committed(1, partition=1)

    assert compacted(committed(1), other, STABLE, (committed(2), committed(3)), EMPTY) == [
        *(other, committed(3), EMPTY)
    ]


def test_records_keep_their_offsets() -> None:
    (kept,) = compact(batches((committed(1), committed(2, partition=1), committed(3))), now_ms=NOW)

    assert [record.offset for record in kept.records] == [1, 2]
    assert (kept.base_offset, kept.next_offset) == (0, 3)
    assert decode_batch(memoryview(encode_batch(kept)), 0)[0] == kept


def test_tombstones_stay_a_day_from_the_first_compaction_on() -> None:
    once = compact(batches(STABLE, committed(1), FORGOTTEN, GONE), now_ms=NOW)
    before = compact(once, now_ms=Millis(LATER - 1))

    assert records(once) == records(before) == [FORGOTTEN, GONE]
    assert [batch.delete_horizon_ms for batch in once] == [LATER, LATER]
    assert [decode_batch(memoryview(encode_batch(batch)), 0)[0] for batch in once] == list(once)
    assert compact(before, now_ms=LATER) == ()


def test_a_value_that_shares_a_batch_with_a_tombstone_outlives_it() -> None:
    once = compact(batches((FORGOTTEN, STABLE)), now_ms=NOW)

    assert records(compact(once, now_ms=LATER)) == [STABLE]


def test_nothing_is_touched_from_an_open_transaction_on() -> None:
    steps: tuple[Step, ...] = (committed(1), in_transaction(2), committed(3), FORGOTTEN, committed(4))

    assert compacted(committed(0), *steps) == list(steps)


def test_an_aborted_transaction_goes_and_its_marker_stays_as_the_last_of_its_producer() -> None:
    assert compacted(in_transaction(1), ABORT, committed(2)) == [marker(is_commit=False), committed(2)]


def test_a_committed_transaction_stays_with_its_marker() -> None:
    steps: tuple[Step, ...] = (in_transaction(1), COMMIT, in_transaction(2, partition=1), COMMIT)

    assert compacted(*steps) == [
        *(in_transaction(1), marker(is_commit=True)),
        *(in_transaction(2, partition=1), marker(is_commit=True)),
    ]


def test_a_marker_goes_a_day_after_the_records_of_its_transaction() -> None:
    once = compact(batches(in_transaction(1), COMMIT, in_transaction(2), COMMIT), now_ms=NOW)

    assert records(once) == [marker(is_commit=True), in_transaction(2), marker(is_commit=True)]
    assert records(compact(once, now_ms=LATER)) == [in_transaction(2), marker(is_commit=True)]


def loaded(stored: list[RecordBatch] | tuple[RecordBatch, ...]) -> tuple[LoadedGroup, ...]:
    read = tuple(to_log_batch(batch, 0, PROFILE)[0] for batch in stored)
    partition = StoredPartition(batches=read, end_offset=0)
    return load_log({0: partition}, PROFILE, num_partitions=1).groups


STEPS = st.one_of(
    st.builds(committed, st.integers(0, 9), partition=st.integers(0, 1)),
    st.builds(in_transaction, st.integers(10, 19), partition=st.integers(0, 1)),
    st.sampled_from([STABLE, EMPTY, GONE, FORGOTTEN, COMMIT, ABORT]),
)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_no_loader_notices_a_compaction(steps: list[Step]) -> None:
    whole = batches(STABLE, *steps, STABLE)

    once = compact(whole, now_ms=NOW)

    assert loaded(once) == loaded(whole)
    assert loaded(compact(once, now_ms=LATER)) == loaded(whole)
    assert compact(once, now_ms=NOW) == once
