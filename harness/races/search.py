"""Whether some order of a round's operations explains every answer: Wing and Gong's search.

An operation may take place from its invocation until its answer is there, and no earlier than whatever was
answered before it was invoked. The search lets one operation after the other take place on the specification,
with inner steps between them, and turns back as soon as an answer is not the one that came.

Where reads may be stale, a read need not come after a write that had only been *refused*, or whose answer did
not wait for the log: a read answers from what is committed, and these answers do not wait for that.

Source: CoordinatorRuntime.CoordinatorWriteEvent#run and CoordinatorReadEvent#run (4.3.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from harness.apis.descriptor import Access
from harness.apis.table import descriptor
from harness.races.history import History, Operation
from harness.races.machine import InnerStep, Machine, MachineFactory, ReferenceAnswer
from harness.trace.canonical import canonical_json

STEPS_MAX: Final = 200_000
"""Steps of the specification after which a search is given up."""


class SearchOutcome(StrEnum):
    """What a search came to, best first."""

    EXPLAINED = "explained"
    STALE_READ = "explained by a stale read"
    UNANSWERED = "an answer did not come"
    """Explained, if an answer was only late or lost for which nobody waited any longer."""
    UNDECIDED = "undecided"
    """The search was given up."""
    UNEXPLAINED = "unexplained"


Move = int | InnerStep
"""An operation, by its index, that takes place; or an inner step."""


_SearchNode = tuple[frozenset[int], frozenset[int], str]
"""What took place, what was over, and the specification's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a search came to, with the order that explains a history if there is one."""

    finding: SearchOutcome
    order: tuple[Move, ...] = ()


def explain(
    history: History,
    specification: MachineFactory,
    *,
    unheeded: frozenset[int] = frozenset(),
    steps_max: int = STEPS_MAX,
) -> Explanation:
    """Look for an order that explains a history, at first one without stale reads or lost answers.

    Args:
        history: what happened.
        specification: what may happen.
        unheeded: operations whatever answer of which is right.
        steps_max: when to give up.
    """
    given_up = False
    may_be_stale = specification.reads_may_be_stale
    for finding in _ways(history, specification):
        search = _Search(
            history=history,
            specification=specification,
            before=_before(
                history.operations, stale_reads=may_be_stale and finding is not SearchOutcome.EXPLAINED
            ),
            unheeded=unheeded | _unanswered(history) if finding is SearchOutcome.UNANSWERED else unheeded,
            steps_left=steps_max,
        )
        order = search.order()
        if order is not None:
            return Explanation(finding=finding, order=order)
        given_up = given_up or search.steps_left <= 0
    return Explanation(finding=SearchOutcome.UNDECIDED if given_up else SearchOutcome.UNEXPLAINED)


def _ways(history: History, specification: MachineFactory) -> Iterator[SearchOutcome]:
    """Return what to look for, strictest first."""
    yield SearchOutcome.EXPLAINED
    if specification.reads_may_be_stale:
        yield SearchOutcome.STALE_READ
    if _unanswered(history):
        yield SearchOutcome.UNANSWERED


def _unanswered(history: History) -> frozenset[int]:
    return frozenset(index for index, each in enumerate(history.operations) if each.answer is None)


def is_read(operation: Operation) -> bool:
    """Whether an operation changes nothing."""
    return descriptor(operation.api).access is Access.READS


def _before(operations: Sequence[Operation], *, stale_reads: bool) -> tuple[frozenset[int], ...]:
    """Return for each operation which others must be over before it takes place."""
    return tuple(
        frozenset(
            index
            for index, earlier in enumerate(operations)
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


@dataclass(slots=True, kw_only=True)
class _Search:
    """A search in depth, which tells the specification everything anew when it has turned back."""

    history: History
    specification: MachineFactory
    before: tuple[frozenset[int], ...]
    unheeded: frozenset[int]
    steps_left: int
    _answers: tuple[str | None, ...] = field(default=(), init=False)
    _failed: set[_SearchNode] = field(default_factory=set, init=False)
    """Where it has been in vain."""
    _has_turned_back: bool = field(default=False, init=False)
    """Until then nothing is known of states, and most searches never do."""
    _machine: Machine | None = field(default=None, init=False)
    """None while it has yet to be brought to where the search stands."""

    def order(self) -> tuple[Move, ...] | None:
        """Return an order that explains all answers, or None."""
        self._answers = tuple(
            None if each.answer is None else canonical_json(each.answer) for each in self.history.operations
        )
        # Whatever they were answered, reads whose answer nobody heeds might as well not have been.
        idle = frozenset(each for each in self.unheeded if is_read(self.history.operations[each]))
        return self._descend((), idle, idle)

    def _descend(
        self, path: tuple[Move, ...], applied: frozenset[int], over: frozenset[int]
    ) -> tuple[Move, ...] | None:
        if self._is_explained(over):
            return path
        steps = tuple(self._next_steps(path, applied, over))
        here = self._known_by(path, applied, over) if len(steps) > 1 else None
        if here is not None and here in self._failed:
            return None
        for step in steps:
            if self.steps_left <= 0:
                return None
            reported = self._take(path, step)
            if all(self._fits(each) for each in reported):
                further = applied if isinstance(step, InnerStep) else applied | {step}
                now_over = over | {each.operation for each in reported} | (further & self.unheeded)
                found = self._descend((*path, step), further, now_over)
                if found is not None:
                    return found
            self._machine = None
            self._has_turned_back = True
        if here is not None:
            self._failed.add(here)
        return None

    def _is_explained(self, over: frozenset[int]) -> bool:
        """Whether every answer that came has been given."""
        return all(index in over for index, answer in enumerate(self._answers) if answer is not None)

    def _known_by(
        self, path: tuple[Move, ...], applied: frozenset[int], over: frozenset[int]
    ) -> _SearchNode | None:
        """Return by what it is known again that the search has been here; None as long as it never failed."""
        return (applied, over, self._machine_at(path).digest()) if self._has_turned_back else None

    def _next_steps(
        self, path: tuple[Move, ...], applied: frozenset[int], over: frozenset[int]
    ) -> Iterator[Move]:
        yield from self._machine_at(path).inner_steps()
        ready = [
            index
            for index in range(len(self._answers))
            if index not in applied and self.before[index] <= over
        ]
        yield from sorted(ready, key=self._likelihood)

    def _likelihood(self, index: int) -> tuple[bool, int]:
        """Sort what was answered first to the front, and what was not answered at all to the end."""
        operation = self.history.operations[index]
        is_open = operation.answered_us is None
        return is_open, operation.invoked_us if operation.answered_us is None else operation.answered_us

    def _take(self, path: tuple[Move, ...], step: Move) -> tuple[ReferenceAnswer, ...]:
        machine = self._machine_at(path)
        self.steps_left -= 1
        return self._step(machine, step)

    def _machine_at(self, path: tuple[Move, ...]) -> Machine:
        if self._machine is None:
            self._machine = self.specification.begin(self.history)
            for step in path:
                self._step(self._machine, step)
            self.steps_left -= len(path)
        return self._machine

    def _step(self, machine: Machine, step: Move) -> tuple[ReferenceAnswer, ...]:
        if isinstance(step, InnerStep):
            return machine.take(step)
        operation = self.history.operations[step]
        return machine.apply(step, operation.actor, operation.api, operation.api_version, operation.request)

    def _fits(self, reported: ReferenceAnswer) -> bool:
        """Whether an answer is the one that came."""
        if reported.operation in self.unheeded:
            return True
        expected = self._answers[reported.operation]
        if expected is None or expected == canonical_json(reported.answer):
            return expected is not None
        return bool(reported.permitted) and self._is_permitted(reported)

    def _is_permitted(self, reported: ReferenceAnswer) -> bool:
        came = self.history.operations[reported.operation].answer
        assert came is not None
        return came.keys() == reported.answer.keys() and all(
            canonical_json(value)
            in (canonical_json(reported.answer[name]), *reported.permitted.get(name, ()))
            for name, value in came.items()
        )
