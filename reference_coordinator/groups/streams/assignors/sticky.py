"""The assignor `sticky`: tasks stay with their members as far as the assignment remains balanced."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code, utf16_order
from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.assignors.group_spec import AssignmentMemberSpec, GroupSpec, TaskId
from reference_coordinator.groups.streams.assignors.priority_queue import JavaPriorityQueue
from reference_coordinator.groups.streams.assignors.process_state import ProcessState
from reference_coordinator.groups.streams.tasks import Tasks, TasksTuple

NAME: Final = "sticky"
"""Source: StickyTaskAssignor#name (4.3.1)."""


@value
class _Member:
    process_id: str
    member_id: MemberId


@value
class _Candidate:
    member: _Member
    is_standby: bool
    offset: int


class _Quota:
    """The maximum number of tasks for each member. Members that have reached it no longer count.

    Decided in: StickyTaskAssignor#maybeUpdateActiveTasksPerMember, StickyTaskAssignor#computeTasksPerMember
    (4.3.1).
    """

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.per_member = self._computed()

    def take_in(self, count: int) -> None:
        """Stop counting a member if its number of tasks has reached the quota."""
        if count == self.per_member:
            self._members -= 1
            self._tasks -= count
            self.per_member = self._computed()

    def _computed(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0


class StickyTaskAssignor:
    """One computation of an assignment. Source: StickyTaskAssignor (4.3.1)."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        tasks, stateful = spec.tasks(), spec.tasks(stateful_only=True)
        self._replicas = spec.num_standby_replicas
        members = len(spec.members)
        self._active_quota = _Quota(len(tasks), members)
        self._total_quota = _Quota(len(tasks) + len(stateful) * self._replicas, members)
        self._processes: JavaHashMap[str, ProcessState] = JavaHashMap(string_hash_code, capacity=members)
        self._previous_active: dict[TaskId, _Member] = {}
        candidates: dict[TaskId, list[_Candidate]] = {}
        for member_id, each in spec.members.items():
            member = _Member(process_id=each.process_id, member_id=member_id)
            self._process_of(each.process_id).add_member(member_id)
            self._previous_active.update(dict.fromkeys(_task_ids(each.active_tasks), member))
            _collect_standby_candidates(candidates, each, member)
        self._previous_standby = {key: _ranked(each) for key, each in candidates.items()}

    def _process_of(self, process_id: str) -> ProcessState:
        """Return the state of a process. A new one is added as in the release, which affects map order."""
        if self._spec.ranks_candidates:
            return self._processes.compute_if_absent(process_id, ProcessState)
        if process_id not in self._processes:
            self._processes[process_id] = ProcessState()
        return self._processes[process_id]

    def assign(self) -> Mapping[MemberId, TasksTuple]:
        """Return the tasks of every member. Decided in: StickyTaskAssignor#doAssign (4.3.1)."""
        self._assign_active(self._spec.tasks())
        if self._replicas > 0:
            self._assign_standby(self._spec.tasks(stateful_only=True))
        return {
            member_id: TasksTuple(
                active_tasks=_tasks(self._processes[each.process_id].active_tasks.get(member_id, ())),
                standby_tasks=_tasks(self._processes[each.process_id].standby_tasks.get(member_id, ())),
            )
            for member_id, each in self._spec.members.items()
        }

    def _assign_active(self, tasks: Iterable[TaskId]) -> None:
        """Source: StickyTaskAssignor#assignActive (4.3.1)."""
        left = self._give_back(sorted(tasks, key=_by_partition), self._previous_active.get)
        left = self._give_back(left, lambda task: self._find_prev_member_with_least_load(task, None))
        queue = self._processes_by_load()
        for task in sorted(left, key=_by_subtopology):
            process = queue.poll()
            self._count_active(process.add_task_to_least_loaded_member(task, is_active=True))
            queue.add(process)

    def _give_back(self, tasks: Iterable[TaskId], owner: Callable[[TaskId], _Member | None]) -> list[TaskId]:
        """Assign tasks to their previous owners that are below the quota. Return the other tasks."""
        left = []
        for task in tasks:
            member = owner(task)
            if member is None or self._count(member) >= self._active_quota.per_member:
                left.append(task)
            else:
                process = self._processes[member.process_id]
                self._count_active(process.add_task(member.member_id, task, is_active=True))
        return left

    def _assign_standby(self, tasks: Iterable[TaskId]) -> None:
        """Source: StickyTaskAssignor#assignStandby (4.3.1)."""
        left: list[tuple[TaskId, int]] = []
        for task in sorted(tasks, key=_by_partition, reverse=True):
            for given in range(self._replicas):
                if not self._give_standby_back(task):
                    left.append((task, self._replicas - given))
                    break
        queue = self._processes_by_load()
        for task, count in sorted(left, key=lambda each: _by_subtopology(each[0]), reverse=True):
            for _ in range(count):
                if not self._assign_standby_to_member_with_least_load(queue, task):
                    break

    def _give_standby_back(self, task: TaskId) -> bool:
        active = self._previous_active.get(task)
        is_free = active is not None and not self._processes[active.process_id].has_task(task)
        if active is not None and is_free and self._has_room(active):
            self._add_standby(active, task)
            return True
        standby = self._find_prev_member_with_least_load(task, task)
        if standby is None or not self._has_room(standby):
            return False
        self._add_standby(standby, task)
        return True

    def _assign_standby_to_member_with_least_load(
        self, queue: JavaPriorityQueue[ProcessState], task: TaskId
    ) -> bool:
        """Source: StickyTaskAssignor#assignStandbyToMemberWithLeastLoad (4.3.1)."""
        process = queue.poll()
        found = False
        if not process.has_task(task):
            count = process.add_task_to_least_loaded_member(task, is_active=False)
            self._total_quota.take_in(count)
            found = True
        elif len(queue):
            found = self._assign_standby_to_member_with_least_load(queue, task)
        queue.add(process)
        return found

    def _find_prev_member_with_least_load(self, task: TaskId, not_running: TaskId | None) -> _Member | None:
        """Return the least loaded of the members that had a standby task.

        Up to 4.3, return None if the process of the first such member already runs the task.

        Source: StickyTaskAssignor#findPrevMemberWithLeastLoad (4.4.0).
        """
        members = self._previous_standby.get(task, [])
        if self._spec.ranks_candidates and not_running is not None:
            members = [each for each in members if not self._processes[each.process_id].has_task(not_running)]
        if not members:
            return None
        candidate, first = members[0], self._processes[members[0].process_id]
        process_load, member_load = first.load, self._count(candidate)
        for member in members[1:]:
            process = self._processes[member.process_id]
            runs = not_running is not None and process.has_task(not_running)
            if process.load < process_load and not runs and self._count(member) < member_load:
                process_load, member_load, candidate = process.load, self._count(member), member
        return candidate if not_running is None or not first.has_task(not_running) else None

    def _add_standby(self, member: _Member, task: TaskId) -> None:
        process = self._processes[member.process_id]
        self._total_quota.take_in(process.add_task(member.member_id, task, is_active=False))

    def _count_active(self, count: int) -> None:
        self._active_quota.take_in(count)
        self._total_quota.take_in(count)

    def _count(self, member: _Member) -> int:
        return self._processes[member.process_id].task_counts[member.member_id]

    def _has_room(self, member: _Member) -> bool:
        return self._count(member) < self._total_quota.per_member

    def _processes_by_load(self) -> JavaPriorityQueue[ProcessState]:
        queue: JavaPriorityQueue[ProcessState] = JavaPriorityQueue(lambda process: process.load)
        for each in self._processes.values():
            queue.add(each)
        return queue


def _collect_standby_candidates(
    candidates: dict[TaskId, list[_Candidate]], state: AssignmentMemberSpec, member: _Member
) -> None:
    """Source: StickyTaskAssignor#collectStandbyCandidates (4.4.0)."""
    offsets = {(key, each): found[each] for key, found in state.task_offsets.items() for each in found}
    standby = dict.fromkeys(_task_ids(state.standby_tasks))
    for task in (*standby, *(each for each in offsets if each not in standby)):
        candidate = _Candidate(member=member, is_standby=task in standby, offset=offsets.get(task, 0))
        candidates.setdefault(task, []).append(candidate)


def _ranked(candidates: list[_Candidate]) -> list[_Member]:
    """Sort members with a standby task first, then those that have restored more.

    Decided in: StickyTaskAssignor#rankStandbyCandidates (4.4.0).
    """
    return [each.member for each in sorted(candidates, key=lambda each: (not each.is_standby, -each.offset))]


def _task_ids(tasks: Tasks) -> list[TaskId]:
    return [(key, partition) for key, partitions in tasks.items() for partition in partitions]


def _tasks(tasks: Iterable[TaskId]) -> Tasks:
    listed: dict[str, set[int]] = {}
    for key, partition in tasks:
        listed.setdefault(key, set()).add(partition)
    return {key: frozenset(partitions) for key, partitions in listed.items()}


def _by_partition(task: TaskId) -> tuple[int, bytes]:
    return task[1], utf16_order(task[0])


def _by_subtopology(task: TaskId) -> tuple[bytes, int]:
    return utf16_order(task[0]), task[1]
