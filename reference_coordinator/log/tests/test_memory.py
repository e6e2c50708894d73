"""Compaction of the log in memory: a loader finds what it would have found, and little is kept."""

import random
from dataclasses import replace

import pytest

from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.share_records import (
    ShareGroupStatePartitionMetadataRecord,
    TopicPartitionsInfo,
)
from reference_coordinator.log.memory import compacted
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    STABLE,
    append,
    committed,
    end,
    groups_in,
    in_transaction,
)


def test_of_each_key_the_last_value_stays_where_it_stood() -> None:
    log = OffsetsLog()
    append(log, committed(1), STABLE)
    append(log, committed(2), committed(2, partition=1))
    append(log, EMPTY)

    kept = compacted(log.batches(0))

    assert [list(batch.with_offsets()) for batch in kept] == [
        [(2, committed(2)), (3, committed(2, partition=1))],
        [(4, EMPTY)],
    ]


def test_what_was_deleted_leaves_nothing() -> None:
    log = OffsetsLog()
    append(log, committed(1), STABLE)
    append(log, FORGOTTEN, GONE)

    assert compacted(log.batches(0)) == []


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_stays_whole_until_it_is_overwritten(*, is_commit: bool) -> None:
    log = OffsetsLog()
    append(log, committed(1))
    append(log, committed(5, partition=7))
    append(log, in_transaction(2))
    append(log, committed(6, partition=7))
    open_ = compacted(log.batches(0))
    assert len(open_) == 4, "nothing from the first record of an open transaction on is taken away"

    end(log, is_commit=is_commit)
    ended = compacted(log.batches(0))

    kinds = [batch.is_marker for batch in ended]
    assert kinds == ([False, False, True] if is_commit else [False, False])
    append(log, committed(9))
    assert [batch.is_marker for batch in compacted(log.batches(0))] == [False, False]


@pytest.mark.parametrize("seed", range(20))
def test_a_loader_finds_the_same(seed: int) -> None:
    chance = random.Random(seed)
    log, whole = OffsetsLog(), OffsetsLog()
    for _ in range(200):
        step, offset = chance.randrange(6), chance.randrange(9)
        for each in (log, whole):
            if step < 2:
                append(each, committed(offset, partition=step))
            elif step == 2:
                append(each, FORGOTTEN)
            elif step == 3:
                append(each, STABLE if seed % 2 else EMPTY)
            elif step == 4:
                append(each, in_transaction(3))
            else:
                end(each, is_commit=seed % 3 > 0)
        found = log._partitions.get(0)
        if found is not None and chance.random() < 0.2:
            found.batches = compacted(found.batches)

    assert groups_in(log) == groups_in(whole)


def test_a_log_that_is_overwritten_again_and_again_stays_small() -> None:
    log = OffsetsLog()
    for number in range(5_000):
        append(log, committed(number))

    assert log.compactions(0) > 1
    assert len(log.records) < 2_000
    assert log.records[-1] == committed(4_999)
    assert log.end_offset(0) == 5_000


def test_a_log_of_groups_that_come_and_go_stays_small() -> None:
    log = OffsetsLog()
    for number in range(3_000):
        append(log, committed(1, group=f"g{number}"))
        append(log, replace(FORGOTTEN, group_id=GroupId(f"g{number}")))

    assert len(log.records) < 2_000


def test_a_log_of_large_records_that_are_overwritten_stays_small() -> None:
    log = OffsetsLog()
    member = replace(STABLE.members[0], subscription=bytes(100_000))
    topics = tuple(
        TopicPartitionsInfo(topic_id=TopicId(f"t{number}"), topic_name="orders", partitions=tuple(range(100)))
        for number in range(30)
    )
    of_shares = ShareGroupStatePartitionMetadataRecord(group_id=GroupId("s"), initialized_topics=topics)
    for _ in range(200):
        append(log, replace(STABLE, members=(member,)))
        append(log, of_shares)

    assert len(log.records) < 100
