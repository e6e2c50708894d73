"""The group coordinator as a machine: inputs with the time in, effects out.

It never asks what time it is, opens no connection and keeps no log. The shell that does calls
`handle` for a request, `advance` when `next_deadline` has come, `append_completed` when records that
it was asked to append are in the log, and the lifecycle inputs when a broker would become or cease
to be the coordinator.
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
from reference_coordinator.messages import GroupRequest, RequestContext
from reference_coordinator.offsets.expiration import cleanup_all_group_metadata, on_topics_deleted
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.txn_completion import replay_end_transaction_marker
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.group_config import GroupConfig
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

    Times must not go backwards from one input to the next. Every input first lets what is overdue
    happen, so that a shell may call `advance` late without changing the order of things.
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
        """Its state, for whoever looks into it."""
        return self._shard

    def handle(
        self,
        request: GroupRequest,
        context: RequestContext,
        token: ResponseToken,
        *,
        now_ms: Millis,
    ) -> tuple[Effect, ...]:
        """Take in a request; `Respond` with this token may come now, later or never."""
        self._advance_to(now_ms)
        self._shard.accept(token)
        service.handle(self._shard, request, context, token)
        return self._shard.take_effects()

    def advance(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Let every deadline that is not after now fall due, each at its own time."""
        self._advance_to(now_ms)
        return self._shard.take_effects()

    def append_completed(self, append_id: AppendId, error: Errors, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn how an `AppendRecords` went; NONE means that the records are in the log for good.

        What falls due in the same millisecond comes after it: Kafka's timers take a tick, an append that
        fails at once does not.
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
        """Learn that the end of a transaction was written to a partition of the log.

        While that is being loaded, the log itself tells.

        Decided in: GroupCoordinatorService#completeTransaction (4.3.1),
        GroupCoordinator#scheduleHandleTxnCompletion (3.9.2).
        """
        self._advance_to(now_ms)
        partition = self._shard.partitions.of(marker.partition)
        if partition.ownership is Ownership.OWNED:
            self._shard.flush_current_batch(marker.partition)
            partition.last_written_offset += 1
            replay_end_transaction_marker(self._shard, marker)
        return self._shard.take_effects()

    def topics_deleted(self, topics: Collection[str], *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn that topics are no more; their offsets go, wherever they are."""
        self._advance_to(now_ms)
        on_topics_deleted(self._shard, topics)
        return self._shard.take_effects()

    def on_metadata_update(
        self, image: MetadataImage, changed_topics: Collection[str], *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        """Learn what topics there are now, and which were made, changed or deleted since the last time."""
        self._advance_to(now_ms)
        on_metadata_update(self._shard, image, changed_topics)
        return self._shard.take_effects()

    def on_group_configs(
        self, group_id: GroupId, configs: GroupConfig, *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        """Learn what is configured for a group now."""
        self._advance_to(now_ms)
        self._shard.group_configs[group_id] = configs
        return self._shard.take_effects()

    def next_deadline(self) -> Millis | None:
        """When `advance` has something to do, unless something else happens before."""
        return self._shard.timers.next_deadline()

    def ownership(self, partition: int) -> Ownership:
        """How far the coordinator is with a partition."""
        return self._shard.partitions.of(partition).ownership

    @property
    def partition_to_load(self) -> int | None:
        """Whose log is to be given to `load`, and then to `finish_loading`; None while none is.

        Both coordinators read one log after the other.
        """
        return self._lifecycle.partition_to_load

    def begin_loading(self, partition: int, *, epoch: int, now_ms: Millis) -> tuple[Effect, ...]:
        """Become the coordinator of a partition in a leader epoch, with the log still to be read."""
        self._advance_to(now_ms)
        self._lifecycle.on_election(partition, epoch)
        return self._shard.take_effects()

    def load(self, partition: int, records: Iterable[CoordinatorRecord]) -> None:
        """Read on in the log of a partition that is being loaded, in its order."""
        self._lifecycle.read(partition, records)

    def finish_loading(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Be the coordinator of what the partition's log said."""
        self._advance_to(now_ms)
        self._lifecycle.finish(partition)
        return self._shard.take_effects()

    def load_failed(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn that the partition's log cannot be read any further."""
        self._advance_to(now_ms)
        self._lifecycle.fail(partition)
        return self._shard.take_effects()

    def log_out_of_sync(self, partition: int, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn from a write that somebody else has written to the partition's log before it.

        The shell tells it of no release that would not look, by `Behaviour.OUT_OF_SYNC_LOG_RELOADED`.
        """
        self._advance_to(now_ms)
        self._lifecycle.on_out_of_sync(partition)
        return self._shard.take_effects()

    def unload(self, partition: int, *, epoch: int | None, now_ms: Millis) -> tuple[Effect, ...]:
        """Cease to be the coordinator of a partition: who is parked is told so, and all of it is forgotten.

        Args:
            partition: one of `__consumer_offsets`.
            epoch: the leader epoch in which somebody else leads it; None where it is no more.
            now_ms: the time.
        """
        self._advance_to(now_ms)
        self._lifecycle.on_resignation(partition, epoch)
        return self._shard.take_effects()

    def pause_at_dead(self) -> None:
        """From now on, pause between marking groups Dead (DeleteGroups) and removing them.

        Only the Scala coordinator has such a moment; with the Java one this changes nothing.
        """
        self._shard.pauses_at_dead = True

    def resume_from_dead(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Remove the groups that wait, answer who deleted them, and pause no more."""
        self._advance_to(now_ms)
        self._shard.pauses_at_dead = False
        remove_paused_groups(self._shard)
        return self._shard.take_effects()

    def check_invariants(self) -> None:
        """Assert what applies between any two inputs."""
        for group in self._shard.groups():
            group.check_invariants()

    def _advance_to(self, now_ms: Millis) -> None:
        assert now_ms >= self._shard.now_ms, f"time went back from {self._shard.now_ms} to {now_ms}"
        while (due := self._shard.timers.pop_due(now_ms)) is not None:
            # A deadline set in the past is due at once, but never before what already happened.
            self._shard.now_ms = max(self._shard.now_ms, due.at_ms)
            try:
                self._fall_due(due.deadline)
            except IllegalStateError:
                # Kafka logs this and goes on; the group may be stuck from now on.
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
