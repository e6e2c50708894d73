"""The registry of groups: those written, which handlers see, and those committed, which readers see."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.values import value
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.share_persister import NoShareCoordinator, SharePersister
from reference_coordinator.messages import DeletableGroupResult
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.group_config import NO_GROUP_CONFIG, GroupConfig
from reference_coordinator.runtime.appends import PendingAppend
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.partitions import CoordinatorPartition

_NO_IMAGE: Final = -1


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
    """A group, or that there is none, and after which offset of its partition's log that is so."""

    group: Group | None
    partition: CoordinatorPartition | None = None
    """None where nothing has to be written for it."""
    offset: int = 0
    is_written: bool = False
    """Whether the records at the offset made it so; it stands or falls with that write alone."""

    @property
    def is_committed(self) -> bool:
        return self.partition is None or self.offset < self.partition.last_committed_offset


_Versions = tuple[_Registered, ...]
"""What was last committed of a group, if anything was, and what was written since, oldest first."""


@dataclass(slots=True, kw_only=True)
class GroupMetadataManager(CoordinatorRuntime):
    """The groups of one coordinator, of all types. Source: GroupMetadataManager (4.3.1)."""

    _groups: dict[GroupId, _Versions] = field(default_factory=dict)
    pauses_at_dead: bool = False
    """Whether groups that are marked Dead wait before they are removed."""
    pending_deletions: list[PendingDeletion] = field(default_factory=list)
    metadata_image: MetadataImage = field(default_factory=MetadataImage)
    last_image_with_new_topics: int = _NO_IMAGE
    """The version of the last metadata image that had topics which the one before did not have.

    Source: GroupMetadataManager.lastMetadataImageWithNewTopics (4.3.1).
    """
    group_configs: dict[GroupId, GroupConfig] = field(default_factory=dict)
    share_persister: SharePersister = field(default_factory=NoShareCoordinator)
    """Where share groups have the state of their partitions."""

    def group_config(self, group_id: GroupId) -> GroupConfig:
        """What is configured for a group. Source: GroupConfigManager#groupConfig (4.3.1)."""
        return self.group_configs.get(group_id, NO_GROUP_CONFIG)

    def find_group(self, group_id: GroupId, *, committed: bool = False) -> Group | None:
        """The group as it is written, or as it is committed; None if there is none."""
        versions = self._groups.get(group_id, ())
        if not committed:
            return versions[-1].group if versions else None
        return next((each.group for each in reversed(versions) if each.is_committed), None)

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
        found = (self.find_group(each, committed=committed) for each in tuple(self._groups))
        return (each for each in found if each is not None)

    def add_new_group(self, group: Group) -> None:
        """Register a group that a request makes; one that has to be written is not committed yet."""
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            known = self.partition_of(group.group_id)
            made = _Registered(group=group, partition=known, offset=known.last_written_offset)
            self._add_version(group.group_id, made)
        else:
            self.put_group(group)

    def put_group(self, group: Group) -> None:
        """Register a group in place of any other of its id, written and committed."""
        self._groups[group.group_id] = (_Registered(group=group),)

    def put_written(self, group_id: GroupId, group: Group | None, *, record_offset: int) -> None:
        """Let a group be, or be no more, as the records have it that are written at an offset."""
        known = self.partition_of(group_id)
        written = _Registered(group=group, partition=known, offset=record_offset, is_written=True)
        self._add_version(group_id, written)

    def remove_group(self, group_id: GroupId) -> None:
        """Forget a group; its offsets stay. Source: GroupMetadataManager#removeGroup (4.3.1)."""
        self._groups.pop(group_id, None)

    def groups_of(self, partition: int) -> tuple[Group, ...]:
        """Every group of a partition."""
        return tuple(each for each in self.groups() if self.partition_for(each.group_id) == partition)

    @override
    def forget_partition(self, partition: int) -> None:
        """Forget a partition's groups and deadlines, but not the writes under way."""
        for group_id in [each for each in self._groups if self.partition_for(each) == partition]:
            self.remove_group(group_id)
        # A class with slots is made twice, and super() means the first.
        CoordinatorRuntime.forget_partition(self, partition)

    @override
    def revert_uncommitted(self, append: PendingAppend) -> None:
        """Undo what a write has made that failed, and the groups that were made before it and not written.

        Writes after it that are still under way take effect once more, upon what is there now.
        """
        reverts_later = append.groups_changed
        for group_id, versions in tuple(self._groups.items()):
            if self.partition_for(group_id) != append.partition:
                continue
            kept = tuple(
                each
                for each in versions
                if each.is_committed
                or not _is_undone(each, append.record_offset, reverts_later=reverts_later)
            )
            self._groups[group_id] = kept
            if not kept:
                self.remove_group(group_id)
        if reverts_later:
            for later in self.appends_after(append.partition, append.record_offset):
                if later.groups_changed:
                    self.replay_written(later.result.records, record_offset=later.record_offset)

    def _add_version(self, group_id: GroupId, version: _Registered) -> None:
        versions = self._groups.get(group_id, ())
        last_committed = max((index for index, each in enumerate(versions) if each.is_committed), default=0)
        before = (each for each in versions[last_committed:] if not _is_of_same_write(each, version))
        self._groups[group_id] = (*before, version)


def _is_of_same_write(version: _Registered, other: _Registered) -> bool:
    return version.is_written and other.is_written and version.offset == other.offset


def _is_undone(version: _Registered, record_offset: int, *, reverts_later: bool) -> bool:
    if version.is_written:
        return version.offset == record_offset or (reverts_later and version.offset > record_offset)
    return version.offset <= record_offset
