"""Acknowledging records, and releasing those that are not acknowledged in time."""

from collections.abc import Iterable, Sequence
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.shares.in_flight import NOBODY, InFlightBatch, InFlightState, RecordState
from reference_coordinator.shares.messages import AcknowledgementBatch
from reference_coordinator.shares.share_partition import (
    CLIENT_REJECT,
    DELIVERY_COUNT_EXCEEDED,
    SharePartition,
    Transition,
)

REJECT, RENEW = 3, 4
"""Source: AcknowledgeType (4.3.1)."""
_STATE_OF_TYPE = {
    0: RecordState.ARCHIVED,
    1: RecordState.ACKNOWLEDGED,
    2: RecordState.AVAILABLE,
    REJECT: RecordState.ARCHIVED,
}
"""Source: SharePartition.ACK_TYPE_TO_RECORD_STATE (4.3.1)."""
_BATCH_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
_OFFSET_NOT_ACQUIRED: Final = "The offset cannot be acknowledged. The offset is not acquired."
_IN_TRANSITION: Final = "The record state is invalid. The acknowledgement of delivery could not be completed."
_NOT_FOUND: Final = "Batch record not found. The request batch offsets are not found in the cache."
_NO_RENEWAL: Final = "Renewing acquisition locks is not enabled for the group."


@value
class Acknowledged:
    """What came of the acknowledgements of a partition."""

    error: Errors = Errors.NONE
    message: str | None = None


@value
class Started:
    """Transitions of a partition's records that have yet to be written, or the error that prevented them."""

    partition: SharePartition
    result: Acknowledged = Acknowledged()
    transitions: tuple[Transition, ...] = ()


def acknowledge(
    partition: SharePartition, member_id: str, batches: Iterable[AcknowledgementBatch], *, now_ms: Millis
) -> Started:
    """Apply a member's acknowledgements; if it has not acquired one of the records, apply none.

    Source: SharePartition#acknowledge (4.3.1).
    """
    acknowledging = _Acknowledging(partition, member_id, now_ms)
    try:
        for batch in batches:
            if batch.last_offset >= partition.start_offset:
                acknowledging.take(batch)
    except CoordinatorError as error:
        _complete(partition, acknowledging.started, is_written=False)
        return Started(partition=partition, result=Acknowledged(error=error.error, message=error.message))
    return Started(partition=partition, transitions=tuple(acknowledging.started))


def finish(started: Started) -> tuple[Acknowledged, bool]:
    """Write the started transitions; return the result, and whether the start offset moved.

    Source: SharePartition#rollbackOrProcessStateUpdates (4.4.0).
    """
    partition, transitions = started.partition, started.transitions
    if not transitions:
        return started.result, False
    error = partition.write(each.as_state_batch() for each in transitions)
    is_written = error is Errors.NONE
    _complete(partition, transitions, is_written=is_written)
    has_moved = is_written and partition.move_start_offset()
    return Acknowledged(error=error), partition.archive_dead_letters(transitions) or has_moved


def release(partition: SharePartition, member_id: str) -> Started:
    """Release a member's acquired records; Kafka's release decides whether this undoes their delivery.

    Source: SharePartition#releaseAcquiredRecords (4.3.1).
    """
    keeps = partition.profile.has(Behaviour.SHARE_CLOSE_KEEPS_DELIVERY_COUNT)
    settings, started = partition.settings(), []
    for batch in partition.cached:
        if not batch.offsets and batch.batch.state is RecordState.ACQUIRED:
            is_its = batch.batch.member_id == member_id
            if is_its and batch.has_within(partition.start_offset):
                batch.split()
        for first, last, state in batch.states():
            if state.state is RecordState.ACQUIRED and state.member_id == member_id:
                is_gone = last < partition.start_offset
                to = RecordState.ARCHIVED if is_gone else RecordState.AVAILABLE
                state.start_transition(to, 0 if keeps else -1, settings)
                started.append(_started(partition, first, last, state))
    return Started(partition=partition, transitions=tuple(started))


def release_on_timeout(
    partition: SharePartition, first_offset: int, last_offset: int, *, now_ms: Millis
) -> bool:
    """Release records whose acquisition lock timed out; return whether there were any.

    Source: SharePartition#releaseAcquisitionLockOnTimeout (4.4.0).
    """
    floor = partition.cached.floor(first_offset)
    if floor is None:
        return False
    settings, released = partition.settings(), []
    for batch in partition.cached.between(floor.first_offset, last_offset):
        if batch.batch.state is RecordState.ACQUIRED and batch.has_within(partition.start_offset):
            batch.split()
        for first, last, state in batch.states():
            is_due = state.state is RecordState.ACQUIRED and _has_ended(state, now_ms)
            is_gone = last < partition.start_offset
            to = RecordState.ARCHIVED if is_gone else RecordState.AVAILABLE
            if is_due:
                state.try_update(to, 0, settings, NOBODY)
                state.lock_ends_ms = None
                partition.finds_next_fetch_offset = True
                released.append(_started(partition, first, last, state))
    if released:
        partition.write(each.as_state_batch() for each in released)
        partition.move_start_offset()
        partition.archive_dead_letters(released)
    return bool(released)


class _Acknowledging:
    def __init__(self, partition: SharePartition, member_id: str, now_ms: Millis) -> None:
        self._partition = partition
        self._member_id = member_id
        self._now_ms = now_ms
        self.started: list[Transition] = []

    def take(self, batch: AcknowledgementBatch) -> None:
        """Source: SharePartition#acknowledgeBatchRecords (4.3.1)."""
        for in_flight in self._in_flight(batch):
            if in_flight.last_offset < self._partition.start_offset:
                continue
            if not in_flight.offsets:
                self._throw_unless_batch_acquired(in_flight.batch)
            is_whole = (
                in_flight.is_within(batch.first_offset, batch.last_offset)
                and not in_flight.offsets
                and len(batch.acknowledge_types) == 1
                and not in_flight.has_within(self._partition.start_offset)
            )
            if not is_whole:
                in_flight.split()
            for first, last, state in in_flight.states():
                is_meant = first >= batch.first_offset and last <= batch.last_offset
                if is_meant and last >= self._partition.start_offset:
                    self._take_one(batch, first, last, state)

    def _take_one(self, batch: AcknowledgementBatch, first: int, last: int, state: InFlightState) -> None:
        """Source: SharePartition#acknowledgePerOffsetBatchRecords, #acknowledgeCompleteBatch (4.3.1)."""
        self._throw_unless_offset_acquired(state)
        types = batch.acknowledge_types
        acknowledge_type = types[first - batch.first_offset] if len(types) > 1 else types[0]
        if acknowledge_type == RENEW:
            if not self._partition.settings().may_renew:
                raise CoordinatorError(Errors.INVALID_RECORD_STATE, _NO_RENEWAL)
            self._partition.lock(state, first, last, now_ms=self._now_ms)
            return
        settings = self._partition.settings()
        is_rejected = acknowledge_type == REJECT and settings.has_dead_letters
        to = RecordState.ARCHIVING if is_rejected else _STATE_OF_TYPE[acknowledge_type]
        state.start_transition(to, 0, settings)
        cause = CLIENT_REJECT if is_rejected else DELIVERY_COUNT_EXCEEDED
        self.started.append(_started(self._partition, first, last, state, cause))
        # From 4.2 on, records are available only once written, and the transition's end sets this again.
        if state.state is RecordState.AVAILABLE:
            self._partition.finds_next_fetch_offset = True

    def _throw_unless_offset_acquired(self, state: InFlightState) -> None:
        if state.state is not RecordState.ACQUIRED:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, _OFFSET_NOT_ACQUIRED)
        if state.before is not None:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, _IN_TRANSITION)
        if state.member_id != self._member_id:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, "Member is not the owner of offset")

    def _throw_unless_batch_acquired(self, batch: InFlightState) -> None:
        """Source: SharePartition#validateAcknowledgementBatchMemberId (4.3.1)."""
        if batch.member_id not in {NOBODY, self._member_id}:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, "Member is not the owner of batch record")
        if batch.before is not None:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, _IN_TRANSITION)
        if batch.state is not RecordState.ACQUIRED:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, _BATCH_NOT_ACQUIRED)

    def _in_flight(self, batch: AcknowledgementBatch) -> Sequence[InFlightBatch]:
        """Source: SharePartition#fetchSubMapForAcknowledgementBatch (4.3.1)."""
        cached, start_offset = self._partition.cached, self._partition.start_offset
        floor = cached.floor(batch.first_offset)
        if floor is None and batch.first_offset < start_offset <= batch.last_offset:
            floor = cached.floor(start_offset)
        if floor is None:
            raise CoordinatorError(Errors.INVALID_RECORD_STATE, _NOT_FOUND)
        found = cached.between(floor.first_offset, batch.last_offset)
        for end, offset in (("first", batch.first_offset), ("last", batch.last_offset)):
            if offset > found[-1].last_offset:
                message = f"Batch record not found. The {end} offset in request is past acquired records."
                raise CoordinatorError(Errors.INVALID_REQUEST, message)
        return found


def _started(
    partition: SharePartition,
    first: int,
    last: int,
    state: InFlightState,
    cause: str = DELIVERY_COUNT_EXCEEDED,
) -> Transition:
    if state.state.is_terminal:
        partition.delivery_complete_count += partition.count_within(first, last)
    return Transition(first_offset=first, last_offset=last, state=state, cause=cause)


def _complete(partition: SharePartition, transitions: Iterable[Transition], *, is_written: bool) -> None:
    for each in transitions:
        was_terminal = each.state.state.is_terminal
        each.state.complete_transition(is_written=is_written)
        if each.state.state is RecordState.AVAILABLE:
            partition.finds_next_fetch_offset = True
        if was_terminal and not each.state.state.is_terminal:
            partition.delivery_complete_count -= partition.count_within(each.first_offset, each.last_offset)


def _has_ended(state: InFlightState, now_ms: Millis) -> bool:
    return state.lock_ends_ms is not None and state.lock_ends_ms <= now_ms
