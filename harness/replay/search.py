"""An order of a group's operations and deadlines in which the reference gives every recorded answer.

What was answered before something else was sent comes before it; requests that overlap come in any order,
and deadlines pass within a tolerance of their time. The search goes in depth and tries the order of arrival
first. Where no order explains an answer, the one that the search got furthest to is the finding; its answer
is then passed over, and the search goes on from there.
"""

from dataclasses import dataclass
from typing import Final

from harness.replay.compare import Unlike
from harness.replay.course import Course, Misfit, Move

_STEPS_MAX: Final = 4_000
"""Steps for one finding, after which an order is looked for no longer."""
_LOOK_BACK_MS: Final = 4_000.0
"""Decisions older than this, counted from where the search does not get on, are not taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """An answer that no order explains."""

    place: int
    """Of the operation in the course."""
    unlike: Unlike
    state: str
    """The group before it."""
    is_undecided: bool
    """Whether the search was given up before all orders had been tried."""


@dataclass(slots=True, kw_only=True)
class _Node:
    """A place in the search: what may come next, and how much of that was tried."""

    steps: tuple[Move, ...]
    now_ms: float
    digest: str | None
    tried: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stuck:
    """Where the search did not get on."""

    path: tuple[Move, ...]
    over: int
    misfit: Misfit
    now_ms: float


def unexplained(course: Course) -> tuple[Unexplained, ...]:
    """Let a course go to its end; return the answers that no order explains."""
    found: list[Unexplained] = []
    while (stuck := _Search(course).run()) is not None:
        at, is_undecided = stuck
        course.go_to(at.path)
        found.append(
            Unexplained(
                place=at.misfit.place,
                unlike=at.misfit.unlike,
                state=course.machine.state(),
                is_undecided=is_undecided,
            )
        )
        course.unheeded.add(at.misfit.place)
    return tuple(found)


class _Search:
    """A search from where a course stands, which takes back nothing that came before."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._floor = len(course.path)
        self._steps_left = _STEPS_MAX
        self._furthest: _Stuck | None = None
        self._failed: set[str] = set()
        self._has_turned_back = False
        self._nodes: list[_Node] = []
        self._is_done = False
        """Whether the last step led to the end."""

    def run(self) -> tuple[_Stuck, bool] | None:
        """Go to the end; return where it cannot be got to, and whether the search was given up."""
        self._enter()
        while not self._is_done:
            node = self._nodes[-1]
            if node.tried == len(node.steps):
                if not self._leave(node):
                    break
                continue
            step = node.steps[node.tried]
            node.tried += 1
            self._steps_left -= 1
            misfit = self._course.take(step)
            if misfit is None:
                self._enter()
                continue
            self._note(misfit, path=tuple(self._course.path[:-1]))
            self._turn_back()
            if self._steps_left <= 0:
                break
        else:
            return None
        assert self._furthest is not None, "a search gets on or is stuck somewhere"
        return self._furthest, self._steps_left <= 0

    def _enter(self) -> None:
        self._is_done = self._course.is_done
        digest = self._course.digest() if self._has_turned_back else None
        is_known = digest is not None and digest in self._failed
        steps = () if is_known else self._course.steps()
        if not steps and not is_known and not self._is_done:
            blocked = self._course.blocked()
            assert blocked is not None, "something is left to be answered"
            self._note(blocked, path=tuple(self._course.path))
        self._nodes.append(_Node(steps=steps, now_ms=self._course.machine.now_ms, digest=digest))

    def _leave(self, node: _Node) -> bool:
        """Turn back from where all was tried; tell whether there is anywhere to turn to."""
        if node.digest is not None:
            self._failed.add(node.digest)
        self._nodes.pop()
        if not self._nodes or self._steps_left <= 0 or self._furthest is None:
            return False
        if self._nodes[-1].now_ms < self._furthest.now_ms - _LOOK_BACK_MS:
            return False
        self._turn_back()
        return True

    def _turn_back(self) -> None:
        self._has_turned_back = True
        node = self._nodes[-1]
        if node.tried < len(node.steps):
            self._course.go_to(self._course.path[: self._floor + len(self._nodes) - 1])

    def _note(self, misfit: Misfit, *, path: tuple[Move, ...]) -> None:
        over = self._course.over_count
        if self._furthest is None or over > self._furthest.over:
            self._furthest = _Stuck(
                path=path,
                over=over,
                misfit=misfit,
                now_ms=self._course.machine.now_ms,
            )
