"""The sticky assignor: shares, stickiness and standby tasks."""

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.streams_records import Subtopology, TopicInfo
from reference_coordinator.groups.streams.assignors.group_spec import AssignmentMemberSpec, GroupSpec
from reference_coordinator.groups.streams.assignors.priority_queue import JavaPriorityQueue
from reference_coordinator.groups.streams.assignors.sticky import StickyTaskAssignor
from reference_coordinator.groups.streams.configured_topology import ConfiguredSubtopology
from reference_coordinator.groups.streams.tasks import Tasks, TasksTuple

_STATEFUL = Subtopology(
    subtopology_id="0", source_topics=("orders",), state_changelog_topics=(TopicInfo(name="c"),)
)


def _assigned(tasks: int, *members: tuple[str, str, Tasks], replicas: int = 0) -> dict[MemberId, TasksTuple]:
    spec = GroupSpec(
        members={
            MemberId(member_id): AssignmentMemberSpec(
                process_id=process_id, active_tasks=active, standby_tasks={}
            )
            for member_id, process_id, active in members
        },
        subtopologies={"0": ConfiguredSubtopology(number_of_tasks=tasks, subtopology=_STATEFUL)},
        num_standby_replicas=replicas,
    )
    return dict(StickyTaskAssignor(spec).assign())


def test_a_member_alone_runs_everything() -> None:
    assert _assigned(3, ("a", "p", {})) == {
        MemberId("a"): TasksTuple(active_tasks={"0": frozenset({0, 1, 2})})
    }


def test_members_keep_their_share() -> None:
    found = _assigned(4, ("a", "p", {"0": frozenset(range(4))}), ("b", "q", {}))

    assert found[MemberId("a")].active_tasks == {"0": frozenset({0, 1})}
    assert found[MemberId("b")].active_tasks == {"0": frozenset({2, 3})}


def test_a_standby_task_runs_in_another_process() -> None:
    found = _assigned(2, ("a", "p", {}), ("b", "q", {}), replicas=1)

    for each in found.values():
        active, standby = each.active_tasks.get("0", frozenset()), each.standby_tasks.get("0", frozenset())
        assert not active & standby
    assert sum(len(each.standby_tasks.get("0", ())) for each in found.values()) == 2


def test_one_process_has_no_standby_tasks() -> None:
    found = _assigned(2, ("a", "p", {}), ("b", "p", {}), replicas=1)

    assert all(not each.standby_tasks for each in found.values())


def test_a_heap_gives_equals_as_the_jvm_does() -> None:
    queue: JavaPriorityQueue[str] = JavaPriorityQueue(lambda _: 0.0)
    for each in "abcd":
        queue.add(each)

    assert [queue.poll() for _ in range(4)] == ["a", "d", "c", "b"]
