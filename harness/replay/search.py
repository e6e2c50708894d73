"""A search for an order of operations and inner steps in which the reference gives each recorded answer.

A *course* is one such order, as far as it has come. The algorithm is Wing and Gong's. It goes depth first,
tries the likeliest move first, and remembers dead ends by the operations that took effect and by the state of
the machine.

A request that was answered before another one was sent takes effect first. Requests that overlap take effect
in any order, and deadlines pass within a tolerance of their time. An answer that no order explains is a
finding.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from harness.invariants.exchange import Exchange, Fields
from harness.replay.compare import ReferenceAnswer, Unlike, all_unlike, comparable
from harness.replay.machine import InnerKind, InnerStep, ReplayMachine
from harness.replay.topics import TopicChange
from harness.results.replay_results import ReplayFinding

_KEPT_EVERY: Final = 1_024
"""Moves after which a position is kept; most searches never go back."""
_KEPT_EVERY_GOING_BACK: Final = 8
"""The fewest moves between kept positions once a search has gone back. A copy costs as much as a dozen."""
_KEPT_MAX: Final = 64
"""How many positions are kept; of more, the older ones are thinned out."""


_LATE_MS: Final = 10_000.0
"""How much later than the reference's an answer may come, in addition to the tolerance."""


class Apply(NamedTuple):
    """A request takes effect."""

    place: int
    at_ms: float


class Skip(NamedTuple):
    """A request whose answer never came was never processed."""

    place: int


class Take(NamedTuple):
    """The machine does something by itself."""

    step: InnerStep
    at_ms: float


Move: TypeAlias = Apply | Skip | Take


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """An answer that is not the recorded one."""

    place: int
    unlike: Unlike
    reported: ReferenceAnswer | None = None
    """What the machine answered instead; None where it answered nothing."""
    state: str = ""
    """The state of the groups before the answer, once no order was found that explains it."""
    is_undecided: bool = False
    """Whether the search was given up before all orders had been tried."""


@dataclass(slots=True, kw_only=True)
class Position:
    """A position on the path."""

    machine: ReplayMachine
    wanted: set[int]
    """Places of operations whose recorded answer was not given yet."""
    length: int = 0
    low: int = 0
    """All operations before this place took effect, or never will."""
    beyond: set[int] = field(default_factory=set)
    """Later places whose operations took effect, or never will."""
    waiting: set[int] = field(default_factory=set)
    """Places of operations that took effect and are not answered."""
    over: set[int] = field(default_factory=set)
    """Places of operations that were answered, or never will be."""

    def is_taken(self, place: int) -> bool:
        """Whether an operation took effect, or never will."""
        return place < self.low or place in self.beyond

    def take_place(self, place: int) -> None:
        """Note that an operation took effect, or never will."""
        self.beyond.add(place)
        while self.low in self.beyond:
            self.beyond.discard(self.low)
            self.low += 1

    def end(self, place: int) -> None:
        """Note that an operation is over."""
        self.over.add(place)
        self.waiting.discard(place)
        self.wanted.discard(place)

    def copy(self) -> "Position":
        """Return an independent copy."""
        return replace(
            self,
            machine=self.machine.copy(),
            wanted=set(self.wanted),
            beyond=set(self.beyond),
            waiting=set(self.waiting),
            over=set(self.over),
        )


@dataclass(slots=True, kw_only=True)
class Course:
    """One order of a history's operations and inner steps, as far as it has come."""

    operations: Sequence[Exchange]
    """In the order in which they were sent."""
    until_ms: Sequence[float]
    """The latest time at which each must have taken effect and been answered."""
    tolerance_ms: float
    """How far a deadline may be off."""
    group_id: str
    """The group about which answers are compared."""
    begin: Callable[[], ReplayMachine]
    unheeded: set[int] = field(default_factory=set)
    """Places of operations whose answers are ignored."""
    path: list[Move] = field(default_factory=list)
    position: Position = field(init=False)
    _kept: list[Position] = field(default_factory=list)
    """Positions on the path to which the course can return."""
    _places: dict[int, int] = field(default_factory=dict)
    """Places by the index of the operation."""
    _recorded: dict[int, Fields] = field(default_factory=dict)
    _latest_ms: list[float] = field(init=False)
    """The latest time at which each operation must have taken effect."""
    _behind: list[int | None] = field(init=False)
    """The place of the request that the broker must have finished before each; None if there is none."""

    def __post_init__(self) -> None:
        self._places = {each.index: place for place, each in enumerate(self.operations)}
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
        self.position = self._beginning()

    @property
    def machine(self) -> ReplayMachine:
        """The machine at the current position."""
        return self.position.machine

    def missed(self) -> list[int]:
        """Return the places of recorded answers that were not given yet."""
        return sorted(self.position.wanted - self.unheeded)

    def go_to(self, path: Sequence[Move]) -> None:
        """Change to another path: return to the last kept position on both, and make the other moves.

        A search that goes back will soon go back a little further. So a position is kept after half of the
        way, another after half of the rest, and so on.
        """
        while self._kept and not self._is_on(path, self._kept[-1]):
            self._kept.pop()
        self.position = self._kept[-1].copy() if self._kept else self._beginning()
        for move in path[self.position.length :]:
            self._count(move, self._do(move))
            self._keep(max(len(path) - self.position.length, _KEPT_EVERY_GOING_BACK))
        self.path = list(path)

    def take(self, move: Move) -> Misfit | None:
        """Make a move; return the first misfit, in which case the caller must take the move back."""
        reported = self._do(move)
        self._count(move, reported)
        self.path.append(move)
        for each in reported:
            misfit = self._misfit(each)
            if misfit is not None:
                return misfit
        self._keep(_KEPT_EVERY)
        return None

    def next_moves(self) -> tuple[Move, ...]:
        """Return the possible next moves, the likeliest first."""
        operations = self.operations
        ready, horizon = self._ready()
        steps = self.machine.inner_steps(horizon + self.tolerance_ms)
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
        timed.sort(key=itemgetter(0))
        skipped = [Skip(each) for each in ready if operations[each].answer is None]
        inner = [Take(each, self.machine.now_ms) for each in steps if each.kind in _AT_ANY_TIME]
        # A reply may take as long as it likes. So it comes where an answer shows it.
        replies = (each for each in steps if each.kind is InnerKind.REPLY and each.due_ms <= horizon)
        late = [Take(each, each.due_ms) for each in replies]
        return (*inner, *(move for _, move in timed), *skipped, *late)

    def _ready(self) -> tuple[list[int], float]:
        """Return which operations may take effect next, and until when the first of them has to."""
        here, ready = self.position, list[int]()
        horizon = min((self.until_ms[each] for each in here.waiting - self.unheeded), default=inf)
        for place in range(here.low, len(self.operations)):
            if self.operations[place].asked_ms > horizon:
                break
            if place not in here.beyond:
                horizon = min(horizon, self._latest_ms[place])
                behind = self._behind[place]
                if behind is None or behind in self.unheeded or behind in here.over:
                    ready.append(place)
        return ready, horizon

    def digest(self) -> str:
        """Return a text that differs for positions from which the search would go on differently."""
        here = self.position
        return f"{here.low} {sorted(here.beyond)} {sorted(here.waiting)} {here.machine.digest()}"

    def _is_on(self, path: Sequence[Move], kept: Position) -> bool:
        """Return whether another path goes through a position on this one.

        Each position has moves of its own, so paths with the same move have the same moves before it.
        """
        return kept.length <= len(path) and path[kept.length - 1] is self.path[kept.length - 1]

    def _keep(self, every: int) -> None:
        last = self._kept[-1].length if self._kept else 0
        if self.position.length - last >= every:
            self._kept.append(self.position.copy())
        if len(self._kept) > _KEPT_MAX:
            del self._kept[: _KEPT_MAX // 2 : 2]

    def _beginning(self) -> Position:
        wanted = {place for place, each in enumerate(self.operations) if each.is_compared}
        return Position(machine=self.begin(), wanted=wanted)

    def _do(self, move: Move) -> tuple[ReferenceAnswer, ...]:
        reported: tuple[ReferenceAnswer, ...]
        match move:
            case Apply(place, at_ms):
                reported = self.machine.apply(self.operations[place], at_ms)
            case Take(step, at_ms):
                reported = self.machine.take(step, at_ms)
            case Skip():
                reported = ()
        # A machine taken over from another course may still answer a request of that course.
        return tuple(each for each in reported if each.operation in self._places)

    def _count(self, move: Move, reported: Sequence[ReferenceAnswer]) -> None:
        here = self.position
        here.length += 1
        match move:
            case Apply(place):
                here.take_place(place)
                here.waiting.add(place)
                if isinstance(self.operations[place], TopicChange):
                    here.end(place)
            case Skip(place):
                here.take_place(place)
                here.end(place)
            case Take():
                pass
        for each in reported:
            here.end(self._places[each.operation])

    def _misfit(self, reported: ReferenceAnswer) -> Misfit | None:
        place = self._places[reported.operation]
        operation = self.operations[place]
        if place in self.unheeded or isinstance(operation, TopicChange):
            return None
        if reported.is_as_recorded:
            return self._late(reported, None)
        if operation.answer is None or not operation.is_compared:
            return None
        recorded = self._recorded.get(place)
        if recorded is None:
            recorded = comparable(operation.api, operation.answer, self.group_id)
            self._recorded[place] = recorded
        return self._late(reported, next(all_unlike(reported, recorded), None))

    def _late(self, reported: ReferenceAnswer, found: Unlike | None) -> Misfit | None:
        """Return the difference, if any, or else a misfit if the recorded answer came too late."""
        place = self._places[reported.operation]
        late_ms = self.operations[place].answered_ms - self.machine.now_ms
        if found is None and late_ms > _LATE_MS + self.tolerance_ms:
            found = Unlike(field="", expected="an answer", actual=f"no answer for another {late_ms:.0f} ms")
        return None if found is None else Misfit(place=place, unlike=found, reported=reported)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """The furthest point of a search in which no order leads to the end."""

    path: tuple[Move, ...]
    over: int
    misfit: Misfit
    now_ms: float


@dataclass(slots=True, kw_only=True)
class _Node:
    moves: tuple[Move, ...]
    decided_ms: float
    """When the first of these moves would be made."""
    digest: str | None
    tried: int = 0


class Search:
    """A search from the current position of a course, which takes back no earlier move."""

    def __init__(self, course: Course) -> None:
        """Begin at the position of a course, which the search leaves at its last position."""
        self._course = course
        self._floor = len(course.path)
        self._moves_left = _MOVES_MAX
        self._most_over = len(course.position.over)
        self._furthest: Stuck | None = None
        self._failed: set[str] = set()
        self._reached = len(course.path)
        """The most moves so far. Digests are computed only for positions that are not new ground."""
        self._nodes: list[_Node] = []
        self._is_done = False
        """Whether the last move led to the end."""

    def run(self) -> Stuck | None:
        """Search to the end; return None, or the furthest point if the end cannot be reached."""
        self._enter()
        while not self._is_done:
            node = self._nodes[-1]
            if node.tried == len(node.moves):
                if not self._leave(node):
                    break
                continue
            move = node.moves[node.tried]
            node.tried += 1
            self._moves_left -= 1
            misfit = self._course.take(move)
            if misfit is None:
                self._enter()
                continue
            self._note(misfit, path=tuple(self._course.path[:-1]))
            self._turn_back()
            if self.is_given_up:
                break
        else:
            return None
        assert self._furthest is not None, "a search gets on or is stuck somewhere"
        return self._furthest

    @property
    def is_given_up(self) -> bool:
        """Whether it ended before all orders had been tried."""
        return self._moves_left <= 0

    def _enter(self) -> None:
        course = self._course
        self._is_done = course.position.wanted <= course.unheeded
        if (over := len(course.position.over)) > self._most_over:
            self._most_over, self._moves_left = over, _MOVES_MAX
        length = len(course.path)
        digest = course.digest() if length <= self._reached else None
        self._reached = max(length, self._reached)
        is_known = digest is not None and digest in self._failed
        moves = () if is_known or self._is_done else course.next_moves()
        if not moves and not is_known and not self._is_done:
            # The next recorded answer is one that the machine does not give yet.
            place = min(course.missed(), key=lambda each: course.operations[each].answered_ms)
            early = Unlike(field="", expected="no answer yet", actual="an answer")
            self._note(Misfit(place=place, unlike=early), path=tuple(course.path))
        decided_ms = float(course.machine.now_ms)
        if moves and not isinstance(moves[0], Skip):
            decided_ms = max(decided_ms, moves[0].at_ms)
        self._nodes.append(_Node(moves=moves, decided_ms=decided_ms, digest=digest))

    def _leave(self, node: _Node) -> bool:
        """Turn back from a node whose moves were all tried; return whether there is a node to turn to."""
        if node.digest is not None:
            self._failed.add(node.digest)
        self._nodes.pop()
        if not self._nodes or self.is_given_up or self._furthest is None:
            return False
        if self._nodes[-1].decided_ms < self._furthest.now_ms - _LOOK_BACK_MS:
            return False
        self._turn_back()
        return True

    def _turn_back(self) -> None:
        node = self._nodes[-1]
        if node.tried < len(node.moves):
            self._course.go_to(self._course.path[: self._floor + len(self._nodes) - 1])

    def _note(self, misfit: Misfit, *, path: tuple[Move, ...]) -> None:
        over = len(self._course.position.over)
        if self._furthest is None or over > self._furthest.over:
            now_ms = self._course.machine.now_ms
            self._furthest = Stuck(path=path, over=over, misfit=misfit, now_ms=now_ms)


_AFTER_REQUESTS_MS: Final = 1.0
"""A timer takes a tick, so of a request and a deadline at the same time the request is tried first."""
_AT_ANY_TIME: Final = (InnerKind.WRITE, InnerKind.REMOVAL)


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
    group: all later answers would be findings too. Then the time of the end is returned, in ms. Doubted
    places are those of answers that say nothing of the group's state.
    """
    found: list[Misfit] = []
    search = Search(course)
    while (stuck := search.run()) is not None:
        course.go_to(stuck.path)
        found.append(replace(stuck.misfit, state=course.machine.state(), is_undecided=search.is_given_up))
        course.unheeded.add(stuck.misfit.place)
        if _are_apart([each for each in found if each.place not in doubted], course):
            return found, max(course.machine.now_ms, course.operations[stuck.misfit.place].answered_ms)
        search = Search(course)
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
