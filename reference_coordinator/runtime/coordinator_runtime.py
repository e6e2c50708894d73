"""The state that all handlers of the coordinator share: the clock, waiting requests, and effects."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import assert_never

from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import (
    ALL_REPLICAS,
    AppendRecords,
    Effect,
    Permitted,
    Producer,
    Respond,
)
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import NO_PRODUCER_EPOCH, AppendId, GroupId, Millis, ResponseToken
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord, GroupMetadataTombstone
from reference_coordinator.core.timers import Timers
from reference_coordinator.messages import GroupResponse, OffsetFetchRequest
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.runtime.appends import OpenBatch, ParkedFetch, PendingAppend
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, Continuation, CoordinatorResult
from reference_coordinator.runtime.deadlines import (
    BatchKey,
    Deadline,
    FlushBatch,
    GroupTimerKey,
    OffsetExpirationKey,
    OperationKey,
    TimerKey,
    WriteTakesTooLong,
)
from reference_coordinator.runtime.limits import is_too_large
from reference_coordinator.runtime.partitions import CoordinatorPartition, Partitions

_START_OF_TIME_MS = Millis(0)


@dataclass(slots=True, kw_only=True)
class CoordinatorRuntime(ABC):
    """The pending work and the effects of one coordinator. Source: CoordinatorRuntime (4.3.1)."""

    config: GroupCoordinatorConfig
    profile: Profile
    choices: Choices
    now_ms: Millis = _START_OF_TIME_MS
    partitions: Partitions = field(default_factory=Partitions)
    timers: Timers[TimerKey, Deadline] = field(default_factory=Timers)
    _appends: dict[AppendId, PendingAppend] = field(default_factory=dict)
    _parked_fetches: list[ParkedFetch] = field(default_factory=list)
    open_batches: dict[int, OpenBatch] = field(default_factory=dict)
    """By partition of `__consumer_offsets`. They gather writes, or were left open by a too large write."""
    _last_append_id: int = 0
    _open: set[ResponseToken] = field(default_factory=set)
    _failed: set[ResponseToken] = field(default_factory=set)
    _effects: list[Effect] = field(default_factory=list)

    def forget_partition(self, partition: int) -> None:
        """Remove a partition's deadlines and its open batch, but not the writes in progress."""
        self.open_batches.pop(partition, None)
        self.timers.cancel_if(lambda key: self._is_over(key, partition))

    def _is_over(self, key: TimerKey, partition: int) -> bool:
        match key:
            case GroupTimerKey():
                return self.partition_for(key.group_id) == partition
            case OffsetExpirationKey():
                return key.partition == partition
            case OperationKey():
                return key.awaited not in (self._appends if key.is_write else self._open)
            case BatchKey():
                return key.partition == partition
            case _:
                assert_never(key)

    def partition_for(self, group_id: GroupId) -> int:
        """Return the group's partition of `__consumer_offsets`."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def accept(self, token: ResponseToken) -> None:
        """Register a request that awaits its answer."""
        assert token not in self._open, f"{token} is in use"
        self._open.add(token)

    def is_open(self, token: ResponseToken) -> bool:
        """Return whether a request still awaits its answer."""
        return token in self._open

    def respond(
        self, token: ResponseToken, response: GroupResponse, permitted: tuple[Permitted, ...] = ()
    ) -> None:
        """Answer a request."""
        if token in self._failed:
            # Here, Kafka completes the same future a second time, which has no effect.
            self._failed.discard(token)
            return
        self._open.remove(token)
        self._effects.append(Respond(token=token, response=response, permitted=permitted))

    def fail(self, token: ResponseToken, response: GroupResponse | None) -> None:
        """End a request for which Kafka throws an exception, with or without an answer.

        Parts of the coordinator may still refer to the request and answer it a second time.
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
        result: CoordinatorResult[object],
        event: Continuation | None = None,
        *,
        producer: Producer | None = None,
        required_acks: int = ALL_REPLICAS,
    ) -> None:
        """Write an operation's records to the group's partition, for a request's event or without one.

        Raises:
            IllegalStateError: the records contradict the state, and nothing is written.

        Source: CoordinatorRuntime.CoordinatorContext#append (4.1.0), MemoryRecordsBuilder#close (4.1.0).
        """
        if not result.records:
            return
        partition = self.partition_for(group_id)
        known = self.partitions.of(partition)
        # Kafka applies no record of a write that it refuses itself.
        is_refused = self._refuses_too_large_writes and self._is_too_large(result.records)
        groups_changed = (
            result.replay_records
            and not is_refused
            and self.replay_written(result.records, record_offset=known.last_written_offset)
        )
        append_id = self._add_append(
            partition, result, event or result.append_future, groups_changed=groups_changed
        )
        if producer is not None and producer.producer_epoch == NO_PRODUCER_EPOCH:
            # No batch can be built without an epoch, so the log sees nothing.
            self.complete_append(self._appends.pop(append_id), Errors.UNKNOWN_SERVER_ERROR)
            return
        known.last_written_offset += len(result.records)
        write = AppendRecords(
            append_id=append_id,
            partition=partition,
            records=result.records,
            producer=producer,
            required_acks=required_acks,
        )
        self._effects.extend(self._written_now(write))

    def _add_append(
        self,
        partition: int,
        result: CoordinatorResult[object],
        then: Continuation | None,
        *,
        groups_changed: bool = False,
    ) -> AppendId:
        self._last_append_id += 1
        append_id = AppendId(self._last_append_id)
        self._appends[append_id] = PendingAppend(
            append_id=append_id,
            partition=partition,
            result=result,
            record_offset=self.partitions.of(partition).last_written_offset,
            then=then,
            groups_changed=groups_changed,
        )
        return append_id

    def await_open_batch(self, group_id: GroupId, then: Continuation) -> bool:
        """Run a continuation once a group's partition has written its open batch. Return whether it has one.

        Decided in: CoordinatorRuntime.CoordinatorContext#append (4.1.0), for an operation without records.
        """
        partition = self.partition_for(group_id)
        batch = self.open_batches.get(partition)
        if batch is None or not batch.writes:
            return False
        nothing = AppendRecords(
            append_id=self._add_append(partition, EMPTY_RESULT, then), partition=partition, records=()
        )
        self._add_to(batch, nothing)
        return True

    def _add_to(self, batch: OpenBatch, write: AppendRecords) -> None:
        batch.writes.append(write)
        self.timers.schedule(
            OperationKey(awaited=write.append_id, is_write=True),
            self.now_ms + self.config.offsets_commit_timeout_ms,
            WriteTakesTooLong(append_id=write.append_id),
        )

    def _written_now(self, write: AppendRecords) -> tuple[Effect, ...]:
        """Return the effects of a new write: the write itself, earlier waiting ones, both, or none.

        Decided in: CoordinatorRuntime#append and #maybeFlushCurrentBatch (3.9.2, 4.3.1).
        """
        if not (self._refuses_too_large_writes or self._lingers):
            return (write,)
        if self._is_too_large(write.records):
            if not self._refuses_too_large_writes:
                return (*self._flushed(write.partition), write)
            self._maybe_allocate_new_batch(write.partition)
            return (write,)
        batch = self.open_batches.get(write.partition)
        is_apart = write.producer is not None
        before: tuple[Effect, ...] = ()
        if is_apart or (batch and self._is_too_large(batch.with_more(write.records))):
            batch, before = None, self._flushed(write.partition)
        if is_apart or (batch is None and not self._lingers):
            return (*before, write)
        self._add_to(self._maybe_allocate_new_batch(write.partition), write)
        return before

    @property
    def _refuses_too_large_writes(self) -> bool:
        """Whether a write too large for the log fails before the log sees it, and leaves a batch open."""
        return self.profile.has(Behaviour.TOO_LARGE_WRITE_LEAVES_BATCH_OPEN)

    @property
    def _lingers(self) -> bool:
        is_java = self.profile.coordinator is CoordinatorFamily.JAVA
        return is_java and self.config.group_coordinator_append_linger_ms > 0

    def _maybe_allocate_new_batch(self, partition: int) -> OpenBatch:
        """Return an open or new batch. Source: CoordinatorRuntime#maybeAllocateNewBatch (3.9.2, 4.3.1)."""
        batch = self.open_batches.get(partition)
        if batch is None:
            batch = self.open_batches[partition] = OpenBatch()
            if self._lingers:
                at_ms = self.now_ms + self.config.group_coordinator_append_linger_ms
                self.timers.schedule(BatchKey(partition=partition), at_ms, FlushBatch(partition=partition))
        return batch

    def _flushed(self, partition: int) -> tuple[Effect, ...]:
        """Close a batch. Return its writes, and the answers that waited for them."""
        batch = self.open_batches.pop(partition, None)
        if batch is None:
            return ()
        self.timers.cancel(BatchKey(partition=partition))
        for token in batch.waiting:
            self.timers.cancel(OperationKey(awaited=token, is_write=False))
        self._open.difference_update(answer.token for answer in batch.answers)
        return (*batch.writes, *batch.answers)

    def flush_current_batch(self, partition: int) -> None:
        """Write the open batch. Source: CoordinatorRuntime#flushCurrentBatch (4.3.1)."""
        self._effects.extend(self._flushed(partition))

    def _is_too_large(self, records: tuple[CoordinatorRecord, ...]) -> bool:
        return is_too_large(records, self.config, self.profile)

    def partition_of(self, group_id: GroupId) -> CoordinatorPartition:
        """Return the state of the group's partition."""
        return self.partitions.of(self.partition_for(group_id))

    @abstractmethod
    def replay(self, record: CoordinatorRecord, *, record_offset: int) -> None:
        """Apply a record at an offset of the log.

        Source: GroupCoordinatorShard#replay (4.3.1).
        """

    @abstractmethod
    def replay_written(self, records: tuple[CoordinatorRecord, ...], *, record_offset: int) -> bool:
        """Apply records of consumer, share and streams groups at the write. Return whether there are any.

        Tombstones of classic groups in the same write are applied as well. Reads see the changes once the
        records are committed.

        Raises:
            IllegalStateError: the records contradict the state, which does not change.

        Decided in: CoordinatorRuntime.CoordinatorContext#append (4.1.0).
        """

    @abstractmethod
    def revert_uncommitted(self, append: PendingAppend) -> None:
        """Undo the changes that depend on a failed write.

        Decided in: SnapshotRegistry#revertToSnapshot (4.1.0).
        """

    def complete_append(self, append: PendingAppend, error: Errors) -> None:
        """Apply a write, or undo the changes that depend on it, and run its continuation.

        Decided in: CoordinatorRuntime.CoordinatorWriteEvent#complete,
        SnapshottableCoordinator#updateLastCommittedOffset (4.3.1).
        """
        if error is Errors.NONE:
            known, records = self.partitions.of(append.partition), append.result.records
            end_offset = append.record_offset + len(records)
            known.last_committed_offset = max(known.last_committed_offset, end_offset)
            if append.result.replay_records:
                for record_offset, record in enumerate(records, append.record_offset):
                    if not (append.groups_changed and isinstance(record, GroupMetadataTombstone)):
                        self.replay(record, record_offset=record_offset)
        elif error is not Errors.MESSAGE_TOO_LARGE or not self._keeps_new_groups:
            self.revert_uncommitted(append)
        if append.then is not None:
            try:
                append.then.append_completed(error)
            except IllegalStateError:
                # Kafka's callback throws, and the exception is ignored.
                return

    @property
    def _keeps_new_groups(self) -> bool:
        return self.profile.has(Behaviour.TOO_LARGE_WRITE_KEEPS_NEW_GROUP)

    def appends_after(self, partition: int, record_offset: int) -> tuple[PendingAppend, ...]:
        """Return a partition's writes in progress whose records are after an offset, oldest first."""
        return tuple(
            each
            for each in self._appends.values()
            if each.partition == partition and each.record_offset > record_offset
        )

    def write_takes_too_long(self, append_id: AppendId) -> None:
        """Fail the continuation of a write that timed out, although the write may still succeed.

        Decided in: CoordinatorRuntime.OperationTimeout#run (3.9.2).
        """
        append = self._appends.get(append_id)
        if append is not None and append.then is not None:
            self._appends[append_id] = replace(append, then=None)
            append.then.append_completed(Errors.REQUEST_TIMED_OUT)

    def throw_if_not_active(self, group_id: GroupId) -> None:
        """Refuse a request for a group that another broker coordinates or that is loading.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.
        """
        self.partition_of(group_id).throw_if_not_active()

    def park_fetch(self, request: OffsetFetchRequest, token: ResponseToken) -> bool:
        """Park a fetch until the writes in progress to its groups' partitions end. Return whether any exist.

        Decided in: CoordinatorRuntime.CoordinatorWriteEvent#run (4.3.1), where an operation that writes
        nothing completes when everything before it is written.
        """
        partitions = {self.partition_for(each.group_id) for each in request.groups}
        awaited = frozenset(
            append_id for append_id, append in self._appends.items() if append.partition in partitions
        )
        if not awaited:
            return False
        self._parked_fetches.append(ParkedFetch(awaited=awaited, token=token, request=request))
        return True

    def take_ready_fetches(self) -> list[ParkedFetch]:
        """Remove and return the fetches that no longer wait for any write."""
        ready = [each for each in self._parked_fetches if each.awaited.isdisjoint(self._appends)]
        self._parked_fetches = [each for each in self._parked_fetches if each not in ready]
        return ready

    def take_append(self, append_id: AppendId) -> PendingAppend | None:
        """Remove and return a completed write, or None if it was removed before."""
        return self._appends.pop(append_id, None)

    def take_appends(self, partition: int) -> list[PendingAppend]:
        """Remove and return a partition's writes in progress, oldest first."""
        taken = {key: each for key, each in self._appends.items() if each.partition == partition}
        for append_id in taken:
            del self._appends[append_id]
        return list(taken.values())

    def take_effects(self) -> tuple[Effect, ...]:
        """Remove and return the effects since the last call."""
        taken = tuple(self._effects)
        self._effects.clear()
        return taken
