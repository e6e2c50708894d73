"""Consumer groups that are read back from the log."""

import pytest

from reference_coordinator.core.consumer_records import (
    ConsumerGroupMetadataRecord,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupPartitionMetadataTombstone,
    TopicMetadata,
)
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.replay import replay
from reference_coordinator.groups.consumer.tests.consumer_kit import EVERY_RELEASE, Consumers, topic_id
from reference_coordinator.profile.profiles import profile_for


def test_a_log_of_4_0_is_taken_over_by_4_1() -> None:
    consumers = Consumers.on("4.0", t=1)
    consumers.beat("ana", 0, names=("t",))
    assert ConsumerGroupPartitionMetadataRecord in map(type, consumers.broker.log)

    consumers.broker.profile = "4.1"
    consumers.broker.restart()
    consumers.topics(t=1)
    assert consumers.beat("ana", 1).member_epoch == 2

    assert ConsumerGroupPartitionMetadataTombstone in map(type, consumers.broker.log)
    known = len(consumers.broker.log)
    assert consumers.beat("ana", 2).member_epoch == 2
    assert len(consumers.broker.log) == known


def test_records_of_a_release_have_what_it_knows() -> None:
    hashes, topics = {}, {}
    for release in EVERY_RELEASE:
        consumers = Consumers.on(release, t=1)
        consumers.beat("ana", 0, names=("t",))
        log = consumers.broker.log
        hashes[release] = [
            each.metadata_hash for each in log if isinstance(each, ConsumerGroupMetadataRecord)
        ]
        topics[release] = [
            each.topics for each in log if isinstance(each, ConsumerGroupPartitionMetadataRecord)
        ]

    assert {release for release, found in hashes.items() if found == [0]} == {"4.0.0", "4.0"}
    named = (TopicMetadata(topic_id=topic_id("t"), topic_name="t", num_partitions=1),)
    assert {release: found for release, found in topics.items() if found} == {
        "4.0.0": [named],
        "4.0": [named],
    }


def replayed(log: list[CoordinatorRecord], release: str, *, left_out: type) -> ConsumerGroup | None:
    """The group of a log from which records of one kind were compacted away."""
    group: ConsumerGroup | None = None
    for record in log:
        if not isinstance(record, left_out):
            group = replay(group, record, profile_for(release))  # type: ignore[arg-type]  # of one group
    return group


def test_a_tombstone_without_those_before_it_is_refused() -> None:
    consumers = Consumers.on("4.3", t=1)
    consumers.beat("ana", 0, names=("t",))
    consumers.beat("ana", -1)
    kinds = {type(each) for each in consumers.broker.log if type(each).__name__.endswith("Tombstone")}
    assert len(kinds) == 3

    for kind in kinds:
        if kind.__name__.startswith("ConsumerGroupMemberMetadata"):
            group = replayed(consumers.broker.log, "4.3", left_out=kind)
            assert group is not None
            assert "ana" in group.members
        else:
            with pytest.raises(IllegalStateError):
                replayed(consumers.broker.log, "4.3", left_out=kind)
