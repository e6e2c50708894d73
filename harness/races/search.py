"""The search for an order of a round's operations that explains every answer.

An operation may take effect between its invocation and its answer, and only after all operations that were
answered before its invocation. Inner steps may come between any two operations.

Where reads may be stale, a read need not come after a write that was only *refused*, or whose answer did not
wait for the log. A read returns committed state, and these answers do not wait for a commit.

Source: CoordinatorRuntime.CoordinatorWriteEvent#run and CoordinatorReadEvent#run (4.3.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final

from harness.apis.descriptor import Access
from harness.invariants.exchange import Exchange
from harness.orders.course import Apply, Course, Move, Take
from harness.orders.search import Search
from harness.races.history import GROUP, History
from harness.races.specification import MachineFactory

MOVES_MAX: Final = 200_000
"""The number of moves without progress after which a search is given up."""


class SearchOutcome(StrEnum):
    """The results of a search, best first."""

    EXPLAINED = "explained"
    STALE_READ = "explained by a stale read"
    UNANSWERED = "an answer did not come"
    """Explained, on the assumption that a missing answer was only late or lost."""
    UNDECIDED = "undecided"
    """The search was given up."""
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The result of a search, with the order that explains a history if there is one."""

    finding: SearchOutcome
    order: tuple[Move, ...] = ()
    """Its places are indices of the history's operations."""


def explain(
    history: History,
    specification: MachineFactory,
    *,
    unheeded: frozenset[int] = frozenset(),
    moves_max: int = MOVES_MAX,
) -> Explanation:
    """Look for an order that explains a history, at first one without stale reads and lost answers.

    Args:
        history: the history to explain.
        specification: the specification of what may happen.
        unheeded: operations for which every answer is right.
        moves_max: the number of moves without progress after which to give up.
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
    # A read whose answer is ignored has no influence, so it is left out.
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
    """Yield the outcomes to look for, strictest first."""
    yield SearchOutcome.EXPLAINED
    if specification.reads_may_be_stale:
        yield SearchOutcome.STALE_READ
    if _unanswered(history):
        yield SearchOutcome.UNANSWERED


def _unanswered(history: History) -> frozenset[int]:
    return frozenset(each.index for each in history.operations if each.answer is None)


def is_read(operation: Exchange) -> bool:
    """Return whether an operation changes nothing."""
    return operation.descriptor.access is Access.READS


def _before(operations: Sequence[Exchange], *, stale_reads: bool) -> tuple[frozenset[int], ...]:
    """Return for each operation the places of others that must be over before it takes effect."""
    return tuple(
        frozenset(
            place
            for place, earlier in enumerate(operations)
            if earlier.precedes(later)
            and not (stale_reads and is_read(later) and _is_answered_early(earlier))
        )
        for later in operations
    )


def _is_answered_early(operation: Exchange) -> bool:
    """Return whether an answer was given without waiting for earlier writes.

    A refusal is thrown at once, and a JoinGroup is answered by the request that completes the rebalance.
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
    """The possible next moves if only the precedence of operations is known, not their times."""

    before: tuple[frozenset[int], ...]
    """By place, the operations that must be over before."""

    def next_moves(self, course: Course) -> tuple[Move, ...]:
        """Return inner steps, and then the operations that are ready, the likeliest first."""
        here, now_ms = course.position, course.machine.now_ms
        inner = (Take(each, now_ms) for each in course.machine.inner_steps())
        ready = [
            place
            for place in range(here.low, len(course.operations))
            if not here.is_taken(place) and self.before[place] <= here.over
        ]
        ready.sort(key=lambda place: _likelihood(course.operations[place]))
        return (*inner, *(Apply(place, now_ms) for place in ready))


def _likelihood(operation: Exchange) -> tuple[bool, float]:
    """Return a sort key: operations in the order of their answers, then unanswered ones."""
    is_open = operation.answered_ms == inf
    return is_open, operation.asked_ms if is_open else operation.answered_ms
