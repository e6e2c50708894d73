"""Records of share groups as bytes and back, and how long they are."""

from typing import get_args

import pytest

from reference_coordinator.core.consumer_records import MemberState, TopicMetadata
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.core.share_records import (
    ShareGroupCurrentMemberAssignmentRecord,
    ShareGroupMemberMetadataRecord,
    ShareGroupMetadataRecord,
    ShareGroupPartitionMetadataRecord,
    ShareGroupRecord,
    ShareGroupStatePartitionMetadataRecord,
    ShareGroupTargetAssignmentMemberRecord,
    ShareGroupTargetAssignmentMetadataRecord,
    ShareGroupTombstone,
    ShareTopicPartitions,
    TopicInfo,
    TopicPartitionsInfo,
)
from reference_coordinator.log.serde import UnreadableRecordError, write_record
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.group_record_sizes import group_record_bytes
from reference_coordinator.tests.log_kit import read

GROUP, MEMBER = GroupId("g"), MemberId("m")
TOPIC = TopicId("00000000-0000-0000-0000-00000000000a")
PARTS = (ShareTopicPartitions(topic_id=TOPIC, partitions=(0, 2)),)
VALUES: tuple[ShareGroupRecord, ...] = (
    ShareGroupPartitionMetadataRecord(
        group_id=GROUP,
        topics=(TopicMetadata(topic_id=TOPIC, topic_name="t", num_partitions=3),),
    ),
    ShareGroupMemberMetadataRecord(
        group_id=GROUP,
        member_id=MEMBER,
        rack_id=None,
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=("a", "b"),
    ),
    ShareGroupMetadataRecord(group_id=GROUP, epoch=3, metadata_hash=-5),
    ShareGroupTargetAssignmentMetadataRecord(
        group_id=GROUP, assignment_epoch=4, assignment_timestamp_ms=Millis(99)
    ),
    ShareGroupTargetAssignmentMetadataRecord(group_id=GROUP, assignment_epoch=4),
    ShareGroupTargetAssignmentMemberRecord(group_id=GROUP, member_id=MEMBER, topic_partitions=PARTS),
    ShareGroupCurrentMemberAssignmentRecord(
        group_id=GROUP,
        member_id=MEMBER,
        member_epoch=5,
        previous_member_epoch=4,
        state=MemberState.STABLE,
        assigned_partitions=PARTS,
    ),
    ShareGroupStatePartitionMetadataRecord(
        group_id=GROUP,
        initializing_topics=(TopicPartitionsInfo(topic_id=TOPIC, topic_name="t", partitions=(1,)),),
        initialized_topics=(TopicPartitionsInfo(topic_id=TOPIC, topic_name="t", partitions=(0, 2)),),
        deleting_topics=(TopicInfo(topic_id=TOPIC, topic_name="t"),),
    ),
)
TOMBSTONES = tuple(
    tombstone(group_id=GROUP, **({"member_id": MEMBER} if "Member" in tombstone.__name__ else {}))
    for tombstone in get_args(ShareGroupTombstone)
)
OF_TOPICS = (VALUES[0], TOMBSTONES[0])


@pytest.mark.parametrize("record", [*VALUES, *TOMBSTONES], ids=str)
def test_a_record_is_read_as_it_was_written(record: ShareGroupRecord) -> None:
    profile = "4.0" if record in OF_TOPICS else "4.3"
    key, value = write_record(record, profile_for(profile))

    assert read(key, value, profile) == record
    assert int.from_bytes(key[:2], "big") in range(9, 16)
    assert group_record_bytes(record) == (len(key), None if value is None else len(value))


@pytest.mark.parametrize(
    ("record", "written_by", "read_by"),
    [*((each, "4.0", "4.1") for each in OF_TOPICS), (VALUES[2], "4.3", "3.9")],
    ids=["topics", "tombstone of topics", "of a release without share groups"],
)
def test_what_a_release_does_not_have_it_skips(
    record: ShareGroupRecord, written_by: str, read_by: str
) -> None:
    key, value = write_record(record, profile_for(written_by))

    assert read(key, value, read_by) is None


@pytest.mark.parametrize("value", [b"", b"\0\1", b"\0\0\0"])
def test_a_damaged_record_is_unreadable(value: bytes) -> None:
    key, _ = write_record(VALUES[2], profile_for("4.3"))

    with pytest.raises(UnreadableRecordError):
        read(key, value, "4.3")
