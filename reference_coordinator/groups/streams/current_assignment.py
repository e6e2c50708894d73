"""The next step of one member from its current tasks towards its target assignment."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.streams_records import StreamsMemberState
from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.tasks import (
    EMPTY_WITH_EPOCHS,
    Tasks,
    TasksTuple,
    TasksTupleWithEpochs,
    TasksWithEpochs,
)

_UNKNOWN_STATE: Final = (
    "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin."
)
_PartitionsT = TypeVar("_PartitionsT", bound=Collection[int])


@value
class _Difference:
    """The tasks of one kind that stay, must be revoked, or can be added."""

    assigned: Mapping[str, Mapping[int, int]]
    revoked: Mapping[str, Mapping[int, int]]
    pending: Mapping[str, Mapping[int, int]]
    has_unreleased: bool


@value
class CurrentAssignmentBuilder:
    """A step of one member towards its target. Source: streams.CurrentAssignmentBuilder (4.3.1)."""

    group: StreamsGroup
    member: StreamsGroupMember
    target_assignment_epoch: int
    target_assignment: TasksTuple
    owned_tasks: TasksTuple | None
    """The tasks that the member reports as owned, or None if it reports none."""
    changes_roles: bool = False
    """Whether a member that changes the role of a task keeps it without a revocation."""

    def build(self) -> StreamsGroupMember:
        """Return the member after the step, or the same object if nothing changes.

        The member must not be reconciled to the target yet.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH, if the member's state is unknown.

        Source: CurrentAssignmentBuilder#build (4.3.1).
        """
        member, owned = self.member, self.owned_tasks
        match member.state:
            case StreamsMemberState.STABLE:
                return self._compute_next_assignment(member.member_epoch)
            case StreamsMemberState.UNREVOKED_TASKS:
                if owned is None or owned.contains_any(member.tasks_pending_revocation):
                    return member
                return self._compute_next_assignment(member.member_epoch + 1)
            case StreamsMemberState.UNRELEASED_TASKS:
                return self._compute_next_assignment(member.member_epoch)
            case StreamsMemberState.UNKNOWN:
                if owned is None or not owned.is_empty:
                    raise CoordinatorError(Errors.FENCED_MEMBER_EPOCH, _UNKNOWN_STATE)
                return self._compute_next_assignment(self.target_assignment_epoch)

    def _compute_next_assignment(self, member_epoch: int) -> StreamsGroupMember:
        """Revoke tasks first, then assign the ones that are free.

        Source: CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
        """
        has, target = self.member.assigned_tasks, self.target_assignment
        active = self._difference(has.active_tasks, target.active_tasks, self._is_unreleased_active)
        standby = self._difference(
            _since_0(has.standby_tasks), target.standby_tasks, self._is_unreleased_replica
        )
        warmup = self._difference(
            _since_0(has.warmup_tasks), target.warmup_tasks, self._is_unreleased_replica
        )
        if self.changes_roles:
            standby = self._with_changed_roles(active, standby)
        kinds = (active, standby, warmup)
        assigned = _tuple(*(each.assigned for each in kinds))
        revoked = _tuple(*(each.revoked for each in kinds))
        if self._has_to_revoke(revoked):
            return replace(
                self.member.update_member_epoch(member_epoch),
                state=StreamsMemberState.UNREVOKED_TASKS,
                assigned_tasks=assigned,
                tasks_pending_revocation=revoked,
            )
        has_unreleased = any(each.has_unreleased for each in kinds)
        return replace(
            self.member.update_member_epoch(self.target_assignment_epoch),
            state=StreamsMemberState.UNRELEASED_TASKS if has_unreleased else StreamsMemberState.STABLE,
            assigned_tasks=assigned.merge(_tuple(*(each.pending for each in kinds))),
            tasks_pending_revocation=EMPTY_WITH_EPOCHS,
        )

    def _has_to_revoke(self, revoked: TasksTupleWithEpochs) -> bool:
        is_owner = self.owned_tasks is None or self.owned_tasks.contains_any(revoked)
        return not revoked.is_empty and is_owner

    def _with_changed_roles(self, active: _Difference, standby: _Difference) -> _Difference:
        """Return the standby tasks after changes of role.

        Tasks that were active become standby tasks immediately. Standby tasks that will become active are
        kept until then. No release assigns warm-up tasks, so none of these changes its role.

        Decided in: CurrentAssignmentBuilder#demoteActiveTasksToStandby,
        CurrentAssignmentBuilder#applyPromotionsToActive (4.4.0).
        """
        has_active, target_active = (
            self.member.assigned_tasks.active_tasks,
            self.target_assignment.active_tasks,
        )
        revoked = _outside(standby.revoked, target_active)
        kept = _inside(standby.revoked, target_active)
        if not self._has_to_revoke(_tuple(active.revoked, revoked, {})):
            kept = _outside(kept, active.pending)
        demoted = _inside(standby.pending, has_active)
        return replace(
            standby,
            assigned=_united(_united(standby.assigned, demoted), kept),
            revoked=revoked,
            pending=_outside(standby.pending, has_active),
        )

    def _difference(
        self,
        current: Mapping[str, Mapping[int, int]],
        target: Tasks,
        is_unreleased: Callable[[str, int], bool],
    ) -> _Difference:
        """Decided in: CurrentAssignmentBuilder#computeAssignmentDifference (4.3.1)."""
        assigned, revoked, pending = {}, {}, {}
        has_unreleased = False
        nothing: frozenset[int] = frozenset()
        for key in dict.fromkeys((*target, *current)):
            wanted, before = target.get(key, nothing), current.get(key, {})
            assigned[key] = {each: epoch for each, epoch in before.items() if each in wanted}
            revoked[key] = {each: epoch for each, epoch in before.items() if each not in wanted}
            missing = sorted(wanted - before.keys())
            free = [each for each in missing if not is_unreleased(key, each)]
            has_unreleased |= len(free) < len(missing)
            pending[key] = dict.fromkeys(free, self.target_assignment_epoch)
        return _Difference(
            assigned=_filled(assigned),
            revoked=_filled(revoked),
            pending=_filled(pending),
            has_unreleased=has_unreleased,
        )

    def _is_unreleased_active(self, subtopology_id: str, partition: int) -> bool:
        owners = self.group.current_tasks
        if owners.active_process(subtopology_id, partition) is not None:
            return True
        own = self.member.assigned_tasks.standby_tasks
        is_own = self.changes_roles and partition in own.get(subtopology_id, ())
        return not is_own and owners.is_replica_at(self.member.process_id, subtopology_id, partition)

    def _is_unreleased_replica(self, subtopology_id: str, partition: int) -> bool:
        owners, process_id = self.group.current_tasks, self.member.process_id
        own = self.member.assigned_tasks.active_tasks
        is_own = self.changes_roles and partition in own.get(subtopology_id, ())
        is_run_here = not is_own and owners.active_process(subtopology_id, partition) == process_id
        return is_run_here or owners.is_replica_at(process_id, subtopology_id, partition)


def _since_0(tasks: Tasks) -> Mapping[str, Mapping[int, int]]:
    """Return tasks without epochs as tasks with epoch 0."""
    return {key: dict.fromkeys(sorted(partitions), 0) for key, partitions in tasks.items()}


def _inside(tasks: TasksWithEpochs, others: Mapping[str, Collection[int]]) -> TasksWithEpochs:
    kept = {
        key: {each: epoch for each, epoch in epochs.items() if each in others.get(key, ())}
        for key, epochs in tasks.items()
    }
    return _filled(kept)


def _outside(tasks: TasksWithEpochs, others: Mapping[str, Collection[int]]) -> TasksWithEpochs:
    kept = {
        key: {each: epoch for each, epoch in epochs.items() if each not in others.get(key, ())}
        for key, epochs in tasks.items()
    }
    return _filled(kept)


def _united(left: TasksWithEpochs, right: TasksWithEpochs) -> TasksWithEpochs:
    return {key: {**left.get(key, {}), **right.get(key, {})} for key in (*left, *right)}


def _filled(tasks: Mapping[str, _PartitionsT]) -> Mapping[str, _PartitionsT]:
    return {key: partitions for key, partitions in tasks.items() if partitions}


def _tuple(
    active: Mapping[str, Mapping[int, int]],
    standby: Mapping[str, Mapping[int, int]],
    warmup: Mapping[str, Mapping[int, int]],
) -> TasksTupleWithEpochs:
    return TasksTupleWithEpochs(
        active_tasks=active,
        standby_tasks={key: frozenset(each) for key, each in standby.items()},
        warmup_tasks={key: frozenset(each) for key, each in warmup.items()},
    )
