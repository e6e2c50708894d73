"""The next moves that are possible when a recording has the times of requests and answers.

A request that was answered before another one was sent takes effect first. Requests that overlap take effect
in any order, and deadlines pass within a tolerance of their time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from harness.orders.course import Apply, Course, Move, Skip, Take
from harness.replay.operation import RecordedOperation

_AFTER_REQUESTS_MS: Final = 1.0
"""A timer takes a tick, so of a request and a deadline at the same time the request is tried first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The times between which each operation of a recording takes effect, and each deadline passes."""

    operations: Sequence[RecordedOperation]
    """In the order in which they were sent."""
    until_ms: Sequence[float]
    """The latest time at which each must have taken effect and been answered."""
    tolerance_ms: float

    def next_moves(self, course: Course) -> tuple[Move, ...]:
        """Return the possible next moves, the likeliest first."""
        here = course.position
        horizon = min((self.until_ms[each] for each in here.waiting - course.unheeded), default=inf)
        ready: list[int] = []
        for place in range(here.low, len(self.operations)):
            if self.operations[place].asked_ms > horizon:
                break
            if place not in here.beyond:
                horizon = min(horizon, self._latest_ms(place))
                if self._is_free(place, course):
                    ready.append(place)
        deadlines = course.machine.inner_steps()
        overdue_ms = min((each.due_ms for each in deadlines), default=inf) + self.tolerance_ms
        ready = [each for each in ready if self.operations[each].asked_ms <= min(horizon, overdue_ms)]
        timed: list[tuple[float, Move]] = [
            (self.operations[each].free_ms, Apply(each, min(self.operations[each].free_ms, horizon)))
            for each in ready
        ]
        timed += [
            (each.due_ms + _AFTER_REQUESTS_MS, Take(each, min(each.due_ms, horizon)))
            for each in deadlines
            if each.due_ms - self.tolerance_ms <= horizon
        ]
        timed.sort(key=lambda each: each[0])
        skipped = [Skip(each) for each in ready if self.operations[each].answer is None]
        return (*(move for _, move in timed), *skipped)

    def _latest_ms(self, place: int) -> float:
        """Return the latest time at which an operation must have taken effect."""
        operation = self.operations[place]
        if not operation.is_compared and operation.answer is not None:
            return self.until_ms[place]
        return min(self.until_ms[place], operation.free_ms + self.tolerance_ms)

    def _is_free(self, place: int, course: Course) -> bool:
        """Return whether the broker has finished the previous request on the operation's connection."""
        behind = course.place_of(self.operations[place].behind)
        if behind is None or behind in course.unheeded or not self.operations[behind].is_compared:
            return True
        return behind in course.position.over
