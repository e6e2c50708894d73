"""The answers of a recording that no order explains."""

from dataclasses import dataclass
from typing import Final

from harness.orders.compare import Unlike
from harness.orders.course import Course
from harness.orders.interface import ReferenceAnswer
from harness.orders.search import Search

GIVEN_UP: Final = "not all orders were tried"
"""What a finding says where the search was given up."""
_MOVES_MAX: Final = 4_000
"""Moves that lead no further after which an order is looked for no longer."""
_LOOK_BACK_MS: Final = 4_000.0
"""Decisions older than this, counted from where the search does not get on, are not taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """An answer that no order explains."""

    place: int
    """Of the operation in the course."""
    unlike: Unlike
    reported: ReferenceAnswer | None
    """What the reference answers; None where it answers nothing."""
    state: str
    """The groups before it."""
    is_undecided: bool
    """Whether the search was given up before all orders had been tried."""


def unexplained(course: Course) -> list[Unexplained]:
    """Let a course go to its end; return the answers that no order explains.

    Where no order explains an answer, the one that the search got furthest to is the finding. Its answer is
    then passed over, and the search goes on from there.
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
        search = Search(course, moves_max=_MOVES_MAX, look_back_ms=_LOOK_BACK_MS)
    return found
