"""Keyed deadlines on the caller's clock.

Kafka has two implementations: the Scala coordinator's purgatories and the Java one's CoordinatorTimer. Here,
each key has at most one deadline, and a deadline is data: a value that the coordinator handles, not a
callback.
"""

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value

KeyT = TypeVar("KeyT", bound=Hashable)
DeadlineT = TypeVar("DeadlineT")


@value
class Due(Generic[DeadlineT]):
    """A deadline that has passed, and the time for which it was set."""

    at_ms: Millis
    deadline: DeadlineT


@dataclass(slots=True)
class _Scheduled(Generic[DeadlineT]):
    """A key's deadline, and its entry in the queue, which is at the same time or earlier."""

    at_ms: int
    sequence: int
    deadline: DeadlineT
    queued_ms: int = 0
    queued_sequence: int = 0


class Timers(Generic[KeyT, DeadlineT]):
    """Deadlines by key, which can be replaced. Ties fire in the order in which they were scheduled.

    Source: CoordinatorTimer (4.3.1), whose test double does not define the order of ties.
    """

    def __init__(self) -> None:
        self._scheduled: dict[KeyT, _Scheduled[DeadlineT]] = {}
        self._queue: list[tuple[int, int, KeyT]] = []
        self._sequence = 0

    def schedule(self, key: KeyT, at_ms: int, deadline: DeadlineT) -> None:
        """Set the key's deadline, in place of its previous one."""
        self._sequence += 1
        scheduled = self._scheduled.get(key)
        if scheduled is not None and scheduled.queued_ms <= at_ms:
            # A restarted session keeps its entry in the queue until that entry is due.
            scheduled.at_ms, scheduled.sequence, scheduled.deadline = at_ms, self._sequence, deadline
            return
        scheduled = self._scheduled[key] = _Scheduled(at_ms, self._sequence, deadline)
        self._enqueue(key, scheduled)

    def cancel(self, key: KeyT) -> None:
        """Cancel the key's deadline, if it has one."""
        self._scheduled.pop(key, None)

    def cancel_if(self, is_over: Callable[[KeyT], bool]) -> None:
        """Cancel the deadlines of the keys for which `is_over` returns True."""
        for key in [each for each in self._scheduled if is_over(each)]:
            del self._scheduled[key]

    def deadline_of(self, key: KeyT) -> DeadlineT | None:
        """Return the key's deadline, or None."""
        found = self._scheduled.get(key)
        return None if found is None else found.deadline

    def pending(self, until_ms: float = inf) -> list[tuple[int, KeyT]]:
        """Return the times and keys of deadlines up to a time, in the order in which they fall due."""
        # Sequences differ, so keys are never compared.
        ordered = sorted(
            (each.at_ms, each.sequence, key)
            for key, each in self._scheduled.items()
            if each.at_ms <= until_ms
        )
        return [(at_ms, key) for at_ms, _, key in ordered]

    def take(self, key: KeyT) -> DeadlineT:
        """Remove and return the key's deadline, whenever it is due."""
        return self._scheduled.pop(key).deadline

    def next_deadline(self) -> Millis | None:
        """Return when the first deadline falls due, or None if there is none."""
        self._bring_up_to_date()
        return Millis(self._queue[0][0]) if self._queue else None

    def pop_due(self, now_ms: Millis) -> Due[DeadlineT] | None:
        """Remove and return the first deadline that is not after now, or None."""
        # The queue never has a later time than the deadline itself, so this check is sufficient.
        if not self._queue or self._queue[0][0] > now_ms:
            return None
        self._bring_up_to_date()
        if not self._queue or self._queue[0][0] > now_ms:
            return None
        at_ms, _, key = heapq.heappop(self._queue)
        return Due(at_ms=Millis(at_ms), deadline=self._scheduled.pop(key).deadline)

    def _enqueue(self, key: KeyT, scheduled: _Scheduled[DeadlineT]) -> None:
        scheduled.queued_ms, scheduled.queued_sequence = scheduled.at_ms, scheduled.sequence
        # Sequence numbers are unique, so the heap never has to compare keys.
        heapq.heappush(self._queue, (scheduled.at_ms, scheduled.sequence, key))

    def _bring_up_to_date(self) -> None:
        """Remove or move outdated entries until the head of the queue is a current deadline."""
        while self._queue:
            _, sequence, key = self._queue[0]
            scheduled = self._scheduled.get(key)
            if scheduled is not None and scheduled.sequence == sequence:
                return
            heapq.heappop(self._queue)
            if scheduled is not None and scheduled.queued_sequence == sequence:
                self._enqueue(key, scheduled)
