"""The reference as requests that overlap can find it: what happens between two requests is a step of its own.

A write is through some time after it began, and a Dead group is removed some time after it died.
"""

from math import inf
from typing import Final

from typing_extensions import override

from harness.invariants.exchange import Exchange
from harness.replay.machine import Answers, InnerKind, InnerStep, ReplayMachine
from harness.targets.reference.profile import state_of
from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, GroupId
from reference_coordinator.core.records import GroupMetadataRecord
from reference_coordinator.profile.behaviours import CoordinatorFamily

_HORIZON_MS: Final = 5_000
"""Deadlines further away do not pass within a round: session and rebalance timeouts of races are 30 s."""


class RacedMachine(ReplayMachine):
    """A broker of the reference whose pending writes and removals are inner steps."""

    @override
    def _leave_to_search(self) -> None:
        self._written: list[AppendId] = []
        self._dying: Answers = ()
        """Answers of the Scala coordinator that wait until a Dead group is removed."""
        if self._spec.profile.coordinator is CoordinatorFamily.JAVA:
            self._decided = self._apis.append_outcome
            self._apis.append_outcome = self._append_outcome
        else:
            self._apis.pause_at_dead()

    @override
    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply an operation; if it makes a group Dead, its answer waits until the group is removed.

        A request that finds the group Dead already, or is refused for another reason, is answered at once.

        Source: GroupMetadataManager#cleanupGroupMetadata, GroupCoordinator#handleDeleteOffsets (3.9.2).
        """
        pending_before = len(self._shard.pending_deletions)
        reported = super().apply(operation, at_ms)
        if len(self._shard.pending_deletions) == pending_before:
            return reported
        self._dying += tuple(each for each in reported if each.operation == operation.index)
        return tuple(each for each in reported if each.operation != operation.index)

    @override
    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the possible next steps; of the deadlines only the first, as in Kafka."""
        steps = [InnerStep(kind=InnerKind.WRITE)] if self._written else []
        if self._shard.pending_deletions:
            steps.append(InnerStep(kind=InnerKind.REMOVAL))
        return (*steps, *self._due_soon(until_ms)[:1])

    @override
    def take(self, step: InnerStep, at_ms: float) -> Answers:
        """Take an inner step; writes complete in the order in which they began."""
        match step.kind:
            case InnerKind.WRITE:
                append_id = self._written.pop(0)
                return self._reported(self._apis.append_completed(append_id, Errors.NONE, now_ms=self.now_ms))
            case InnerKind.DEADLINE | InnerKind.REPLY:
                return super().take(step, at_ms)
            case InnerKind.REMOVAL:
                return self._remove()

    @override
    def digest(self) -> str:
        """Return a text of the groups, their offsets, pending writes and removals, and near deadlines."""
        written = [self._shard.find_group(GroupId(each), committed=True) is not None for each in self._groups]
        waiting = (len(self._written), len(self._shard.pending_deletions), self._dying)
        due = [each.key for each in self._due_soon()]
        return repr((state_of(self._shard), written, waiting, due, sorted(self._choices.given)))

    def _due_soon(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the deadlines that may pass within a round."""
        return super().inner_steps(min(until_ms, self.now_ms + _HORIZON_MS))

    def _remove(self) -> Answers:
        """Remove Dead groups, and return the answers that waited for it."""
        removed = self._reported(self._apis.resume_from_dead(now_ms=self.now_ms))
        self._apis.pause_at_dead()
        reported, self._dying = (*removed, *self._dying), ()
        return reported

    def _append_outcome(self, append: AppendRecords) -> Errors | None:
        """Leave a write of group metadata pending; requests meanwhile find the state before it.

        Offsets, tombstones and records of consumer groups take effect at once for later writes, as in Kafka,
        and only their answers wait.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run, GroupMetadataManager#classicGroupSync (4.3.1).
        """
        outcome = self._decided(append)
        if outcome is not Errors.NONE or not all(
            isinstance(each, GroupMetadataRecord) for each in append.records
        ):
            return outcome
        self._written.append(append.append_id)
        return None
