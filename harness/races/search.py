"""Whether some order of a round's operations explains every answer.

An operation may take place from its invocation until its answer is there, and no earlier than whatever was
answered before it was invoked. Inner steps may come between any two.

Where reads may be stale, a read need not come after a write that had only been *refused*, or whose answer did
not wait for the log: a read answers from what is committed, and these answers do not wait for that.

Source: CoordinatorRuntime.CoordinatorWriteEvent#run and CoordinatorReadEvent#run (4.3.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final

from harness.apis.descriptor import Access
from harness.orders.course import Apply, Course, Move, Take
from harness.orders.history import Operation
from harness.orders.search import Search
from harness.races.history import GROUP, History
from harness.races.specification import MachineFactory

MOVES_MAX: Final = 200_000
"""Moves that lead no further after which a search is given up."""


class SearchOutcome(StrEnum):
    """What a search came to, best first."""

    EXPLAINED = "explained"
    STALE_READ = "explained by a stale read"
    UNANSWERED = "an answer did not come"
    """Explained, if an answer was only late or lost for which nobody waited any longer."""
    UNDECIDED = "undecided"
    """The search was given up."""
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a search came to, with the order that explains a history if there is one."""

    finding: SearchOutcome
    order: tuple[Move, ...] = ()
    """Its places are those of the history's operations."""


def explain(
    history: History,
    specification: MachineFactory,
    *,
    unheeded: frozenset[int] = frozenset(),
    moves_max: int = MOVES_MAX,
) -> Explanation:
    """Look for an order that explains a history, at first one without stale reads or lost answers.

    Args:
        history: what happened.
        specification: what may happen.
        unheeded: operations whatever answer of which is right.
        moves_max: when to give up.
    """
    given_up = False
    for finding in _ways(history, specification):
        lost = _unanswered(history) if finding is SearchOutcome.UNANSWERED else frozenset[int]()
        stale_reads = specification.reads_may_be_stale and finding is not SearchOutcome.EXPLAINED
        course = _course(history, specification, unheeded | lost, stale_reads=stale_reads)
        search = Search(course, moves_max=moves_max)
        if search.run() is None:
            return Explanation(finding=finding, order=tuple(_in_history(course)))
        given_up = given_up or search.is_given_up
    return Explanation(finding=SearchOutcome.UNDECIDED if given_up else SearchOutcome.UNEXPLAINED)


def _course(
    history: History, specification: MachineFactory, unheeded: frozenset[int], *, stale_reads: bool
) -> Course:
    # Whatever they were answered, reads whose answer nobody heeds might as well not have been.
    operations = [each for each in history.operations if not (each.index in unheeded and is_read(each))]
    return Course(
        operations=operations,
        groups=frozenset((GROUP,)),
        begin=lambda: specification.begin(history.operations),
        next_moves=Precedence(_before(operations, stale_reads=stale_reads)).next_moves,
        any_answer=frozenset(place for place, each in enumerate(operations) if each.index in unheeded),
        is_silence_heard=True,
    )


def _in_history(course: Course) -> Iterator[Move]:
    for move in course.path:
        yield Apply(course.operations[move.place].index, move.at_ms) if isinstance(move, Apply) else move


def _ways(history: History, specification: MachineFactory) -> Iterator[SearchOutcome]:
    """Return what to look for, strictest first."""
    yield SearchOutcome.EXPLAINED
    if specification.reads_may_be_stale:
        yield SearchOutcome.STALE_READ
    if _unanswered(history):
        yield SearchOutcome.UNANSWERED


def _unanswered(history: History) -> frozenset[int]:
    return frozenset(each.index for each in history.operations if each.answer is None)


def is_read(operation: Operation) -> bool:
    """Whether an operation changes nothing."""
    return operation.descriptor.access is Access.READS


def _before(operations: Sequence[Operation], *, stale_reads: bool) -> tuple[frozenset[int], ...]:
    """Return for each operation the places of others that must be over before it takes place."""
    return tuple(
        frozenset(
            place
            for place, earlier in enumerate(operations)
            if earlier.precedes(later)
            and not (stale_reads and is_read(later) and _is_answered_early(earlier))
        )
        for later in operations
    )


def _is_answered_early(operation: Operation) -> bool:
    """Whether an answer was given without waiting for what is written before it.

    A refusal is thrown at once, and a JoinGroup is answered by whoever completes the rebalance.
    """
    return operation.api == "JoinGroup" or not _is_good(operation.answer)


def _is_good(answer: object) -> bool:
    if isinstance(answer, Mapping):
        if answer.get("error_code", "NONE") != "NONE":
            return False
        return all(_is_good(item) for item in answer.values())
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        return all(_is_good(item) for item in answer)
    return True


@dataclass(frozen=True, slots=True)
class Precedence:
    """What may come next where nothing is known but what was over before what began."""

    before: tuple[frozenset[int], ...]
    """By place, what must be over."""

    def next_moves(self, course: Course) -> tuple[Move, ...]:
        """Return inner steps, and then the operations that are free, the likeliest first."""
        here, now_ms = course.position, course.machine.now_ms
        inner = (Take(each, now_ms) for each in course.machine.inner_steps())
        ready = [
            place
            for place in range(here.low, len(course.operations))
            if not here.is_taken(place) and self.before[place] <= here.over
        ]
        ready.sort(key=lambda place: _likelihood(course.operations[place]))
        return (*inner, *(Apply(place, now_ms) for place in ready))


def _likelihood(operation: Operation) -> tuple[bool, float]:
    """Sort what was answered first to the front, and what was not answered at all to the end."""
    is_open = operation.answered_ms == inf
    return is_open, operation.asked_ms if is_open else operation.answered_ms
