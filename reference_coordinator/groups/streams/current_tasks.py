"""The processes that currently run the tasks of a streams group."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import Tasks

_Task = tuple[str, int]


@value
class CurrentTasks:
    """The processes of all tasks that members have or must revoke.

    As in Kafka, a process counts once for all of its members. When one of them revokes a replica, the process
    has none.

    Source: StreamsGroup.currentActiveTaskToProcessId, StreamsGroup.currentStandbyTaskToProcessIds (4.3.1).
    """

    active: Mapping[_Task, str] = field(default_factory=dict)
    standby: Mapping[_Task, frozenset[str]] = field(default_factory=dict)
    warmup: Mapping[_Task, frozenset[str]] = field(default_factory=dict)

    def active_process(self, subtopology_id: str, partition: int) -> str | None:
        """Return the process of an active task, or None if no process runs it.

        Decided in: StreamsGroup#currentActiveTaskProcessId (4.3.1).
        """
        return self.active.get((subtopology_id, partition))

    def is_replica_at(self, process_id: str, subtopology_id: str, partition: int) -> bool:
        """Return whether a process has a task as standby or warm-up task.

        Decided in: StreamsGroup#currentStandbyTaskProcessIds,
        StreamsGroup#currentWarmupTaskProcessIds (4.3.1).
        """
        task = (subtopology_id, partition)
        return process_id in self.standby.get(task, ()) or process_id in self.warmup.get(task, ())

    def changed(self, before: StreamsGroupMember | None, after: StreamsGroupMember | None) -> "CurrentTasks":
        """Return the tasks after a member's tasks have changed.

        Decided in: StreamsGroup#maybeUpdateTaskProcessId (4.3.1).
        """
        active, standby, warmup = dict(self.active), dict(self.standby), dict(self.warmup)
        if before is not None:
            for tasks in (before.assigned_tasks, before.tasks_pending_revocation):
                for task in _tasks(tasks.active_tasks):
                    if active.get(task) == before.process_id:
                        del active[task]
                _remove(standby, tasks.standby_tasks, before.process_id)
                _remove(warmup, tasks.warmup_tasks, before.process_id)
        if after is not None:
            for tasks in (after.assigned_tasks, after.tasks_pending_revocation):
                active.update(dict.fromkeys(_tasks(tasks.active_tasks), after.process_id))
                _add(standby, tasks.standby_tasks, after.process_id)
                _add(warmup, tasks.warmup_tasks, after.process_id)
        return CurrentTasks(active=active, standby=standby, warmup=warmup)


def _tasks(tasks: Mapping[str, Iterable[int]]) -> list[_Task]:
    return [(key, partition) for key, partitions in tasks.items() for partition in partitions]


def _remove(processes: dict[_Task, frozenset[str]], tasks: Tasks, process_id: str) -> None:
    for task in _tasks(tasks):
        processes[task] = processes.get(task, frozenset()) - {process_id}


def _add(processes: dict[_Task, frozenset[str]], tasks: Tasks, process_id: str) -> None:
    for task in _tasks(tasks):
        processes[task] = processes.get(task, frozenset()) | {process_id}
