"""Keyed deadlines on the caller's clock.

Kafka has two of these: the Scala coordinator's purgatories and the Java one's CoordinatorTimer. Both
have at most one live deadline a key here, and both are data: what falls due is a value that the
coordinator acts upon, not a callback.
"""

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value

KeyT = TypeVar("KeyT", bound=Hashable)
DeadlineT = TypeVar("DeadlineT")


@value
class Due(Generic[DeadlineT]):
    """A deadline that has passed, and when it was."""

    at_ms: Millis
    deadline: DeadlineT


@dataclass(slots=True)
class _Scheduled(Generic[DeadlineT]):
    """A key's deadline, and where it stands in the queue: at its own time, or before."""

    at_ms: int
    sequence: int
    deadline: DeadlineT
    queued_ms: int = 0
    queued_sequence: int = 0


class Timers(Generic[KeyT, DeadlineT]):
    """Deadlines by key, each replaceable; ties fire in the order in which they were scheduled.

    Source: CoordinatorTimer (4.3.1), whose test double leaves the order of ties open.
    """

    def __init__(self) -> None:
        self._scheduled: dict[KeyT, _Scheduled[DeadlineT]] = {}
        self._queue: list[tuple[int, int, KeyT]] = []
        self._sequence = 0

    def schedule(self, key: KeyT, at_ms: int, deadline: DeadlineT) -> None:
        """Set the key's deadline; one that it had before is forgotten."""
        self._sequence += 1
        scheduled = self._scheduled.get(key)
        if scheduled is not None and scheduled.queued_ms <= at_ms:
            # A session that begins anew keeps its place in the queue until that comes up.
            scheduled.at_ms, scheduled.sequence, scheduled.deadline = at_ms, self._sequence, deadline
            return
        scheduled = self._scheduled[key] = _Scheduled(at_ms, self._sequence, deadline)
        self._enqueue(key, scheduled)

    def cancel(self, key: KeyT) -> None:
        """Forget the key's deadline, if it has one."""
        self._scheduled.pop(key, None)

    def cancel_if(self, is_over: Callable[[KeyT], bool]) -> None:
        """Forget the deadlines of some keys."""
        for key in [each for each in self._scheduled if is_over(each)]:
            del self._scheduled[key]

    def deadline_of(self, key: KeyT) -> DeadlineT | None:
        """What falls due for the key, or None."""
        found = self._scheduled.get(key)
        return None if found is None else found.deadline

    def pending(self) -> list[tuple[Millis, KeyT]]:
        """What is waited for, in the order in which it falls due."""
        ordered = sorted(self._scheduled.items(), key=lambda each: (each[1].at_ms, each[1].sequence))
        return [(Millis(scheduled.at_ms), key) for key, scheduled in ordered]

    def take(self, key: KeyT) -> DeadlineT:
        """Take out the key's deadline, whenever it is due."""
        return self._scheduled.pop(key).deadline

    def next_deadline(self) -> Millis | None:
        """When the first deadline falls due, or None if there is none."""
        self._bring_up_to_date()
        return Millis(self._queue[0][0]) if self._queue else None

    def pop_due(self, now_ms: Millis) -> Due[DeadlineT] | None:
        """Take out the first deadline that is not after now, or None."""
        # What the queue says of a deadline is never too late, so that this look at it is enough.
        if not self._queue or self._queue[0][0] > now_ms:
            return None
        self._bring_up_to_date()
        if not self._queue or self._queue[0][0] > now_ms:
            return None
        at_ms, _, key = heapq.heappop(self._queue)
        return Due(at_ms=Millis(at_ms), deadline=self._scheduled.pop(key).deadline)

    def _enqueue(self, key: KeyT, scheduled: _Scheduled[DeadlineT]) -> None:
        scheduled.queued_ms, scheduled.queued_sequence = scheduled.at_ms, scheduled.sequence
        # Sequences are unique, so that the heap never has to compare keys.
        heapq.heappush(self._queue, (scheduled.at_ms, scheduled.sequence, key))

    def _bring_up_to_date(self) -> None:
        """Make the head of the queue a deadline that is still meant, at the time that is now meant."""
        while self._queue:
            _, sequence, key = self._queue[0]
            scheduled = self._scheduled.get(key)
            if scheduled is not None and scheduled.sequence == sequence:
                return
            heapq.heappop(self._queue)
            if scheduled is not None and scheduled.queued_sequence == sequence:
                self._enqueue(key, scheduled)
