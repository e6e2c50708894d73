"""Records of streams groups come back from their bytes as they were, and are as long as is said."""

import pytest

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis
from reference_coordinator.core.streams_records import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupCurrentMemberAssignmentTombstone,
    StreamsGroupMemberMetadataRecord,
    StreamsGroupMetadataRecord,
    StreamsGroupMetadataTombstone,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMemberRecord,
    StreamsGroupTargetAssignmentMetadataRecord,
    StreamsGroupTopologyRecord,
    StreamsGroupTopologyTombstone,
    Subtopology,
    TaskIds,
    TaskIdsWithEpochs,
    TopicInfo,
)
from reference_coordinator.log.group_record_serde import read_group_record, types_and_name, write_group_record
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.group_record_sizes import group_record_bytes

_G, _A = GroupId("g"), MemberId("ana")
_PROFILE = profile_for("4.4")
_TASKS = TaskIdsWithEpochs(subtopology_id="0", partitions=(0, 2), assignment_epochs=(1, 3))
_RECORDS: tuple[StreamsGroupRecord, ...] = (
    StreamsGroupMetadataRecord(group_id=_G, epoch=3),
    StreamsGroupMetadataRecord(
        group_id=_G,
        epoch=3,
        metadata_hash=-5,
        validated_topology_epoch=0,
        last_assignment_configs=(KeyValue(key="num.standby.replicas", value="1"),),
    ),
    StreamsGroupMetadataTombstone(group_id=_G),
    StreamsGroupMemberMetadataRecord(
        group_id=_G,
        member_id=_A,
        instance_id=GroupInstanceId("i"),
        rack_id=None,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=Millis(7),
        topology_epoch=1,
        process_id="p",
        user_endpoint=Endpoint(host="host", port=65_535),
        client_tags=(KeyValue(key="zone", value="a"),),
    ),
    StreamsGroupTargetAssignmentMetadataRecord(
        group_id=_G, assignment_epoch=4, assignment_timestamp_ms=Millis(99)
    ),
    StreamsGroupTargetAssignmentMemberRecord(
        group_id=_G, member_id=_A, active_tasks=(TaskIds(subtopology_id="0", partitions=(1,)),)
    ),
    StreamsGroupCurrentMemberAssignmentRecord(
        group_id=_G,
        member_id=_A,
        member_epoch=2,
        previous_member_epoch=1,
        state=2,
        active_tasks=(_TASKS,),
        standby_tasks=(),
        warmup_tasks=(),
        active_tasks_pending_revocation=(_TASKS,),
        standby_tasks_pending_revocation=(TaskIdsWithEpochs(subtopology_id="1", partitions=(3,)),),
        warmup_tasks_pending_revocation=(),
    ),
    StreamsGroupCurrentMemberAssignmentTombstone(group_id=_G, member_id=_A),
    StreamsGroupTopologyRecord(
        group_id=_G,
        epoch=1,
        subtopologies=(
            Subtopology(
                subtopology_id="0",
                source_topics=("orders", "payments"),
                state_changelog_topics=(TopicInfo(name="c", topic_configs=(KeyValue(key="k", value="v"),)),),
                repartition_sink_topics=("r",),
                repartition_source_topics=(TopicInfo(name="r", partitions=3, replication_factor=1),),
                copartition_groups=(CopartitionGroup(source_topics=(0, 1)),),
            ),
        ),
    ),
    StreamsGroupTopologyTombstone(group_id=_G),
)
_KEY_TYPES = (17, 17, 17, 19, 20, 21, 22, 22, 23, 23)


@pytest.mark.parametrize(("key_type", "record"), [*zip(_KEY_TYPES, _RECORDS, strict=True)])
def test_a_record_comes_back_as_it_was_and_is_as_long_as_said(
    key_type: int, record: StreamsGroupRecord
) -> None:
    key, value = write_group_record(record, _PROFILE)

    assert int.from_bytes(key[:2], "big") == key_type
    assert types_and_name(record) == ("streams", key_type, getattr(record, "member_id", ""))
    assert read_group_record(key, value, _PROFILE) == record
    assert group_record_bytes(record) == (len(key), None if value is None else len(value))


def test_a_value_of_another_version_is_not_read() -> None:
    key, value = write_group_record(StreamsGroupMetadataRecord(group_id=_G, epoch=3), _PROFILE)
    assert value is not None

    with pytest.raises(ValueError, match="of version 1"):
        read_group_record(key, b"\0\1" + value[2:], _PROFILE)
    with pytest.raises(ValueError, match="ends before"):
        read_group_record(key, b"\0", _PROFILE)
