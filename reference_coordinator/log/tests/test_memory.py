"""Compaction of the log in memory: a loader of any release knows the same, and little is kept."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_coordinator.coordinator.loader import Loader
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    MemberState,
    TopicPartitions,
)
from reference_coordinator.core.effects import AppendRecords, Producer
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import (
    OFFSETS_TOPIC,
    AppendId,
    GroupId,
    MemberId,
    ProducerEpoch,
    ProducerId,
    TopicId,
)
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.share_records import (
    ShareGroupMetadataRecord,
    ShareGroupMetadataTombstone,
    ShareGroupStatePartitionMetadataRecord,
    TopicPartitionsInfo,
)
from reference_coordinator.core.streams_records import (
    StreamsGroupMetadataRecord,
    StreamsGroupMetadataTombstone,
)
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.log.memory import compacted
from reference_coordinator.log.offsets_log import MarkerHeader, OffsetsLog
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Behaviour, profile_for
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    GROUP,
    PRODUCER,
    STABLE,
    append,
    committed,
    end,
    groups_in,
    in_transaction,
    marker,
)

HEADER = MarkerHeader()


def test_what_a_later_record_replaces_goes_but_for_what_made_the_group() -> None:
    log = OffsetsLog()
    append(log, committed(1), committed(2))
    append(log, STABLE, committed(3, partition=1), STABLE)
    append(log, committed(4), committed(5, partition=1), EMPTY)

    kept = compacted(log.batches(0))

    assert [list(batch.with_offsets()) for batch in kept] == [
        [(0, committed(1))],
        [(5, committed(4)), (6, committed(5, partition=1)), (7, EMPTY)],
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
    assert kinds == ([False, False, False, True] if is_commit else [False, False])
    append(log, committed(9))
    assert [batch.is_marker for batch in compacted(log.batches(0))] == [False, False, False]


OTHER = Producer(producer_id=ProducerId(8), producer_epoch=ProducerEpoch(0))
TOPIC = TopicId("00000000-0000-0000-0000-000000000001")
OF_GROUPS: tuple[CoordinatorRecord, ...] = (
    *(STABLE, EMPTY, GONE, replace(EMPTY, protocol_type="")),
    *(FORGOTTEN, replace(FORGOTTEN, partition=1), committed(1), committed(2, partition=1)),
    *(ConsumerGroupMetadataRecord(group_id=GROUP, epoch=each) for each in (4, 5)),
    ConsumerGroupMemberMetadataRecord(group_id=GROUP, member_id=MemberId("m")),
    *(
        ConsumerGroupCurrentMemberAssignmentRecord(
            group_id=GROUP,
            member_id=MemberId(member_id),
            member_epoch=5,
            previous_member_epoch=4,
            state=MemberState.STABLE,
            partitions_pending_revocation=(),
            assigned_partitions=(TopicPartitions(topic_id=TOPIC, partitions=(0,)),),
        )
        for member_id in ("m", "n")
    ),
    ConsumerGroupMetadataTombstone(group_id=GROUP),
    ConsumerGroupMemberMetadataTombstone(group_id=GROUP, member_id=MemberId("m")),
    ConsumerGroupCurrentMemberAssignmentTombstone(group_id=GROUP, member_id=MemberId("m")),
    *(ShareGroupMetadataRecord(group_id=GROUP, epoch=each) for each in (4, 5)),
    ShareGroupMetadataTombstone(group_id=GROUP),
    *(StreamsGroupMetadataRecord(group_id=GROUP, epoch=each) for each in (4, 5)),
    StreamsGroupMetadataTombstone(group_id=GROUP),
)
WRITES = st.tuples(st.sampled_from(OF_GROUPS), st.sampled_from(["g", "h"]), st.none())
STAGES = st.tuples(
    st.sampled_from([committed(number, partition=number % 2) for number in range(10, 14)]),
    st.sampled_from(["g", "h"]),
    st.sampled_from([PRODUCER, OTHER]),
)
ENDS = st.tuples(st.booleans(), st.just("g"), st.sampled_from([PRODUCER, OTHER]))
STEPS = st.lists(st.tuples(st.one_of(WRITES, STAGES, ENDS), st.booleans()), max_size=40)


@pytest.mark.slow
@given(steps=STEPS, release=st.sampled_from(["2.8", "3.9", "4.0", "4.2.0", "4.4"]))
@settings(max_examples=400, deadline=None)
def test_a_loader_knows_the_same(steps: list[Any], release: str) -> None:
    """A step is a record and its group, or the end of a transaction; then the log is compacted or not."""
    log, whole = OffsetsLog(), OffsetsLog()
    for (content, group_id, producer), is_compacted in steps:
        for each in (log, whole):
            if isinstance(content, bool):
                end_of = replace(marker(is_commit=content), producer_id=producer.producer_id)
                each.append_marker(
                    OFFSETS_TOPIC, replace(end_of, producer_epoch=producer.producer_epoch), HEADER
                )
            else:
                staged = {} if producer is None else {"producer_id": producer.producer_id}
                record = replace(content, group_id=GroupId(group_id), **staged)
                each.append(
                    AppendRecords(append_id=AppendId(1), partition=0, records=(record,), producer=producer)
                )
        found = log._partitions.get(0)
        if found is not None and is_compacted:
            stays = profile_for(release).has(Behaviour.EMPTIED_SIMPLE_GROUP_STAYS)
            found.batches = compacted(found.batches, keeps_emptied=stays)

    assert known_to(release, log) == known_to(release, whole)


def known_to(release: str, log: OffsetsLog) -> object:
    """Return all that a loader of a release knows of a log of one partition."""
    config = GroupCoordinatorConfig(offsets_topic_num_partitions=1)
    shard = CoordinatorShard(config=config, profile=profile_for(release), choices=DeterministicChoices())
    loader = Loader(shard=shard, partition=0)
    try:
        loader.replay(record for batch in log.batches(0) for record in batch.records)
        loader.finish()
    except IllegalStateError:
        return "the partition fails to load"
    groups = {
        each.group_id: (each.state, each.generation_id, each.protocol_type, each.members.keys())
        if isinstance(each, ClassicGroup)
        else repr(each)
        for each in shard.groups()
    }
    offsets = {
        (group_id, partition): replace(offset, record_offset=None)
        for group_id in shard.offsets.group_ids()
        for partition, offset in shard.offsets.of_group(group_id).items()
    }
    staged = {
        (producer_id, group_id, partition): replace(offset, record_offset=None)
        for producer_id, group_id, partition, offset in shard.offsets.transactions.by_producer()
    }
    return groups, offsets, staged


def test_an_emptied_simple_group_outlives_compaction() -> None:
    log = OffsetsLog()
    append(log, committed(1, group="a"), replace(FORGOTTEN, group_id=GroupId("a")))
    for number in range(5_000):
        append(log, committed(number))

    assert log.compactions(0) > 1
    assert [each.group_id for each in groups_in(log)] == ["a", "g"]


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
        gone = GroupId(f"g{number}")
        append(log, replace(FORGOTTEN, group_id=gone), replace(GONE, group_id=gone))

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
