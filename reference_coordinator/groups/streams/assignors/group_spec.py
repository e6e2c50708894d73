"""The input of an assignor: a streams group and its tasks."""

from collections.abc import Mapping
from dataclasses import field

from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.configured_topology import ConfiguredSubtopology
from reference_coordinator.groups.streams.task_offsets import Offsets
from reference_coordinator.groups.streams.tasks import Tasks

TaskId = tuple[str, int]
"""The id of a subtopology and a partition. Source: TaskId (4.3.1)."""


@value
class AssignmentMemberSpec:
    """A member as input of the assignor. Source: AssignmentMemberSpec (4.3.1)."""

    process_id: str
    active_tasks: Tasks
    """The member's current tasks, or its previous target assignment, depending on the release."""
    standby_tasks: Tasks
    task_offsets: Offsets = field(default_factory=dict)
    """The offsets up to which the member has restored tasks, from 4.4 on."""


@value
class GroupSpec:
    """The members and tasks of a group. Source: streams.assignor.GroupSpecImpl (4.3.1)."""

    members: Mapping[MemberId, AssignmentMemberSpec]
    """In the order of Kafka's map."""
    subtopologies: Mapping[str, ConfiguredSubtopology]
    """In the order of their ids."""
    num_standby_replicas: int
    ranks_candidates: bool = False
    """Whether to rank by offsets and to skip processes that already run a task, as from 4.4 on."""

    def tasks(self, *, stateful_only: bool = False) -> list[TaskId]:
        """Return the tasks of all subtopologies. Decided in: StickyTaskAssignor#taskIds (4.3.1)."""
        return [
            (key, partition)
            for key, each in self.subtopologies.items()
            if each.is_stateful or not stateful_only
            for partition in range(each.number_of_tasks)
        ]
