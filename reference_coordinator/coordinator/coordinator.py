"""The group coordinator as a state machine: inputs with the time go in, effects come out.

It reads no clock, opens no connection and keeps no log. The shell does these, and calls `handle` for a
request, `advance` at `next_deadline`, `append_completed` when an append of records has succeeded or
failed, and the lifecycle inputs when a broker becomes or ceases to be the coordinator.
"""

from collections.abc import Collection, Iterable
from typing import assert_never

from reference_coordinator.coordinator import service
from reference_coordinator.coordinator.deletion import remove_paused_groups
from reference_coordinator.coordinator.lifecycle import Lifecycle
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import Effect
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import AppendId, GroupId, Millis, ResponseToken
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.core.timers import Timers
from reference_coordinator.groups import dispatch
from reference_coordinator.groups.dispatch import on_metadata_update
from reference_coordinator.groups.share.topic_deletion import maybe_cleanup_share_group_state
from reference_coordinator.messages import GroupRequest, RequestContext
from reference_coordinator.offsets.expiration import cleanup_all_group_metadata, on_topics_deleted
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.txn_commit import replay_end_transaction_marker
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.group_configs import GroupConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.runtime.deadlines import (
    AnswerTakesTooLong,
    CleanUpOffsets,
    Deadline,
    FlushBatch,
    GroupDeadline,
    TimerKey,
    WriteTakesTooLong,
)
from reference_coordinator.runtime.open_batch import answer_takes_too_long, linger_is_over
from reference_coordinator.runtime.partitions import Ownership


class GroupCoordinator:
    """One broker's group coordinator, which owns some of the partitions of `__consumer_offsets`.

    Time must not go backwards from one input to the next. Every input first processes the overdue
    deadlines, so that a late call of `advance` does not change the order of events.
    """

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        profile: Profile,
        choices: Choices,
        timers: Timers[TimerKey, Deadline] | None = None,
    ) -> None:
        self._shard = CoordinatorShard(
            config=config, profile=profile, choices=choices, timers=Timers() if timers is None else timers
        )
        self._lifecycle = Lifecycle(shard=self._shard)

    @property
    def shard(self) -> CoordinatorShard:
        """The coordinator's state, for inspection."""
        return self._shard

    def handle(
        self,
        request: GroupRequest,
        context: RequestContext,
        token: ResponseToken,
        *,
        now_ms: Millis,
    ) -> tuple[Effect, ...]:
        """Process a request; the `Respond` with this token may follow now, later or never."""
        self._advance_to(now_ms)
        self._shard.accept(token)
        service.handle(self._shard, request, context, token)
        return self._shard.take_effects()

    def advance(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process every deadline up to and including now, each at its own time."""
        self._advance_to(now_ms)
        return self._shard.take_effects()

    def append_completed(self, append_id: AppendId, error: Errors, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process the result of an `AppendRecords`; NONE means that the records are committed to the log.

        Deadlines of the same millisecond come after it: Kafka's timers take a tick, an append that fails at
        once does not.
        """
        if now_ms > self._shard.now_ms:
            self._advance_to(Millis(now_ms - 1))
        self._shard.now_ms = now_ms
        append = self._shard.take_append(append_id)
        if append is not None:
            self._shard.complete_append(append, error)
            service.fetch_written(self._shard)
        return self._shard.take_effects()

    def transaction_ended(self, marker: EndTransactionMarker, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process the end of a transaction that was written to a partition of the log.

        It is ignored while the partition is loading, because the loaded log contains the marker.

        Decided in: GroupCoordinatorService#completeTransaction,
        CoordinatorRuntime.CoordinatorContext#completeTransaction (4.3.1),
        GroupCoordinator#scheduleHandleTxnCompletion (3.9.2).
        """
        self._advance_to(now_ms)
        partition = self._shard.partitions.of(marker.partition)
        if partition.ownership is Ownership.OWNED:
            self._shard.flush_current_batch(marker.partition)
            partition.last_written_offset += 1
            # The marker is in the log, and so is all that was written before it.
            partition.last_committed_offset = partition.last_written_offset
            replay_end_transaction_marker(self._shard, marker)
        return self._shard.take_effects()

    def topics_deleted(self, topics: Collection[str], *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process the deletion of topics: remove their offsets and share states from all groups."""
        self._advance_to(now_ms)
        on_topics_deleted(self._shard, topics)
        known = self._shard.metadata_image.topics
        maybe_cleanup_share_group_state(
            self._shard, frozenset(known[each].topic_id for each in topics if each in known)
        )
        return self._shard.take_effects()

    def on_metadata_update(
        self, image: MetadataImage, changed_topics: Collection[str], *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        """Process the current topics, and those created, changed or deleted since the last call."""
        self._advance_to(now_ms)
        on_metadata_update(self._shard, image, changed_topics)
        return self._shard.take_effects()

    def on_group_configs(
        self, group_id: GroupId, configs: GroupConfig, *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        """Store the current configuration of a group."""
        self._advance_to(now_ms)
        self._shard.group_configs[group_id] = configs
        return self._shard.take_effects()

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is next needed, unless another input comes before."""
        return self._shard.timers.next_deadline()

    def ownership(self, partition: int) -> Ownership:
        """Return whether the coordinator owns a partition, or is loading it, or neither."""
        return self._shard.partitions.of(partition).ownership

    @property
    def partition_to_load(self) -> int | None:
        """The partition to pass to `load` and then to `finish_loading`; None if no partition is loading.

        Both coordinators read one log after the other.
        """
        return self._lifecycle.partition_to_load

    def begin_loading(self, partition: int, *, epoch: int, now_ms: Millis) -> tuple[Effect, ...]:
        """Become the coordinator of a partition in a leader epoch; its log has yet to be loaded."""
        self._advance_to(now_ms)
        self._lifecycle.on_election(partition, epoch)
        return self._shard.take_effects()

    def load(self, partition: int, records: Iterable[CoordinatorRecord]) -> None:
        """Replay further records of a loading partition, in the order of the log."""
        self._lifecycle.read(partition, records)

    def finish_loading(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Complete the loading of a partition, and coordinate the groups in its log."""
        self._advance_to(now_ms)
        self._lifecycle.finish(partition)
        return self._shard.take_effects()

    def load_failed(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process the failure to read the rest of a partition's log."""
        self._advance_to(now_ms)
        self._lifecycle.fail(partition)
        return self._shard.take_effects()

    def log_out_of_sync(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Process that a write found records of another writer before it in the partition's log.

        The shell calls this only for releases that check, those with `Behaviour.OUT_OF_SYNC_LOG_RELOADED`.
        """
        self._advance_to(now_ms)
        self._lifecycle.on_out_of_sync(partition)
        return self._shard.take_effects()

    def unload(self, partition: int, *, epoch: int | None, now_ms: Millis) -> tuple[Effect, ...]:
        """Cease to be the coordinator of a partition: answer its parked requests and drop its state.

        Args:
            partition: one of `__consumer_offsets`.
            epoch: the leader epoch in which another broker leads it; None if the partition was deleted.
            now_ms: the time.
        """
        self._advance_to(now_ms)
        self._lifecycle.on_resignation(partition, epoch)
        return self._shard.take_effects()

    def pause_at_dead(self) -> None:
        """From now on, pause between marking groups Dead (DeleteGroups) and removing them.

        Only the Scala coordinator has this interval; with the Java one, this has no effect.
        """
        self._shard.pauses_at_dead = True

    def resume_from_dead(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Remove the paused groups, answer the requests that deleted them, and stop pausing."""
        self._advance_to(now_ms)
        self._shard.pauses_at_dead = False
        remove_paused_groups(self._shard)
        return self._shard.take_effects()

    def check_invariants(self) -> None:
        """Assert the invariants that apply between any two inputs."""
        for group in self._shard.groups():
            group.check_invariants()

    def _advance_to(self, now_ms: Millis) -> None:
        assert now_ms >= self._shard.now_ms, f"time went back from {self._shard.now_ms} to {now_ms}"
        while (due := self._shard.timers.pop_due(now_ms)) is not None:
            # A deadline set in the past is due at once, but the time never goes back.
            self._shard.now_ms = max(self._shard.now_ms, due.at_ms)
            try:
                self._fall_due(due.deadline)
            except IllegalStateError:
                # Kafka logs this and continues; the group may be stuck from now on.
                continue
        self._shard.now_ms = now_ms

    def _fall_due(self, deadline: Deadline) -> None:
        match deadline:
            case GroupDeadline():
                self._shard.append(deadline.group_id, dispatch.fall_due(self._shard, deadline))
            case CleanUpOffsets():
                cleanup_all_group_metadata(self._shard, deadline.partition)
            case WriteTakesTooLong():
                self._shard.write_takes_too_long(deadline.append_id)
            case AnswerTakesTooLong():
                answer_takes_too_long(self._shard, deadline)
            case FlushBatch():
                linger_is_over(self._shard, deadline)
            case _:
                assert_never(deadline)
