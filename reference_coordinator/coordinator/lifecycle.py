"""Becoming and ceasing to be the coordinator of partitions, one by one.

Both coordinators read one log after the other. The Java one marks each partition as loading at once. The
Scala one queues loads and unloads, and processes each of them only when its turn comes.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from reference_coordinator.coordinator.loader import Loader
from reference_coordinator.coordinator.service import fetch_written
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups import dispatch
from reference_coordinator.offsets.expiration import (
    cancel_group_metadata_expiration,
    schedule_group_metadata_expiration,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.open_batch import fail_current_batch
from reference_coordinator.runtime.partitions import Ownership


@value
class _Load:
    partition: int
    epoch: int


@value
class _Unload:
    partition: int
    epoch: int | None


@dataclass(slots=True, kw_only=True)
class Lifecycle:
    """The loads and unloads of one broker."""

    shard: CoordinatorShard
    _tasks: deque[_Load | _Unload] = field(default_factory=deque)
    """The queued tasks of the Scala coordinator's single thread for loads and unloads."""
    _loaders: dict[int, Loader] = field(default_factory=dict)
    """The loaders of the loading partitions, in the order in which they are read."""

    @property
    def partition_to_load(self) -> int | None:
        """The partition whose log is read now, if any."""
        return next(iter(self._loaders), None)

    def on_election(self, partition: int, epoch: int) -> None:
        """Become the coordinator of a partition, unless the epoch is stale.

        Source: GroupCoordinatorService#onElection (4.3.1), GroupCoordinator#onElection (3.9.2).
        """
        match self.shard.profile.coordinator:
            case CoordinatorFamily.SCALA:
                self._schedule_load_group_and_offsets(partition, epoch)
            case CoordinatorFamily.JAVA:
                self._schedule_load_operation(partition, epoch)

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        """Cease to be the coordinator of a partition, unless the epoch is stale.

        Source: GroupCoordinatorService#onResignation (4.3.1), GroupCoordinator#onResignation (3.9.2).
        """
        match self.shard.profile.coordinator:
            case CoordinatorFamily.SCALA:
                self._tasks.append(_Unload(partition=partition, epoch=epoch))
                self._work_off_tasks()
            case CoordinatorFamily.JAVA:
                self._schedule_unload_operation(partition, epoch)

    def read(self, partition: int, records: Iterable[CoordinatorRecord]) -> None:
        """Replay further records of a partition's log, in their order.

        Raises:
            IllegalStateError: a record contradicts those before it, so the log must not be read further.
        """
        self._loaders[partition].replay(records)

    def finish(self, partition: int) -> None:
        """Complete the loading of a partition, and coordinate the groups in its log.

        Decided in: CoordinatorRuntime.CoordinatorContext#load (4.3.1),
        GroupMetadataManager#loadGroupsAndOffsets (3.9.2).
        """
        loader = self._loaders.pop(partition)
        known = self.shard.partitions.of(partition)
        known.ownership, known.last_committed_offset = Ownership.OWNED, known.last_written_offset
        loader.finish()
        schedule_group_metadata_expiration(self.shard, partition)
        self._work_off_tasks()

    def fail(self, partition: int) -> None:
        """Abandon the loading of a log that cannot be read.

        The Scala coordinator builds groups only after it has read the whole log, and so coordinates the
        partition without groups. The Java one does not coordinate it any more.

        Decided in: CoordinatorRuntime.CoordinatorContext#load (4.3.1),
        GroupMetadataManager#loadGroupsAndOffsets (3.9.2).
        """
        del self._loaders[partition]
        self.shard.forget_partition(partition)
        match self.shard.profile.coordinator:
            case CoordinatorFamily.SCALA:
                self.shard.partitions.of(partition).ownership = Ownership.OWNED
                schedule_group_metadata_expiration(self.shard, partition)
            case CoordinatorFamily.JAVA:
                self.shard.partitions.of(partition).ownership = Ownership.FAILED
        self._work_off_tasks()

    def on_out_of_sync(self, partition: int) -> None:
        """Reload a partition, once, after another writer's records were found in its log.

        Decided in: CoordinatorRuntime.CoordinatorContext#flushCurrentBatch (3.9.2).
        """
        known = self.shard.partitions.of(partition)
        if known.ownership is Ownership.OWNED:
            known.ownership = Ownership.FAILED
            unload_partition(self.shard, partition)
            self._begin(partition)

    def _schedule_load_group_and_offsets(self, partition: int, epoch: int) -> None:
        """Source: GroupMetadataManager#scheduleLoadGroupAndOffsets (3.9.2, 2.8.0)."""
        if not self.shard.profile.has(Behaviour.PARTITION_EPOCHS_TRACKED):
            known = self.shard.partitions.of(partition)
            if known.ownership is not Ownership.NOT_OWNED:
                return
            known.ownership = Ownership.QUEUED
        self._tasks.append(_Load(partition=partition, epoch=epoch))
        self._work_off_tasks()

    def _work_off_tasks(self) -> None:
        while self._tasks and not self._loaders:
            match self._tasks.popleft():
                case _Load() as load:
                    self._load_groups_and_offsets(load)
                case _Unload() as unload:
                    self._remove_groups_and_offsets(unload)
                case never:
                    assert_never(never)

    def _load_groups_and_offsets(self, load: _Load) -> None:
        """Source: GroupMetadataManager#loadGroupsAndOffsets (3.9.2)."""
        is_owned = self.shard.partitions.of(load.partition).ownership is Ownership.OWNED
        if self._maybe_update_coordinator_epoch(load.partition, load.epoch) and not is_owned:
            self._begin(load.partition)

    def _remove_groups_and_offsets(self, unload: _Unload) -> None:
        """Source: GroupMetadataManager#removeGroupsAndOffsets (3.9.2)."""
        if self._maybe_update_coordinator_epoch(unload.partition, unload.epoch):
            self.shard.partitions.of(unload.partition).ownership = Ownership.NOT_OWNED
            unload_partition(self.shard, unload.partition)

    def _maybe_update_coordinator_epoch(self, partition: int, epoch: int | None) -> bool:
        """Return whether an epoch is not stale; None is never stale.

        Source: GroupMetadataManager#maybeUpdateCoordinatorEpoch (3.9.2).
        """
        if epoch is None or not self.shard.profile.has(Behaviour.PARTITION_EPOCHS_TRACKED):
            return True
        known = self.shard.partitions.of(partition)
        known.epoch = max(known.epoch, epoch)
        return epoch == known.epoch

    def _schedule_load_operation(self, partition: int, epoch: int) -> None:
        """Source: CoordinatorRuntime#scheduleLoadOperation (4.3.1)."""
        known = self.shard.partitions.of(partition)
        if known.epoch >= epoch:
            return
        known.epoch = epoch
        if known.ownership in {Ownership.NOT_OWNED, Ownership.FAILED}:
            self._begin(partition)

    def _schedule_unload_operation(self, partition: int, epoch: int | None) -> None:
        """Source: CoordinatorRuntime#scheduleUnloadOperation (4.3.1)."""
        if epoch is None or self.shard.partitions.of(partition).epoch < epoch:
            self._loaders.pop(partition, None)
            self.shard.partitions.forget(partition)
            unload_partition(self.shard, partition)

    def _begin(self, partition: int) -> None:
        known = self.shard.partitions.of(partition)
        known.ownership = Ownership.LOADING
        known.last_written_offset = known.last_committed_offset = 0
        self._loaders[partition] = Loader(shard=self.shard, partition=partition)


def unload_partition(shard: CoordinatorShard, partition: int) -> None:
    """Drop the state of a partition that is no longer owned; parked requests are answered NOT_COORDINATOR.

    The Java coordinator refuses writes in progress. The Scala one completes them, and finds a Dead group.

    Decided in: CoordinatorRuntime.CoordinatorContext#unload (4.3.1),
    GroupMetadataManager#removeGroupsAndOffsets (3.9.2).
    """
    dispatch.on_unloaded(shard, partition)
    if shard.profile.coordinator is CoordinatorFamily.JAVA:
        for append in shard.take_appends(partition):
            shard.complete_append(append, Errors.NOT_COORDINATOR)
        fail_current_batch(shard, partition, Errors.NOT_COORDINATOR)
        fetch_written(shard)
    shard.forget_partition(partition)
    cancel_group_metadata_expiration(shard, partition)
