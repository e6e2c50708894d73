"""The next moves that are possible when a recording has the times of requests and answers.

A request that was answered before another one was sent takes effect first. Requests that overlap take effect
in any order, and deadlines pass within a tolerance of their time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from harness.invariants.exchange import Exchange
from harness.orders.course import Apply, Course, Move, Skip, Take
from harness.orders.interface import InnerKind

_AFTER_REQUESTS_MS: Final = 1.0
"""A timer takes a tick, so of a request and a deadline at the same time the request is tried first."""


@dataclass(slots=True, kw_only=True)
class Windows:
    """The times between which each operation of a recording takes effect, and each deadline passes."""

    operations: Sequence[Exchange]
    """In the order in which they were sent."""
    until_ms: Sequence[float]
    """The latest time at which each must have taken effect and been answered."""
    tolerance_ms: float
    _latest_ms: list[float] = field(init=False)
    """The latest time at which each must have taken effect."""
    _behind: list[int | None] = field(init=False)
    """The place of the request that the broker must have finished before each; None if there is none."""

    def __post_init__(self) -> None:
        self._latest_ms = [
            until_ms
            if each.answer is not None and not each.is_compared
            else min(until_ms, each.free_ms + self.tolerance_ms)
            for each, until_ms in zip(self.operations, self.until_ms, strict=True)
        ]
        compared = ((place, each) for place, each in enumerate(self.operations) if each.is_compared)
        places = {(each.connection, each.asked_at): place for place, each in compared}
        self._behind = [
            None if each.behind is None else places.get((each.connection, each.behind))
            for each in self.operations
        ]

    def next_moves(self, course: Course) -> tuple[Move, ...]:
        """Return the possible next moves, the likeliest first."""
        operations = self.operations
        ready, horizon = self._ready(course)
        steps = course.machine.inner_steps(horizon + self.tolerance_ms)
        if not steps and len(ready) == 1 and operations[ready[0]].answer is not None:
            # Mostly nothing else can happen.
            return (Apply(ready[0], min(operations[ready[0]].free_ms, horizon)),)
        deadlines = [each for each in steps if each.kind is not InnerKind.REPLY]
        # Deadlines come in the order of their time.
        overdue_ms = deadlines[0].due_ms + self.tolerance_ms if deadlines else inf
        until_ms = min(horizon, overdue_ms)
        ready = [each for each in ready if operations[each].asked_ms <= until_ms]
        timed: list[tuple[float, Move]] = []
        for place in ready:
            free_ms = operations[place].free_ms
            timed.append((free_ms, Apply(place, min(free_ms, horizon))))
        for each in deadlines:
            if each.due_ms - self.tolerance_ms > horizon:
                break
            timed.append((each.due_ms + _AFTER_REQUESTS_MS, Take(each, min(each.due_ms, horizon))))
        timed.sort(key=_time_of)
        skipped = [Skip(each) for each in ready if self.operations[each].answer is None]
        # A reply may take as long as it likes. So it comes where an answer shows it.
        replies = (each for each in steps if each.kind is InnerKind.REPLY and each.due_ms <= horizon)
        late = [Take(each, each.due_ms) for each in replies]
        return (*(move for _, move in timed), *skipped, *late)

    def _ready(self, course: Course) -> tuple[list[int], float]:
        """Return which operations may take effect next, and until when the first of them has to."""
        here, ready = course.position, list[int]()
        horizon = min((self.until_ms[each] for each in here.waiting - course.unheeded), default=inf)
        for place in range(here.low, len(self.operations)):
            if self.operations[place].asked_ms > horizon:
                break
            if place not in here.beyond:
                horizon = min(horizon, self._latest_ms[place])
                behind = self._behind[place]
                if behind is None or behind in course.unheeded or behind in here.over:
                    ready.append(place)
        return ready, horizon


def _time_of(timed: tuple[float, Move]) -> float:
    return timed[0]
