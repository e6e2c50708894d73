"""Responses as frames: each version's fields, and what Kafka's response classes do to them."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GenerationId, GroupId, GroupInstanceId, MemberId, TopicId
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    HeartbeatResponse,
    JoinGroupResponse,
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
)
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.tests.wire_client import written
from reference_coordinator.wire import RequestHeader, UnwritableResponseError, write_response

MEMBER, INSTANCE = MemberId("m"), GroupInstanceId("i")
TOPIC_ID = TopicId("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
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
def test_no_protocol_name_is_empty_before_v7_and_null_since(version: int) -> None:
    assert written(Api.JOIN_GROUP, version, REFUSED).protocol_name == ("" if version < 7 else None)


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
