"""Keyed deadlines on the caller's clock.

Kafka has two of these: the Scala coordinator's purgatories and the Java one's CoordinatorTimer. Both
hold at most one live deadline a key here, and both are data: what falls due is a value that the
coordinator acts upon, not a callback.
"""

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reference_coordinator.ids import Millis

KeyT = TypeVar("KeyT", bound=Hashable)
DeadlineT = TypeVar("DeadlineT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due(Generic[DeadlineT]):
    """A deadline that has passed, and when it was."""

    at_ms: Millis
    deadline: DeadlineT


class Timers(Generic[KeyT, DeadlineT]):
    """Deadlines by key, each replaceable; ties fire in the order in which they were scheduled.

    Source: CoordinatorTimer (4.3.1), whose test double leaves the order of ties open.
    """

    def __init__(self) -> None:
        self._scheduled: dict[KeyT, tuple[int, DeadlineT]] = {}
        self._queue: list[tuple[Millis, int, KeyT]] = []
        self._sequence = 0

    def schedule(self, key: KeyT, at_ms: int, deadline: DeadlineT) -> None:
        """Set the key's deadline; one that it had before is forgotten."""
        self._sequence += 1
        self._scheduled[key] = (self._sequence, deadline)
        # Sequences are unique, so that the heap never has to compare keys.
        heapq.heappush(self._queue, (Millis(at_ms), self._sequence, key))

    def cancel(self, key: KeyT) -> None:
        """Forget the key's deadline, if it has one."""
        self._scheduled.pop(key, None)

    def cancel_all(self) -> None:
        """Forget every deadline."""
        self._scheduled.clear()
        self._queue.clear()

    def deadline_of(self, key: KeyT) -> DeadlineT | None:
        """What falls due for the key, or None."""
        found = self._scheduled.get(key)
        return None if found is None else found[1]

    def next_deadline(self) -> Millis | None:
        """When the first deadline falls due, or None if there is none."""
        self._drop_outdated()
        return self._queue[0][0] if self._queue else None

    def pop_due(self, now_ms: Millis) -> Due[DeadlineT] | None:
        """Take out the first deadline that is not after now, or None."""
        self._drop_outdated()
        if not self._queue or self._queue[0][0] > now_ms:
            return None
        at_ms, _, key = heapq.heappop(self._queue)
        _, deadline = self._scheduled.pop(key)
        return Due(at_ms=at_ms, deadline=deadline)

    def _drop_outdated(self) -> None:
        while self._queue:
            _, sequence, key = self._queue[0]
            current = self._scheduled.get(key)
            if current is not None and current[0] == sequence:
                return
            heapq.heappop(self._queue)
