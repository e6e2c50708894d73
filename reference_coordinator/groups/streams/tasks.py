"""Tasks: one for each subtopology and partition, run as active, standby or warm-up task."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Final

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.streams_records import TaskIds, TaskIdsWithEpochs
from reference_coordinator.core.values import value

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology."""
TasksWithEpochs = Mapping[str, Mapping[int, int]]
"""Partitions by subtopology, each with the epoch in which it was assigned to the member."""


@value
class TasksTuple:
    """Tasks of the three kinds. Source: TasksTuple (4.3.1)."""

    active_tasks: Tasks = field(default_factory=dict)
    standby_tasks: Tasks = field(default_factory=dict)
    warmup_tasks: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no task. Source: TasksTuple#isEmpty (4.3.1)."""
        return not (self.active_tasks or self.standby_tasks or self.warmup_tasks)

    def contains_any(self, other: "TasksTupleWithEpochs") -> bool:
        """Return whether any task is in both, in the same kind. Source: TasksTuple#containsAny (4.3.1)."""
        return (
            _overlap(self.active_tasks, other.active_tasks)
            or _overlap(self.standby_tasks, other.standby_tasks)
            or _overlap(self.warmup_tasks, other.warmup_tasks)
        )


@value
class TasksTupleWithEpochs:
    """Tasks of the three kinds, the active ones with epochs. Source: TasksTupleWithEpochs (4.3.1)."""

    active_tasks: TasksWithEpochs = field(default_factory=dict)
    standby_tasks: Tasks = field(default_factory=dict)
    warmup_tasks: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no task. Source: TasksTupleWithEpochs#isEmpty (4.3.1)."""
        return not (self.active_tasks or self.standby_tasks or self.warmup_tasks)

    def merge(self, other: "TasksTupleWithEpochs") -> "TasksTupleWithEpochs":
        """Return the union of both tuples. Source: TasksTupleWithEpochs#merge (4.3.1)."""
        active = {key: dict(epochs) for key, epochs in self.active_tasks.items()}
        for key, epochs in other.active_tasks.items():
            active.setdefault(key, {}).update(epochs)
        return TasksTupleWithEpochs(
            active_tasks=active,
            standby_tasks=_merged(self.standby_tasks, other.standby_tasks),
            warmup_tasks=_merged(self.warmup_tasks, other.warmup_tasks),
        )

    def without_epochs(self) -> TasksTuple:
        """Return the tasks without their epochs."""
        return TasksTuple(
            active_tasks={key: frozenset(each) for key, each in self.active_tasks.items()},
            standby_tasks=self.standby_tasks,
            warmup_tasks=self.warmup_tasks,
        )


@value
class RefinedAssignment:
    """The members' assignment in an epoch. Source: StreamsGroup.RefinedAssignment (4.4.0)."""

    assignment_epoch: int
    assignment: Mapping[MemberId, TasksTuple]


EMPTY: Final = TasksTuple()
"""Source: TasksTuple.EMPTY (4.3.1)."""
EMPTY_WITH_EPOCHS: Final = TasksTupleWithEpochs()
"""Source: TasksTupleWithEpochs.EMPTY (4.3.1)."""


def tasks_of(listed: Iterable[TaskIds | TaskIdsWithEpochs]) -> Tasks:
    """Convert tasks from the form of a request or record."""
    return {each.subtopology_id: frozenset(each.partitions) for each in listed}


def tasks_with_epochs_of(listed: Iterable[TaskIdsWithEpochs], default_epoch: int) -> TasksWithEpochs:
    """Convert a record's tasks. Those without epochs, from older releases, get the default.

    Decided in: TasksTupleWithEpochs#fromCurrentAssignmentRecord (4.3.1).
    """
    return {
        each.subtopology_id: dict(zip(each.partitions, each.assignment_epochs, strict=True))
        if each.assignment_epochs is not None and len(each.assignment_epochs) == len(each.partitions)
        else dict.fromkeys(each.partitions, default_epoch)
        for each in listed
    }


def task_ids(tasks: Mapping[str, Collection[int]]) -> tuple[TaskIds, ...]:
    """Return tasks as a sorted list."""
    return tuple(TaskIds(subtopology_id=key, partitions=tuple(sorted(tasks[key]))) for key in sorted(tasks))


def _overlap(left: Mapping[str, Collection[int]], right: Mapping[str, Collection[int]]) -> bool:
    return any(
        partition in right.get(key, ()) for key, partitions in left.items() for partition in partitions
    )


def _merged(left: Tasks, right: Tasks) -> Tasks:
    nothing: frozenset[int] = frozenset()
    return {key: left.get(key, nothing) | right.get(key, nothing) for key in (*left, *right)}
