"""The state of one process during an assignment: its members and their loads."""

import sys

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.groups.streams.assignors.group_spec import TaskId
from reference_coordinator.groups.streams.assignors.priority_queue import JavaPriorityQueue


class ProcessState:
    """The members of one process and their tasks. Source: ProcessState (4.3.1)."""

    __slots__ = ("_members_by_load", "active_tasks", "load", "standby_tasks", "task_counts", "tasks")

    def __init__(self) -> None:
        self.load = sys.float_info.max
        self.task_counts: JavaHashMap[MemberId, int] = JavaHashMap(string_hash_code)
        self.active_tasks: dict[MemberId, set[TaskId]] = {}
        self.standby_tasks: dict[MemberId, set[TaskId]] = {}
        self.tasks: set[TaskId] = set()
        self._members_by_load: JavaPriorityQueue[MemberId] | None = None

    def add_member(self, member_id: MemberId) -> None:
        """Add a member to the process. Source: ProcessState#addMember (4.3.1)."""
        self.task_counts[member_id] = 0
        self._compute_load()

    def has_task(self, task: TaskId) -> bool:
        """Return whether a member of the process has a task. Source: ProcessState#hasTask (4.3.1)."""
        return task in self.tasks

    def add_task(self, member_id: MemberId, task: TaskId, *, is_active: bool) -> int:
        """Assign a task to a member. Return its number of tasks. Source: ProcessState#addTask (4.3.1)."""
        self._members_by_load = None
        return self._add_task_internal(member_id, task, is_active=is_active)

    def add_task_to_least_loaded_member(self, task: TaskId, *, is_active: bool) -> int:
        """Assign a task to the member with the fewest tasks. Return its number of tasks.

        Source: ProcessState#addTaskToLeastLoadedMember (4.3.1).
        """
        if self._members_by_load is None:
            self._members_by_load = JavaPriorityQueue(self.task_counts.__getitem__)
            for each in self.task_counts:
                self._members_by_load.add(each)
        member_id = self._members_by_load.poll()
        count = self._add_task_internal(member_id, task, is_active=is_active)
        self._members_by_load.add(member_id)
        return count

    def _add_task_internal(self, member_id: MemberId, task: TaskId, *, is_active: bool) -> int:
        self.tasks.add(task)
        given = self.active_tasks if is_active else self.standby_tasks
        given.setdefault(member_id, set()).add(task)
        self.task_counts[member_id] += 1
        self._compute_load()
        return self.task_counts[member_id]

    def _compute_load(self) -> None:
        """Source: ProcessState#computeLoad (4.3.1)."""
        self.load = sum(self.task_counts.values()) / len(self.task_counts)
