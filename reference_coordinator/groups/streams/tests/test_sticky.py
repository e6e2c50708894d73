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


def _of_4_4(*members: tuple[str, Tasks, Tasks, dict[int, int]], replicas: int = 0) -> dict[str, TasksTuple]:
    """What three tasks are assigned to, where members have active and standby tasks, and offsets."""
    spec = GroupSpec(
        members={
            MemberId(member_id): AssignmentMemberSpec(
                process_id=member_id, active_tasks=active, standby_tasks=standby, task_offsets={"0": offsets}
            )
            for member_id, active, standby, offsets in members
        },
        subtopologies={"0": ConfiguredSubtopology(number_of_tasks=3, subtopology=_STATEFUL)},
        num_standby_replicas=replicas,
        ranks_candidates=True,
    )
    return {str(key): each for key, each in StickyTaskAssignor(spec).assign().items()}


def test_tasks_go_to_who_has_restored_most() -> None:
    found = _of_4_4(("a", {}, {}, {0: 1, 1: 9, 2: 1}), ("b", {}, {}, {0: 9, 1: 1, 2: 9}))

    assert found["a"].active_tasks == {"0": frozenset({1})}
    assert found["b"].active_tasks == {"0": frozenset({0, 2})}


def test_a_former_standby_comes_before_offsets() -> None:
    found = _of_4_4(
        ("a", {}, {"0": frozenset({0, 1})}, {}), ("b", {}, {}, {0: 9, 1: 9}), ("c", {}, {}, {2: 1})
    )

    assert found["a"].active_tasks == {"0": frozenset({0})}
    assert found["c"].active_tasks == {"0": frozenset({2})}


def test_a_process_that_runs_a_task_is_passed_over_for_its_standby() -> None:
    has_all = {"0": frozenset({0, 1, 2})}
    found = _of_4_4(("a", has_all, {}, {}), ("b", {}, has_all, {}), ("c", {}, {}, {}), replicas=1)

    for task in range(3):
        runs = [key for key, each in found.items() if task in each.active_tasks.get("0", ())]
        stands_by = [key for key, each in found.items() if task in each.standby_tasks.get("0", ())]
        assert len(runs) == len(stands_by) == 1
        assert runs != stands_by
