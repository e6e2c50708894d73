from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.shares.state import ShareGroupOffset, SharePartitionStates
from reference_coordinator.shares.state_batches import StateBatch, combine_state_batches

GROUP = GroupId("g")
ORDERS = TopicId("6f9b3bd6-0000-0000-0000-000000000001")
AT = (GROUP, ORDERS, 0)
WRITTEN = ShareGroupOffset(state_epoch=1, leader_epoch=0, start_offset=5, delivery_complete_count=0)


def states() -> SharePartitionStates:
    return SharePartitionStates({ORDERS: 2}.get)


def initialized() -> SharePartitionStates:
    made = states()
    assert made.initialize(*AT, state_epoch=1, start_offset=-1) is Errors.NONE
    return made


def batch(first: int, last: int, state: int = 2, count: int = 1) -> StateBatch:
    return StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)


def test_partitions_that_begin_alike_share_what_they_begin_with() -> None:
    made = states()
    for partition in (0, 1):
        made.initialize(GROUP, ORDERS, partition, state_epoch=1, start_offset=-1)

    assert made.summary(GROUP, ORDERS, 0) is made.summary(GROUP, ORDERS, 1)


def test_changes_are_noted_only_for_who_takes_them() -> None:
    made = initialized()
    assert not made.take_changes()

    made.write(*AT, WRITTEN)

    assert [*made.take_changes()] == [AT]
    assert not made.take_changes()


def test_a_leader_that_reads_fences_those_before_it() -> None:
    made = initialized()
    made.read(*AT, leader_epoch=2)
    assert made.read(*AT, leader_epoch=1) is Errors.FENCED_LEADER_EPOCH
    assert made.write(*AT, WRITTEN) is Errors.FENCED_LEADER_EPOCH
    assert made.write(*AT, replace(WRITTEN, leader_epoch=2)) is Errors.NONE


def test_a_write_without_a_start_offset_keeps_the_one_before() -> None:
    made = initialized()
    made.write(*AT, WRITTEN)
    made.write(*AT, replace(WRITTEN, start_offset=-1, state_batches=(batch(4, 6),)))
    found = made.read(*AT, leader_epoch=-1)
    assert isinstance(found, ShareGroupOffset)
    assert (found.start_offset, found.state_batches) == (5, (batch(5, 6),))


BATCHES = st.lists(
    st.builds(
        lambda first, length, state, count: batch(first, first + length, state, count),
        st.integers(0, 20),
        st.integers(0, 8),
        st.sampled_from([0, 2, 4]),
        st.integers(1, 3),
    ),
    max_size=8,
)


@given(BATCHES, st.integers(-1, 15))
def test_combined_batches_give_each_record_its_latest_state(batches: list[StateBatch], start: int) -> None:
    combined = combine_state_batches(batches, start)
    of_records = {
        offset: max(
            (each.delivery_count, each.delivery_state)
            for each in batches
            if each.first_offset <= offset <= each.last_offset
        )
        for given_batch in batches
        for offset in range(given_batch.first_offset, given_batch.last_offset + 1)
        if offset >= start
    }
    by_record = {
        offset: (each.delivery_count, each.delivery_state)
        for each in combined
        for offset in range(each.first_offset, each.last_offset + 1)
    }
    assert by_record == of_records
    for one, other in pairwise(combined):
        assert one.last_offset < other.first_offset
        is_same = (one.delivery_count, one.delivery_state) == (other.delivery_count, other.delivery_state)
        assert one.last_offset + 1 < other.first_offset or not is_same


def test_the_state_of_a_deleted_topic_is_deleted() -> None:
    made = initialized()
    made.take_changes()

    made.topic_deleted(ORDERS)

    assert made.take_changes() == {AT: None}
    assert made.read(*AT, leader_epoch=-1) is Errors.INVALID_REQUEST
