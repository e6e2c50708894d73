"""The registry of groups: those written, which handlers see, and those committed, which readers see."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import DeletableGroupResult
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.appends import PendingAppend
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.partitions import CoordinatorPartition


@value
class PendingDeletion:
    """What waits in the Scala coordinator between the death of groups and their removal."""

    token: ResponseToken | None
    """Of the DeleteGroups that awaits it; None where a group died of something else."""
    groups: tuple[Group, ...]
    results: tuple[DeletableGroupResult, ...]
    """Of the groups that could not be deleted."""


@value
class _Registered:
    """A group, and after which offset of its partition's log it is there."""

    group: Group
    partition: CoordinatorPartition | None = None
    """None where nothing has to be written for it."""
    offset: int = 0

    @property
    def is_committed(self) -> bool:
        return self.partition is None or self.offset < self.partition.last_committed_offset


@dataclass(slots=True, kw_only=True)
class GroupMetadataManager(CoordinatorRuntime):
    """The groups of one coordinator, of all types. Source: GroupMetadataManager (4.3.1)."""

    _groups: dict[GroupId, _Registered] = field(default_factory=dict)
    pauses_at_dead: bool = False
    """Whether groups that are marked Dead wait before they are removed."""
    pending_deletions: list[PendingDeletion] = field(default_factory=list)

    def find_group(self, group_id: GroupId, *, committed: bool = False) -> Group | None:
        """The group as it is written, or as it is committed; None if there is none."""
        found = self._groups.get(group_id)
        return None if found is None or (committed and not found.is_committed) else found.group

    def group(self, group_id: GroupId, *, committed: bool = False) -> Group:
        """The group as it is written, or as it is committed.

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
        registered = tuple(self._groups.values())
        return (each.group for each in registered if each.is_committed or not committed)

    def add_new_group(self, group: Group) -> None:
        """Register a group that a request makes; one that has to be written is not committed yet."""
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            known = self.partition_of(group.group_id)
            made = _Registered(group=group, partition=known, offset=known.last_written_offset)
            self._groups[group.group_id] = made
        else:
            self.put_group(group)

    def put_group(self, group: Group) -> None:
        """Register a group in place of any other of its id, written and committed."""
        self._groups[group.group_id] = _Registered(group=group)

    def remove_group(self, group_id: GroupId) -> None:
        """Forget a group; its offsets stay. Source: GroupMetadataManager#removeGroup (4.3.1)."""
        self._groups.pop(group_id, None)

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

    @override
    def revert_uncommitted(self, append: PendingAppend) -> None:
        """Undo the groups that were made before a write that failed, and not written before it."""
        undone = [
            group_id
            for group_id, made in self._groups.items()
            if not made.is_committed
            and made.offset <= append.record_offset
            and self.partition_for(group_id) == append.partition
        ]
        for group_id in undone:
            self.remove_group(group_id)
