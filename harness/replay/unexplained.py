"""The moves that are possible when a recording has times, and the answers that no order of them explains.

A request that was answered before another one was sent takes effect first. Requests that overlap take effect
in any order, and deadlines pass within a tolerance of their time.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from harness.invariants.exchange import Exchange
from harness.replay.machine import InnerKind
from harness.replay.search import Apply, Course, Misfit, Move, Search, Skip, Take
from harness.results.replay_results import ReplayFinding

_AFTER_REQUESTS_MS: Final = 1.0
"""A timer takes a tick, so of a request and a deadline at the same time the request is tried first."""
_AT_ANY_TIME: Final = (InnerKind.WRITE, InnerKind.REMOVAL)


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
        deadlines = [each for each in steps if each.kind is InnerKind.DEADLINE]
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
        skipped = [Skip(each) for each in ready if operations[each].answer is None]
        inner = [Take(each, course.machine.now_ms) for each in steps if each.kind in _AT_ANY_TIME]
        # A reply may take as long as it likes. So it comes where an answer shows it.
        replies = (each for each in steps if each.kind is InnerKind.REPLY and each.due_ms <= horizon)
        late = [Take(each, each.due_ms) for each in replies]
        return (*inner, *(move for _, move in timed), *skipped, *late)

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


GIVEN_UP: Final = "not all orders were tried"
"""What a finding says if the search was given up."""
_MOVES_MAX: Final = 4_000
"""The number of moves without progress after which a search is given up."""
_LOOK_BACK_MS: Final = 4_000.0
"""Decisions made more than this before the furthest point of a search are not taken back."""
_APART: Final = 10
_APART_AMONG: Final = 20
"""If so many of so many answers are findings, the reference is in another state than the group."""


def unexplained(course: Course, *, doubted: Collection[int]) -> tuple[list[Misfit], float | None]:
    """Run a course to its end; return the answers that no order explains.

    If no order explains all answers, the one at the furthest point of the search is the finding. It is then
    ignored, and the search goes on from there. It ends early if the reference is in another state than the
    group: all later answers would be findings too. Then the time of the end is returned, in ms.

    Args:
        course: the course.
        doubted: places of answers that say nothing of the group's state.
    """
    found: list[Misfit] = []
    search = Search(course, moves_max=_MOVES_MAX, look_back_ms=_LOOK_BACK_MS)
    while (stuck := search.run()) is not None:
        course.go_to(stuck.path)
        found.append(replace(stuck.misfit, state=course.machine.state(), is_undecided=search.is_given_up))
        course.unheeded.add(stuck.misfit.place)
        if _are_apart([each for each in found if each.place not in doubted], course):
            return found, max(course.machine.now_ms, course.operations[stuck.misfit.place].answered_ms)
        search = Search(course, moves_max=_MOVES_MAX, look_back_ms=_LOOK_BACK_MS)
    return found, None


def _are_apart(found: Sequence[Misfit], course: Course) -> bool:
    if len(found) < _APART:
        return False
    since_ms, until_ms = (course.operations[each.place].answered_ms for each in (found[-_APART], found[-1]))
    answers = (each for each in course.operations if each.is_compared)
    return sum(since_ms <= each.answered_ms <= until_ms for each in answers) <= _APART_AMONG


def finding_of(found: Misfit, operation: Exchange, group_id: str, conversation_id: str) -> ReplayFinding:
    """Return an answer that no order explains as a finding of its group and conversation."""
    where = f"{found.unlike.field}: " if found.unlike.field else ""
    given_up = f" ({GIVEN_UP})" if found.is_undecided else ""
    return ReplayFinding(
        conversation=conversation_id,
        position=operation.position,
        at_ms=operation.answered_ms,
        api=operation.api,
        api_version=operation.api_version,
        actor=operation.actor,
        group=group_id,
        field=found.unlike.field,
        expected=found.unlike.expected,
        actual=found.unlike.actual,
        state=found.state,
        connection=operation.connection,
        says=f"{operation.api} v{operation.api_version} to {operation.actor}: {where}"
        f"{found.unlike.actual}, where the reference says {found.unlike.expected}; "
        f"before it, {found.state}{given_up}",
    )
