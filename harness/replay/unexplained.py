"""The answers of a recording that no order explains."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from harness.invariants.exchange import Exchange
from harness.orders.compare import Unlike
from harness.orders.course import Course
from harness.orders.interface import ReferenceAnswer
from harness.orders.search import Search
from harness.results.replay_results import ReplayFinding

GIVEN_UP: Final = "not all orders were tried"
"""What a finding says if the search was given up."""
_MOVES_MAX: Final = 4_000
"""The number of moves without progress after which a search is given up."""
_LOOK_BACK_MS: Final = 4_000.0
"""Decisions made more than this before the furthest point of a search are not taken back."""
_APART: Final = 10
_APART_AMONG: Final = 20
"""If so many of so many answers are findings, the reference is in another state than the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """An answer that no order explains."""

    place: int
    """The operation's place in the course."""
    unlike: Unlike
    reported: ReferenceAnswer | None
    """The reference's answer; None if it gives none."""
    state: str
    """The state of the groups before the answer."""
    is_undecided: bool
    """Whether the search was given up before all orders had been tried."""


def unexplained(course: Course, *, doubted: Collection[int]) -> tuple[list[Unexplained], float | None]:
    """Run a course to its end; return the answers that no order explains.

    If no order explains all answers, the one at the furthest point of the search is the finding. It is then
    ignored, and the search goes on from there. It ends early if the reference is in another state than the
    group: all later answers would be findings too. Then the time of the end is returned, in ms.

    Args:
        course: the course.
        doubted: places of answers that say nothing of the group's state.
    """
    found: list[Unexplained] = []
    search = Search(course, moves_max=_MOVES_MAX, look_back_ms=_LOOK_BACK_MS)
    while (stuck := search.run()) is not None:
        course.go_to(stuck.path)
        found.append(
            Unexplained(
                place=stuck.misfit.place,
                unlike=stuck.misfit.unlike,
                reported=stuck.misfit.reported,
                state=course.machine.state(),
                is_undecided=search.is_given_up,
            )
        )
        course.unheeded.add(stuck.misfit.place)
        if _are_apart([each for each in found if each.place not in doubted], course):
            return found, max(course.machine.now_ms, course.operations[stuck.misfit.place].answered_ms)
        search = Search(course, moves_max=_MOVES_MAX, look_back_ms=_LOOK_BACK_MS)
    return found, None


def _are_apart(found: Sequence[Unexplained], course: Course) -> bool:
    if len(found) < _APART:
        return False
    since_ms, until_ms = (course.operations[each.place].answered_ms for each in (found[-_APART], found[-1]))
    answers = (each for each in course.operations if each.is_compared)
    return sum(since_ms <= each.answered_ms <= until_ms for each in answers) <= _APART_AMONG


def finding_of(found: Unexplained, operation: Exchange, group_id: str, conversation_id: str) -> ReplayFinding:
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
