"""Static members of a streams group: who is let in by an instance id, and what is written of it."""

import pytest

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.streams_records import (
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupMemberMetadataTombstone,
)
from reference_coordinator.groups.streams.group import StreamsGroup, new_streams_group
from reference_coordinator.groups.streams.joining import get_or_maybe_create_static_streams_group_member
from reference_coordinator.groups.streams.leave import streams_group_static_member_group_leave
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import TasksTuple, TasksTupleWithEpochs
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.profile.profiles import profile_for

GROUP, ONE = GroupId("g"), GroupInstanceId("one")
TASKS = TasksTupleWithEpochs(active_tasks={"0": {0: 5}})
TARGET = TasksTuple(active_tasks={"0": frozenset({0})})


def _group(epoch: int) -> StreamsGroup:
    ana = StreamsGroupMember(
        member_id=MemberId("ana"),
        instance_id=ONE,
        member_epoch=epoch,
        previous_member_epoch=4,
        assigned_tasks=TASKS,
        tasks_pending_revocation=TASKS,
    )
    group = new_streams_group(GROUP, profile_for("4.4")).update_member(ana)
    group.target_assignment = {ana.member_id: TARGET}
    return group


def _heard(
    group: StreamsGroup, member_id: str, epoch: int, instance_id: str = "one"
) -> tuple[StreamsGroupMember, list[CoordinatorRecord]]:
    records: list[CoordinatorRecord] = []
    request = StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=MemberId(member_id), member_epoch=epoch)
    member = get_or_maybe_create_static_streams_group_member(
        group, GroupInstanceId(instance_id), request, records
    )
    return member, records


@pytest.mark.parametrize(
    ("member_id", "epoch", "instance_id", "error"),
    [
        ("bob", 0, "one", Errors.UNRELEASED_INSTANCE_ID),
        ("ana", 0, "one", Errors.UNRELEASED_INSTANCE_ID),
        ("ana", 5, "two", Errors.UNKNOWN_MEMBER_ID),
        ("bob", 5, "one", Errors.FENCED_INSTANCE_ID),
        ("ana", 6, "one", Errors.FENCED_MEMBER_EPOCH),
    ],
)
def test_who_is_refused(member_id: str, epoch: int, instance_id: str, error: Errors) -> None:
    with pytest.raises(CoordinatorError) as refused:
        _heard(_group(5), member_id, epoch, instance_id)
    assert refused.value.error is error


def test_a_known_and_a_new_instance_write_nothing() -> None:
    assert _heard(_group(5), "ana", 5) == (_group(5).members[MemberId("ana")], [])
    assert _heard(_group(5), "bob", 0, "two") == (StreamsGroupMember(member_id=MemberId("bob")), [])


def test_a_successor_has_what_its_predecessor_had() -> None:
    member, records = _heard(_group(-2), "bob", 0)

    assert (member.member_id, member.member_epoch, member.previous_member_epoch) == ("bob", 0, 0)
    assert member.assigned_tasks == TASKS
    assert StreamsGroupMemberMetadataTombstone(group_id=GROUP, member_id=MemberId("ana")) in records
    assert isinstance(records[-1], StreamsGroupCurrentMemberAssignmentRecord)
    assert records[-1].member_id == "bob"


def test_a_member_that_is_away_need_not_give_up_tasks() -> None:
    group = _group(5)
    response = StreamsGroupHeartbeatResponse(error_code=Errors.NONE)
    result = streams_group_static_member_group_leave(group, group.members[MemberId("ana")], response)
    (record,) = result.records

    assert isinstance(record, StreamsGroupCurrentMemberAssignmentRecord)
    assert (record.member_epoch, record.active_tasks_pending_revocation) == (-2, ())
    assert [each.assignment_epochs for each in record.active_tasks] == [(0,)]


def test_a_former_instance_id_is_free() -> None:
    group = _group(5)
    member = group.members[MemberId("ana")]
    renamed = StreamsGroupMember(member_id=member.member_id, instance_id=GroupInstanceId("two"))

    assert dict(group.update_member(renamed).static_members) == {"two": "ana"}
