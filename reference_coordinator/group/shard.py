"""What all handlers of the coordinator share: the groups, their offsets, the clock and what goes out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from reference_coordinator.classic.deadlines import (
    Deadline,
    HeartbeatKey,
    JoinKey,
    OffsetExpirationKey,
    OperationKey,
    SyncKey,
    TimerKey,
    WriteTakesTooLong,
)
from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import AppendRecords, Effect, Permitted, Producer, Respond
from reference_coordinator.core.ids import AppendId, GroupId, Millis, ResponseToken
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.timers import Timers
from reference_coordinator.core.values import value
from reference_coordinator.group.appends import Continuation, HeldDeletion, HeldFetch
from reference_coordinator.group.partitions import Partitions
from reference_coordinator.log.limits import is_too_large
from reference_coordinator.messages import GroupResponse, OffsetFetchRequest
from reference_coordinator.offsets.store import OffsetStore
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

_START_OF_TIME_MS = Millis(0)


@value
class PendingAppend:
    """A write that is under way."""

    partition: int
    records: tuple[CoordinatorRecord, ...]
    record_offset: int
    """Where in the partition's log the first of them will stand."""
    replays: bool
    """Whether the records change the coordinator's state when they are written, or did so before."""
    creations: tuple[ClassicGroup, ...]
    """Groups that stand or fall with the write."""
    then: Continuation


@value
class OpenBatch:
    """What waits for a partition's batch to be full, in the order in which it came.

    Source: CoordinatorRuntime.CoordinatorBatch (3.9.2).
    """

    writes: list[AppendRecords] = field(default_factory=list)
    answers: list[Respond[object]] = field(default_factory=list)
    """To requests that wrote nothing."""

    def with_more(self, records: tuple[CoordinatorRecord, ...]) -> tuple[CoordinatorRecord, ...]:
        """All that would be written if these came on top."""
        return (*(each for write in self.writes for each in write.records), *records)


@dataclass(slots=True, kw_only=True)
class Shard:
    """The state of one coordinator. Source: GroupCoordinatorShard (4.3.1)."""

    config: GroupCoordinatorConfig
    profile: Profile
    choices: Choices
    now_ms: Millis = _START_OF_TIME_MS
    partitions: Partitions = field(default_factory=Partitions)
    timers: Timers[TimerKey, Deadline] = field(default_factory=Timers)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    _groups: dict[GroupId, ClassicGroup] = field(default_factory=dict)
    _uncommitted: dict[GroupId, ClassicGroup] = field(default_factory=dict)
    _appends: dict[AppendId, PendingAppend] = field(default_factory=dict)
    _held_fetches: list[HeldFetch] = field(default_factory=list)
    open_batches: dict[int, OpenBatch] = field(default_factory=dict)
    """By partition of `__consumer_offsets`; there are some only where a write was too large."""
    _last_append_id: int = 0
    holds_dead: bool = False
    """Whether groups that are marked Dead are held before they are removed."""
    held_deletions: list[HeldDeletion] = field(default_factory=list)
    _open: set[ResponseToken] = field(default_factory=set)
    _failed: set[ResponseToken] = field(default_factory=set)
    _effects: list[Effect] = field(default_factory=list)

    def group(self, group_id: GroupId) -> ClassicGroup | None:
        """The group as writers see it. Source: GroupMetadataManager#group (4.3.1)."""
        return self._groups.get(group_id)

    def committed_group(self, group_id: GroupId) -> ClassicGroup | None:
        """The group as readers see it: one whose creation is not written yet does not exist for them.

        Source: GroupMetadataManager#classicGroup (4.3.1).
        """
        return None if group_id in self._uncommitted else self._groups.get(group_id)

    def groups(self) -> Iterator[ClassicGroup]:
        """Every group, in the order in which they came; the registry may be changed meanwhile."""
        return iter(tuple(self._groups.values()))

    def committed_groups(self) -> Iterator[ClassicGroup]:
        """Every group that readers see."""
        return (each for each in self.groups() if each.group_id not in self._uncommitted)

    def create_classic_group(self, group_id: GroupId) -> ClassicGroup:
        """Make an empty group. Source: GroupMetadataManager#getOrMaybeCreateClassicGroup (4.3.1)."""
        group = ClassicGroup(
            group_id=group_id,
            profile=self.profile,
            choices=self.choices,
            current_state_timestamp_ms=self.now_ms,
        )
        self.put_group(group)
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            self._uncommitted[group_id] = group
        return group

    def put_group(self, group: ClassicGroup) -> None:
        """Register a group in place of any other of its id."""
        self._groups[group.group_id] = group

    def remove_group(self, group_id: GroupId) -> None:
        """Forget a group; its committed offsets stay.

        Open transactions are on the Scala coordinator's group, but beside the Java one's.
        """
        self._groups.pop(group_id, None)
        if self.profile.coordinator is CoordinatorFamily.SCALA:
            self.offsets.transactions.forget_group(group_id)
        self._uncommitted.pop(group_id, None)

    def groups_of(self, partition: int) -> tuple[ClassicGroup, ...]:
        """Every group of a partition."""
        return tuple(each for each in self.groups() if self.partition_for(each.group_id) == partition)

    def forget_partition(self, partition: int) -> None:
        """Forget a partition's groups, offsets and deadlines, but not the writes under way."""
        for group_id in (*self._groups, *self.offsets.group_ids()):
            if self.partition_for(group_id) == partition:
                self._groups.pop(group_id, None)
                self._uncommitted.pop(group_id, None)
                self.offsets.forget_group(group_id)
        self.open_batches.pop(partition, None)
        self.timers.cancel_if(lambda key: self._is_over(key, partition))

    def _is_over(self, key: TimerKey, partition: int) -> bool:
        match key:
            case HeartbeatKey() | JoinKey() | SyncKey():
                return self.partition_for(key.group_id) == partition
            case OffsetExpirationKey():
                return key.partition == partition
            case OperationKey():
                return key.awaited not in (self._appends if key.is_write else self._open)
            case _:
                assert_never(key)

    def partition_for(self, group_id: GroupId) -> int:
        """The group's partition of `__consumer_offsets`."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def accept(self, token: ResponseToken) -> None:
        """Take note that a request awaits its answer."""
        assert token not in self._open, f"{token} is in use"
        self._open.add(token)

    def is_open(self, token: ResponseToken) -> bool:
        """Whether a request still awaits its answer."""
        return token in self._open

    def respond(
        self, token: ResponseToken, response: GroupResponse, permitted: tuple[Permitted, ...] = ()
    ) -> None:
        """Answer a request."""
        if token in self._failed:
            # Kafka completes the same future a second time here, which has no effect.
            self._failed.discard(token)
            return
        self._open.remove(token)
        self._effects.append(Respond(token=token, response=response, permitted=permitted))

    def take_back(self, token: ResponseToken, is_wanted: Callable[[object], bool]) -> Respond[object] | None:
        """Leave a request open that was just answered so, and return the answer; None if it was not."""
        for effect in self._effects:
            if isinstance(effect, Respond) and effect.token == token and is_wanted(effect.response):
                self._effects.remove(effect)
                self._open.add(token)
                return effect
        return None

    def fail(self, token: ResponseToken, response: GroupResponse | None) -> None:
        """End a request that ran into an exception of Kafka's, with an answer or with silence.

        Part of the coordinator may still hold on to it, so that it will be answered once more.
        """
        if token not in self._open:
            return
        if response is not None:
            self.respond(token, response)
        self._open.discard(token)
        self._failed.add(token)

    def append(
        self,
        group_id: GroupId,
        records: tuple[CoordinatorRecord, ...],
        then: Continuation,
        *,
        replays: bool = False,
        producer: Producer | None = None,
    ) -> None:
        """Write records to the group's partition.

        Source: CoordinatorRuntime#scheduleWriteOperation (4.3.1).
        """
        self._last_append_id += 1
        append_id = AppendId(self._last_append_id)
        partition = self.partition_for(group_id)
        known = self.partitions.of(partition)
        creations = tuple(
            group
            for created_id, group in self._uncommitted.items()
            if self.partition_for(created_id) == partition
        )
        self._appends[append_id] = PendingAppend(
            partition=partition,
            records=records,
            record_offset=known.log_end_offset,
            replays=replays,
            creations=creations,
            then=then,
        )
        known.log_end_offset += len(records)
        write = AppendRecords(append_id=append_id, partition=partition, records=records, producer=producer)
        self._effects.extend(self._written_now(write))

    def _written_now(self, write: AppendRecords) -> tuple[Effect, ...]:
        """What goes out now that something is to be written: the write, nothing, or what waited before it.

        Source: CoordinatorRuntime#append (3.9.2).
        """
        if not self.profile.has(Behaviour.TOO_LARGE_WRITE_LEAVES_BATCH_OPEN):
            return (write,)
        if self._is_too_large(write.records):
            self.open_batches.setdefault(write.partition, OpenBatch())
            return (write,)
        batch = self.open_batches.get(write.partition)
        if batch is None:
            return (write,)
        if write.producer is None and not self._is_too_large(batch.with_more(write.records)):
            batch.writes.append(write)
            self.timers.schedule(
                OperationKey(awaited=write.append_id, is_write=True),
                self.now_ms + self.config.offsets_commit_timeout_ms,
                WriteTakesTooLong(append_id=write.append_id),
            )
            return ()
        del self.open_batches[write.partition]
        return (*batch.writes, *batch.answers, write)

    def _is_too_large(self, records: tuple[CoordinatorRecord, ...]) -> bool:
        return is_too_large(records, self.config, self.profile)

    @property
    def last_append_id(self) -> AppendId:
        """The newest write."""
        return AppendId(self._last_append_id)

    def continue_with(self, append_id: AppendId, then: Continuation) -> None:
        """Go on otherwise when a write is through than its writer meant to."""
        self._appends[append_id] = replace(self._appends[append_id], then=then)

    def log_end_offset(self, group_id: GroupId) -> int:
        """Where in the log of the group's partition the next record will stand."""
        return self.partitions.of(self.partition_for(group_id)).log_end_offset

    def throw_if_not_active(self, group_id: GroupId) -> None:
        """Refuse a request for a group that is somebody else's or is being loaded.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.
        """
        self.partitions.of(self.partition_for(group_id)).throw_if_not_active()

    def hold_fetch(self, request: OffsetFetchRequest, token: ResponseToken) -> bool:
        """Let a fetch wait for the writes under way to its groups' partitions; whether there are any.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run (4.3.1), where an operation that writes nothing
        is done when all before it is written.
        """
        partitions = {self.partition_for(each.group_id) for each in request.groups}
        awaited = frozenset(
            append_id for append_id, append in self._appends.items() if append.partition in partitions
        )
        if not awaited:
            return False
        self._held_fetches.append(HeldFetch(awaited=awaited, token=token, request=request))
        return True

    def take_ready_fetches(self) -> list[HeldFetch]:
        """The fetches that have nothing to wait for any more."""
        ready = [each for each in self._held_fetches if each.awaited.isdisjoint(self._appends)]
        self._held_fetches = [each for each in self._held_fetches if each not in ready]
        return ready

    def pending_append(self, append_id: AppendId) -> PendingAppend | None:
        """A write that is still under way."""
        return self._appends.get(append_id)

    def take_append(self, append_id: AppendId) -> PendingAppend | None:
        """The write that is through, or None if nobody cares any more."""
        return self._appends.pop(append_id, None)

    def take_appends(self, partition: int) -> list[PendingAppend]:
        """A partition's writes under way, oldest first; none of them is any more."""
        taken = {key: each for key, each in self._appends.items() if each.partition == partition}
        for append_id in taken:
            del self._appends[append_id]
        return list(taken.values())

    def commit_creations(self, append: PendingAppend) -> None:
        """Let readers see the groups that were written."""
        for group in append.creations:
            if self._uncommitted.get(group.group_id) is group:
                del self._uncommitted[group.group_id]

    def roll_back_creations(self, append: PendingAppend) -> None:
        """Undo the groups that could not be written. Source: SnapshotRegistry#revertToSnapshot (4.3.1)."""
        for group in append.creations:
            if self._uncommitted.get(group.group_id) is group:
                self.remove_group(group.group_id)

    def take_effects(self) -> tuple[Effect, ...]:
        """What went out since the last time."""
        taken = tuple(self._effects)
        self._effects.clear()
        return taken
