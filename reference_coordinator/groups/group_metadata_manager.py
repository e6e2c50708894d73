"""The registry of groups: their written state for writes, and their committed state for reads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import CoordinatorFamily, GroupId, ResponseToken
from reference_coordinator.core.map_order import (
    in_java_hash_map_order,
    partitions_in_java_hash_map_order,
    string_hash_code,
)
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.timeline_hash_map import TimelineHashMap
from reference_coordinator.core.values import value
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.share_persister import NoShareCoordinator, SharePersister
from reference_coordinator.messages import DeletableGroupResult, RequestContext
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.group_configs import NO_GROUP_CONFIG, GroupConfig
from reference_coordinator.runtime.appends import PendingAppend
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from reference_coordinator.runtime.partitions import CoordinatorPartition

_NO_IMAGE: Final = -1
T = TypeVar("T")
TopicAuthorizer = Callable[[RequestContext, str], bool]
"""Returns whether the client of a request may describe a topic."""


def _may_describe_all(_context: RequestContext, _topic: str) -> bool:
    return True


@value
class PendingDeletion:
    """A removal of groups that the Scala coordinator has marked Dead but not removed yet."""

    token: ResponseToken | None
    """The token of the DeleteGroups request, or None if the groups are Dead for another reason."""
    groups: tuple[Group, ...]
    results: tuple[DeletableGroupResult, ...]
    """The results for the groups that could not be deleted."""


@value
class _Registered:
    """A version of a group, or of its absence, and the offset in its partition's log that it follows."""

    group: Group | None
    partition: CoordinatorPartition | None = None
    """None if nothing has to be written for this version."""
    offset: int = 0
    is_written: bool = False
    """Whether the records at the offset created this version. Then it depends on that write alone."""

    @property
    def is_committed(self) -> bool:
        return self.partition is None or self.offset < self.partition.last_committed_offset

    @property
    def is_unwritten(self) -> bool:
        """Whether no record follows yet; the next one of any group in the partition commits it."""
        return self.partition is not None and self.offset >= self.partition.last_written_offset


_Versions = tuple[_Registered, ...]
"""A group's last committed version, if any, and the versions written since, oldest first."""


@dataclass(slots=True, kw_only=True)
class GroupMetadataManager(CoordinatorRuntime):
    """The groups of one coordinator, of all types. Source: GroupMetadataManager (4.3.1)."""

    _groups: dict[GroupId, _Versions] = field(default_factory=dict)
    _order: dict[int, TimelineHashMap[GroupId, None]] = field(default_factory=dict)
    """The groups of each partition in the map that the Java coordinator keeps them in."""
    pauses_at_dead: bool = False
    """Whether to pause between marking groups Dead and removing them."""
    pending_deletions: list[PendingDeletion] = field(default_factory=list)
    metadata_image: MetadataImage = field(default_factory=MetadataImage)
    last_image_with_new_topics: int = _NO_IMAGE
    """The version of the last metadata image that contained new topics.

    Source: GroupMetadataManager.lastMetadataImageWithNewTopics (4.3.1).
    """
    group_configs: dict[GroupId, GroupConfig] = field(default_factory=dict)
    share_persister: SharePersister = field(default_factory=NoShareCoordinator)
    """The share coordinator, which stores the partition state of share groups."""
    awaits_share_state: bool = False
    """Whether the share coordinator's reply that partitions are initialized is a deadline, not immediate."""
    may_describe_topic: TopicAuthorizer = _may_describe_all
    """Decides which topics a client may describe."""
    _has_read_unwritten: bool = False
    _sees_unwritten: bool = False

    def group_config(self, group_id: GroupId) -> GroupConfig:
        """Return the configuration of a group. Source: GroupConfigManager#groupConfig (4.3.1)."""
        return self.group_configs.get(group_id, NO_GROUP_CONFIG)

    def find_group(self, group_id: GroupId, *, committed: bool = False) -> Group | None:
        """Return the written or the committed version of a group, or None if there is none."""
        versions = self._groups.get(group_id, ())
        if not committed:
            return versions[-1].group if versions else None
        if versions and versions[-1].is_unwritten:
            self._has_read_unwritten = True
            if self._sees_unwritten:
                return versions[-1].group
        return next((each.group for each in reversed(versions) if each.is_committed), None)

    def answers_of(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Return what a read of committed groups may answer, the usual answer first.

        A refused request may change a group and write nothing. Reads see this as soon as any other group of
        the partition has written something, which may be at any time.

        Decided in: CoordinatorRuntime#scheduleReadOperation,
        SnapshottableCoordinator#updateLastCommittedOffset (4.3.1).
        """
        self._has_read_unwritten = False
        usual = read()
        if not self._has_read_unwritten:
            return (usual,)
        self._sees_unwritten = True
        try:
            return usual, read()
        finally:
            self._sees_unwritten = False

    def group(self, group_id: GroupId, *, committed: bool = False) -> Group:
        """Return the written or the committed version of a group.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: GroupMetadataManager#group (4.3.1).
        """
        group = self.find_group(group_id, committed=committed)
        if group is None:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def groups(self, *, committed: bool = False) -> Iterator[Group]:
        """Iterate over all groups, in Kafka's order. The registry may be changed meanwhile."""
        found = (self.find_group(each, committed=committed) for each in self._in_order())
        return (each for each in found if each is not None)

    def _in_order(self) -> list[GroupId]:
        """Decided in: GroupMetadataManager#listGroups (4.3.1), GroupMetadataManager#currentGroups (3.9.2)."""
        if self.profile.coordinator is CoordinatorFamily.SCALA:
            return list(map(GroupId, in_java_hash_map_order(tuple(self._groups))))
        partitions = partitions_in_java_hash_map_order(range(self.config.offsets_topic_num_partitions))
        known = dict.fromkeys(each for partition in partitions for each in self._order.get(partition, ()))
        # A group whose removal is written, but not committed, is in Kafka's snapshots alone.
        return list(known | dict.fromkeys(self._groups))

    def add_new_group(self, group: Group) -> None:
        """Register a group that a request creates. If it must be written, it is not committed yet."""
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            known = self.partition_of(group.group_id)
            made = _Registered(group=group, partition=known, offset=known.last_written_offset)
            self._add_version(group.group_id, made)
        else:
            self.put_group(group)

    def put_group(self, group: Group) -> None:
        """Register a group as written and committed, in place of all versions with its id."""
        self._groups[group.group_id] = (_Registered(group=group),)
        self._put_in_order(group.group_id)

    def put_written(self, group_id: GroupId, group: Group | None, *, record_offset: int) -> None:
        """Register a group, or its removal, as the version that the records at an offset created."""
        known = self.partition_of(group_id)
        written = _Registered(group=group, partition=known, offset=record_offset, is_written=True)
        self._add_version(group_id, written)

    def remove_group(self, group_id: GroupId) -> None:
        """Remove a group but not its offsets. Source: GroupMetadataManager#removeGroup (4.3.1)."""
        self._groups.pop(group_id, None)
        self._take_from_order(group_id)

    def groups_of(self, partition: int) -> tuple[Group, ...]:
        """Return all groups of a partition."""
        return tuple(each for each in self.groups() if self.partition_for(each.group_id) == partition)

    @override
    def forget_partition(self, partition: int) -> None:
        """Remove a partition's groups and deadlines, but not its writes in progress."""
        for group_id in [each for each in self._groups if self.partition_for(each) == partition]:
            self.remove_group(group_id)
        self._order.pop(partition, None)
        # A dataclass with slots is created twice, and super() refers to the first class.
        CoordinatorRuntime.forget_partition(self, partition)

    @override
    def revert_uncommitted(self, append: PendingAppend) -> None:
        """Undo a failed write, and the groups that were created before it and not written.

        Later writes that are still in progress are replayed on the reverted state.
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
        if version.group is None:
            self._take_from_order(group_id)
        elif not versions or versions[-1].group is None:
            self._put_in_order(group_id)

    def _put_in_order(self, group_id: GroupId) -> None:
        order = self._order.setdefault(self.partition_for(group_id), TimelineHashMap(string_hash_code))
        order[group_id] = None

    def _take_from_order(self, group_id: GroupId) -> None:
        if (order := self._order.get(self.partition_for(group_id))) is not None:
            order.pop(group_id, None)


def _is_of_same_write(version: _Registered, other: _Registered) -> bool:
    return version.is_written and other.is_written and version.offset == other.offset


def _is_undone(version: _Registered, record_offset: int, *, reverts_later: bool) -> bool:
    if version.is_written:
        return version.offset == record_offset or (reverts_later and version.offset > record_offset)
    return version.offset <= record_offset
