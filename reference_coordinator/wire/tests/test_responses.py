"""Responses as frames: each version's fields, and what Kafka's response classes do to them."""

import pytest

from reference_coordinator.broker_messages import Coordinator, FindCoordinatorResponse
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GenerationId, GroupId, GroupInstanceId, MemberId, TopicId
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupResponse,
    ListedGroup,
    ListGroupsResponse,
    MemberResponse,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    SyncGroupResponse,
)
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.tests.wire_client import written
from reference_coordinator.wire import RequestHeader, UnwritableResponseError, write_response

MEMBER, INSTANCE = MemberId("m"), GroupInstanceId("i")
TOPIC_ID = TopicId("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
JOINED = JoinGroupResponse(
    error_code=Errors.NONE,
    generation_id=GenerationId(3),
    protocol_type="consumer",
    protocol_name="range",
    leader="m",
    skip_assignment=True,
    member_id=MEMBER,
    members=(JoinGroupResponseMember(member_id=MEMBER, group_instance_id=INSTANCE, metadata=b"\0"),),
)
REFUSED = JoinGroupResponse(
    error_code=Errors.UNKNOWN_MEMBER_ID,
    generation_id=GenerationId(-1),
    protocol_type=None,
    protocol_name=None,
    leader="",
    skip_assignment=False,
    member_id=MEMBER,
    members=(),
)
LEFT = LeaveGroupResponse(
    error_code=Errors.NONE,
    members=(
        MemberResponse(member_id=MEMBER, group_instance_id=INSTANCE, error_code=Errors.FENCED_INSTANCE_ID),
    ),
)
FETCHED = OffsetFetchResponse(
    groups=(
        OffsetFetchResponseGroup(
            group_id=GroupId("g"),
            error_code=Errors.NOT_COORDINATOR,
            topics=(
                OffsetFetchResponseTopic(
                    name="orders",
                    topic_id=TOPIC_ID,
                    partitions=(
                        OffsetFetchResponsePartition(
                            partition_index=0,
                            committed_offset=2**40,
                            committed_leader_epoch=5,
                            metadata=None,
                            error_code=Errors.UNSTABLE_OFFSET_COMMIT,
                        ),
                    ),
                ),
            ),
        ),
    )
)


@pytest.mark.parametrize("version", range(10))
def test_join_group_is_written_in_every_version(version: int) -> None:
    response = written(Api.JOIN_GROUP, version, JOINED)

    assert (response.error_code, response.generation_id, response.protocol_name) == (0, 3, "range")
    assert (response.leader, response.member_id) == ("m", "m")
    assert (response.members[0].member_id, response.members[0].metadata) == ("m", b"\0")
    assert getattr(response.members[0], "group_instance_id", None) == ("i" if version >= 5 else None)
    assert getattr(response, "protocol_type", None) == ("consumer" if version >= 7 else None)
    assert getattr(response, "skip_assignment", None) == (True if version >= 9 else None)


@pytest.mark.parametrize("version", range(10))
def test_no_protocol_name_is_empty_before_v7_and_null_since(version: int) -> None:
    assert written(Api.JOIN_GROUP, version, REFUSED).protocol_name == ("" if version < 7 else None)


@pytest.mark.parametrize("version", range(6))
def test_sync_group_is_written_in_every_version(version: int) -> None:
    message = SyncGroupResponse(
        error_code=Errors.NONE, protocol_type="consumer", protocol_name="range", assignment=b"a"
    )

    response = written(Api.SYNC_GROUP, version, message)

    assert (response.error_code, response.assignment) == (0, b"a")
    assert getattr(response, "protocol_type", None) == ("consumer" if version >= 5 else None)


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_is_written_in_every_version(version: int) -> None:
    message = HeartbeatResponse(error_code=Errors.REBALANCE_IN_PROGRESS)

    assert written(Api.HEARTBEAT, version, message).error_code == 27


@pytest.mark.parametrize("version", range(6))
def test_leave_group_promotes_the_members_error_before_v3_only(version: int) -> None:
    response = written(Api.LEAVE_GROUP, version, LEFT)

    assert response.error_code == (82 if version < 3 else 0)
    if version >= 3:
        assert [(each.member_id, each.group_instance_id, each.error_code) for each in response.members] == [
            ("m", "i", 82)
        ]


@pytest.mark.parametrize("version", range(3))
def test_leave_group_without_members_keeps_its_own_error(version: int) -> None:
    message = LeaveGroupResponse(error_code=Errors.NOT_COORDINATOR, members=())

    assert written(Api.LEAVE_GROUP, version, message).error_code == 16


@pytest.mark.parametrize("version", range(1, 11))
def test_offset_fetch_has_the_groups_error_where_the_version_has_room(version: int) -> None:
    response = written(Api.OFFSET_FETCH, version, FETCHED)

    holder = response if version < 8 else response.groups[0]
    partition = holder.topics[0].partitions[0]
    assert getattr(holder, "error_code", None) == (16 if version >= 2 else None)
    assert (partition.partition_index, partition.committed_offset, partition.error_code) == (0, 2**40, 88)
    assert getattr(partition, "committed_leader_epoch", None) == (5 if version >= 5 else None)


def test_topics_go_by_id_from_v10_on() -> None:
    message = OffsetCommitResponse(
        topics=(
            OffsetCommitResponseTopic(
                name="orders",
                topic_id=TOPIC_ID,
                partitions=(OffsetCommitResponsePartition(partition_index=0, error_code=Errors.NONE),),
            ),
        )
    )

    assert written(Api.OFFSET_COMMIT, 9, message).topics[0].name == "orders"
    assert str(written(Api.OFFSET_COMMIT, 10, message).topics[0].topic_id) == TOPIC_ID
    assert str(written(Api.OFFSET_FETCH, 10, FETCHED).groups[0].topics[0].topic_id) == TOPIC_ID


@pytest.mark.parametrize("version", range(7))
def test_describe_groups_is_written_in_every_version(version: int) -> None:
    member = DescribedGroupMember(
        member_id=MEMBER,
        group_instance_id=INSTANCE,
        client_id="c",
        client_host="/127.0.0.1",
        member_metadata=b"m",
        member_assignment=b"a",
    )
    message = DescribeGroupsResponse(
        groups=(
            DescribedGroup(
                error_code=Errors.GROUP_ID_NOT_FOUND,
                error_message="gone",
                group_id=GroupId("g"),
                group_state="Dead",
                protocol_type="consumer",
                protocol_data="range",
                members=(member,),
            ),
        )
    )

    (group,) = written(Api.DESCRIBE_GROUPS, version, message).groups

    assert (group.error_code, group.group_state, group.members[0].client_host) == (69, "Dead", "/127.0.0.1")
    assert getattr(group, "error_message", None) == ("gone" if version >= 6 else None)
    assert getattr(group, "authorized_operations", None) == (-(2**31) if version >= 3 else None)


def test_the_other_admin_responses_are_written() -> None:
    listed = ListedGroup(
        group_id=GroupId("g"), protocol_type="consumer", group_state="Stable", group_type="classic"
    )
    deleted = DeletableGroupResult(group_id=GroupId("g"), error_code=Errors.NON_EMPTY_GROUP)

    for version in range(6):
        message = ListGroupsResponse(error_code=Errors.NONE, groups=(listed,))
        (group,) = written(Api.LIST_GROUPS, version, message).groups
        assert getattr(group, "group_state", None) == ("Stable" if version >= 4 else None)
        assert getattr(group, "group_type", None) == ("classic" if version >= 5 else None)
    for version in range(3):
        (result,) = written(Api.DELETE_GROUPS, version, DeleteGroupsResponse(results=(deleted,))).results
        assert result.error_code == 68
    refused = OffsetDeleteResponse(error_code=Errors.GROUP_ID_NOT_FOUND, topics=())
    assert written(Api.OFFSET_DELETE, 0, refused).error_code == 69


@pytest.mark.parametrize("count", [0, 1, 256, 257, 1000])
@pytest.mark.parametrize("version", [2, 5])
def test_arrays_of_any_length_are_whole(version: int, count: int) -> None:
    groups = tuple(
        ListedGroup(
            group_id=GroupId(f"g{number}"),
            protocol_type="consumer",
            group_state="Stable",
            group_type="classic",
        )
        for number in range(count)
    )

    response = written(Api.LIST_GROUPS, version, ListGroupsResponse(error_code=Errors.NONE, groups=groups))

    assert [each.group_id for each in response.groups] == [each.group_id for each in groups]


def test_find_coordinator_is_the_only_coordinator_before_v4() -> None:
    found = Coordinator(key="g", node_id=1, host="h", port=2, error_code=Errors.NONE, error_message="NONE")
    message = FindCoordinatorResponse(coordinators=(found,))

    for version in range(4):
        response = written(Api.FIND_COORDINATOR, version, message)
        assert (response.node_id, response.host, response.port) == (1, "h", 2)
        assert getattr(response, "error_message", None) == ("NONE" if version >= 1 else None)
    for version in range(4, 7):
        (coordinator,) = written(Api.FIND_COORDINATOR, version, message).coordinators
        assert (coordinator.key, coordinator.node_id) == ("g", 1)


def test_every_error_code_can_be_written() -> None:
    header = RequestHeader(api=Api.HEARTBEAT, api_version=0, correlation_id=7, client_id=None)

    for error in Errors:
        frame = write_response(header, HeartbeatResponse(error_code=error))
        assert int.from_bytes(frame[4:6], "big", signed=True) == error


def test_a_text_too_long_for_its_field_is_refused() -> None:
    message = LeaveGroupResponse(
        error_code=Errors.NONE,
        members=(
            MemberResponse(member_id=MemberId("m" * 40_000), group_instance_id=None, error_code=Errors.NONE),
        ),
    )

    with pytest.raises(UnwritableResponseError, match="LeaveGroupResponse v3"):
        written(Api.LEAVE_GROUP, 3, message)
