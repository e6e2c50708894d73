"""The registry of groups: which there are, and which of them readers see."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import AppendId, GroupId, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import DeletableGroupResult
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.appends import PendingAppend
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime


@value
class PendingDeletion:
    """What the Scala coordinator holds between the death of groups and their removal."""

    token: ResponseToken | None
    """Of the DeleteGroups that awaits it; None where a group died of something else."""
    groups: tuple[Group, ...]
    results: tuple[DeletableGroupResult, ...]
    """Of the groups that could not be deleted."""


@dataclass(slots=True, kw_only=True)
class GroupMetadataManager(CoordinatorRuntime):
    """The groups of one coordinator, of all types. Source: GroupMetadataManager (4.3.1)."""

    _groups: dict[GroupId, Group] = field(default_factory=dict)
    _uncommitted: dict[GroupId, AppendId] = field(default_factory=dict)
    """Groups whose creation is not written yet, with the newest write when each was made."""
    holds_dead: bool = False
    """Whether groups that are marked Dead are held before they are removed."""
    pending_deletions: list[PendingDeletion] = field(default_factory=list)

    def find_group(self, group_id: GroupId, *, committed: bool = False) -> Group | None:
        """The group as writers see it, or else as readers do; None if there is none.

        A group whose creation is not written yet does not exist for readers.
        """
        return None if committed and group_id in self._uncommitted else self._groups.get(group_id)

    def group(self, group_id: GroupId, *, committed: bool = False) -> Group:
        """The group as writers see it, or else as readers do.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: GroupMetadataManager#group (4.3.1).
        """
        group = self.find_group(group_id, committed=committed)
        if group is None:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def groups(self, *, committed: bool = False) -> Iterator[Group]:
        """Every group, in the order in which they came; the registry may be changed meanwhile."""
        unseen = self._uncommitted if committed else ()
        return (each for each in tuple(self._groups.values()) if each.group_id not in unseen)

    def add_new_group(self, group: Group) -> None:
        """Register a group that a request makes; where that is written, readers see it only then."""
        self.put_group(group)
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            self._uncommitted[group.group_id] = self.last_append_id

    def put_group(self, group: Group) -> None:
        """Register a group in place of any other of its id."""
        self._groups[group.group_id] = group

    def remove_group(self, group_id: GroupId) -> None:
        """Forget a group; its offsets stay. Source: GroupMetadataManager#removeGroup (4.3.1)."""
        self._groups.pop(group_id, None)
        self._uncommitted.pop(group_id, None)

    def groups_of(self, partition: int) -> tuple[Group, ...]:
        """Every group of a partition."""
        return tuple(each for each in self.groups() if self.partition_for(each.group_id) == partition)

    @override
    def forget_partition(self, partition: int) -> None:
        """Forget a partition's groups and deadlines, but not the writes under way."""
        for group in self.groups_of(partition):
            self.remove_group(group.group_id)
        # A class with slots is made twice, and super() means the first.
        CoordinatorRuntime.forget_partition(self, partition)

    def commit_creations(self, append: PendingAppend) -> None:
        """Let readers see the groups that were made before a write, now that it is through."""
        for group_id in self._created_before(append):
            del self._uncommitted[group_id]

    def roll_back_creations(self, append: PendingAppend) -> None:
        """Undo the groups that could not be written.

        Decided in: SnapshotRegistry#revertToSnapshot (4.3.1).
        """
        for group_id in self._created_before(append):
            self.remove_group(group_id)

    def _created_before(self, append: PendingAppend) -> tuple[GroupId, ...]:
        return tuple(
            group_id
            for group_id, newest in self._uncommitted.items()
            if newest < append.append_id and self.partition_for(group_id) == append.partition
        )
