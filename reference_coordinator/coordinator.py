"""The group coordinator as a machine: inputs with the time in, effects out.

It never asks what time it is, opens no connection and keeps no log. The shell that does calls
`handle` for a request, `advance` when `next_deadline` has come, `append_completed` when records that
it was asked to append are in the log, and the lifecycle inputs when a broker would become or cease
to be the coordinator.
"""

from collections.abc import Collection, Iterable
from typing import assert_never

from reference_coordinator import service
from reference_coordinator.append_errors import (
    append_group_metadata_error_to_response_error,
    handle_operation_exception,
)
from reference_coordinator.appends import (
    AnswerStored,
    AssignmentStored,
    Continuation,
    GroupCreated,
    GroupsDeleted,
    NobodyWaits,
    OffsetsStored,
    StaticMemberStored,
)
from reference_coordinator.behaviours import CoordinatorFamily
from reference_coordinator.choices import Choices
from reference_coordinator.classic.answers import (
    complete_join,
    complete_sync,
    join_error,
    sync_error,
)
from reference_coordinator.classic.deadlines import (
    CleanUpOffsets,
    CompleteJoin,
    Deadline,
    ExpireMemberHeartbeat,
    ExpirePendingSync,
    TryCompleteInitialRebalance,
)
from reference_coordinator.classic.expiry import (
    expire_classic_group_member_heartbeat,
    expire_pending_sync,
)
from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.rebalance import (
    complete_classic_group_join,
    try_complete_initial_rebalance_else_schedule,
)
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.classic.static_members import static_member_stored
from reference_coordinator.classic.sync import assignment_stored
from reference_coordinator.config import GroupCoordinatorConfig
from reference_coordinator.effects import Effect
from reference_coordinator.errors import Errors, IllegalStateError
from reference_coordinator.ids import UNKNOWN_MEMBER_ID, AppendId, Millis, ResponseToken
from reference_coordinator.loader import Loader, replay
from reference_coordinator.messages import GroupRequest, RequestContext
from reference_coordinator.offset_storing import offsets_stored
from reference_coordinator.profiles import Profile
from reference_coordinator.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.removal import (
    cleanup_all_group_metadata,
    groups_deleted,
    on_topics_deleted,
    schedule_group_metadata_expiration,
)
from reference_coordinator.shard import Ownership, PendingAppend, Shard
from reference_coordinator.txn_completion import complete_transaction


class GroupCoordinator:
    """One broker's group coordinator. It owns all partitions of `__consumer_offsets`, or none.

    Times must not go backwards from one input to the next. Every input first lets what is overdue
    happen, so that a shell may call `advance` late without changing the order of things.
    """

    def __init__(self, *, config: GroupCoordinatorConfig, profile: Profile, choices: Choices) -> None:
        self._shard = Shard(config=config, profile=profile, choices=choices)
        self._loader: Loader | None = None

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
            self._complete_append(append, error)
            service.fetch_written(self._shard)
        return self._shard.take_effects()

    def transaction_ended(self, marker: EndTransactionMarker, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn that the end of a transaction was written to a partition of the log.

        Source: GroupCoordinatorService#completeTransaction (4.3.1),
        GroupCoordinator#scheduleHandleTxnCompletion (3.9.2).
        """
        self._advance_to(now_ms)
        if self._loader is not None:
            self._loader.replay((marker,))
        else:
            self._shard.log_end_offset += 1
            complete_transaction(self._shard, marker)
        return self._shard.take_effects()

    def topics_deleted(self, topics: Collection[str], *, now_ms: Millis) -> tuple[Effect, ...]:
        """Learn that topics are no more; their offsets go, wherever they are."""
        self._advance_to(now_ms)
        on_topics_deleted(self._shard, topics)
        return self._shard.take_effects()

    def next_deadline(self) -> Millis | None:
        """When `advance` has something to do, unless something else happens before."""
        return self._shard.timers.next_deadline()

    def begin_loading(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Become the coordinator, with the log still to be read."""
        assert self._shard.ownership is Ownership.NOT_OWNED, "unload first"
        self._advance_to(now_ms)
        self._shard.ownership = Ownership.LOADING
        self._loader = Loader(shard=self._shard)
        return self._shard.take_effects()

    def load(self, records: Iterable[CoordinatorRecord]) -> None:
        """Read on in the log, in its order."""
        assert self._loader is not None, "begin_loading first"
        self._loader.replay(records)

    def finish_loading(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Be the coordinator of what the log said."""
        assert self._loader is not None, "begin_loading first"
        self._advance_to(now_ms)
        loader, self._loader = self._loader, None
        self._shard.ownership = Ownership.OWNED
        loader.finish()
        schedule_group_metadata_expiration(self._shard)
        return self._shard.take_effects()

    def unload(self, *, now_ms: Millis) -> tuple[Effect, ...]:
        """Cease to be the coordinator: who is parked is told NOT_COORDINATOR, all is forgotten.

        Source: GroupMetadataManager#onUnloaded (4.3.1), GroupCoordinator#onGroupUnloaded (3.9.2).
        """
        self._advance_to(now_ms)
        self._loader = None
        self._shard.ownership = Ownership.NOT_OWNED
        for group in self._shard.groups():
            self._unload_group(group)
        self._shard.forget_all()
        if self._shard.profile.coordinator is CoordinatorFamily.JAVA:
            for append in self._shard.take_all_appends():
                self._complete_append(append, Errors.NOT_COORDINATOR)
            service.fetch_written(self._shard)
            self._shard.forget_all()
        return self._shard.take_effects()

    def check_invariants(self) -> None:
        """Assert what holds between any two inputs."""
        for group in self._shard.groups():
            group.check_invariants()

    def _unload_group(self, group: ClassicGroup) -> None:
        previous_state = group.state
        group.transition_to(ClassicGroupState.DEAD, now_ms=self._shard.now_ms)
        for member in group.members.values():
            if previous_state is ClassicGroupState.PREPARING_REBALANCE:
                error = join_error(member.member_id, Errors.NOT_COORDINATOR)
                complete_join(self._shard, member, error)
            else:
                complete_sync(self._shard, member, sync_error(Errors.NOT_COORDINATOR))

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
        shard = self._shard
        match deadline:
            case ExpireMemberHeartbeat():
                expire_classic_group_member_heartbeat(shard, deadline)
            case TryCompleteInitialRebalance(delay_ms=delay_ms, remaining_ms=remaining_ms):
                group = shard.group(deadline.group_id)
                if group is not None:
                    try_complete_initial_rebalance_else_schedule(
                        shard, group, delay_ms=delay_ms, remaining_ms=remaining_ms
                    )
            case CompleteJoin():
                group = shard.group(deadline.group_id)
                if group is not None:
                    complete_classic_group_join(shard, group)
            case ExpirePendingSync():
                expire_pending_sync(shard, deadline)
            case CleanUpOffsets():
                cleanup_all_group_metadata(shard)
            case _:
                assert_never(deadline)

    def _complete_append(self, append: PendingAppend, error: Errors) -> None:
        if error is Errors.NONE:
            self._shard.commit_creations(append)
            if append.replays:
                replay(self._shard, append.records, record_offset=append.record_offset)
        else:
            self._shard.roll_back_creations(append)
        try:
            self._continue(append.then, error)
        except IllegalStateError:
            # Kafka's callback throws, and nobody is told.
            return

    def _continue(self, then: Continuation, error: Errors) -> None:
        shard = self._shard
        match then:
            case AssignmentStored():
                assignment_stored(shard, then, error)
            case StaticMemberStored():
                static_member_stored(shard, then, error)
            case GroupCreated():
                self._group_created(then, error)
            case NobodyWaits():
                return
            case _:
                self._continue_with_answer(then, error)

    def _continue_with_answer(
        self, then: AnswerStored | OffsetsStored | GroupsDeleted, error: Errors
    ) -> None:
        match then:
            case AnswerStored():
                response = then.response
                if error is not Errors.NONE:
                    told = handle_operation_exception(error)
                    response = service.error_response(self._shard, then.request, told)
                self._shard.respond(then.token, response)
            case OffsetsStored():
                offsets_stored(self._shard, then, error)
            case GroupsDeleted():
                groups_deleted(self._shard, then, error)
            case _:
                assert_never(then)

    def _group_created(self, created: GroupCreated, error: Errors) -> None:
        """Tell who is parked in a group that could not be written.

        Source: GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1).
        """
        if error is Errors.NONE or not self._shard.is_open(created.join.token):
            return
        told = append_group_metadata_error_to_response_error(self._shard, error)
        self._shard.fail(created.join.token, join_error(UNKNOWN_MEMBER_ID, told))
