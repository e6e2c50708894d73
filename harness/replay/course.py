"""Where a search stands: what took effect, what waits, what may come next."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf
from typing import Final, TypeAlias

from harness.replay.compare import Unlike, comparable, unlike
from harness.replay.history import Operation, of_groups
from harness.replay.machine import DeadlineKey, ReferenceAnswer, ReplayMachine

_LATE_MS: Final = 10_000.0
"""By how much more than the tolerance an answer may come later than the reference's."""
_KEPT_EVERY: Final = 128
"""Steps after which a place is kept, so that going back takes few steps."""
_AFTER_REQUESTS_MS: Final = 1.0
"""A timer takes a tick: of a request and a deadline at the same time, the request is tried first."""


@dataclass(frozen=True, slots=True)
class Apply:
    """A request takes effect."""

    place: int
    at_ms: float


@dataclass(frozen=True, slots=True)
class Skip:
    """A request whose answer never came was never looked at."""

    place: int


@dataclass(frozen=True, slots=True)
class Pass:
    """A deadline passes."""

    key: DeadlineKey
    at_ms: float


Move: TypeAlias = Apply | Skip | Pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """An answer that is not the recorded one."""

    place: int
    unlike: Unlike


@dataclass(slots=True, kw_only=True)
class _Here:
    """A place on the path."""

    machine: ReplayMachine
    wanted: set[int]
    """Places of operations whose recorded answer was not given yet."""
    length: int = 0
    low: int = 0
    """All before this place took effect."""
    beyond: set[int] = field(default_factory=set)
    """What else took effect."""
    waiting: set[int] = field(default_factory=set)
    """What took effect and is not answered."""
    over: set[int] = field(default_factory=set)
    """What was answered, or never will be."""

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

    def copy(self) -> "_Here":
        """Return one that goes on by itself."""
        return _Here(
            machine=self.machine.copy(),
            wanted=set(self.wanted),
            length=self.length,
            low=self.low,
            beyond=set(self.beyond),
            waiting=set(self.waiting),
            over=set(self.over),
        )


@dataclass(slots=True, kw_only=True)
class Course:
    """One order of a group's operations and deadlines, as far as it has come."""

    operations: Sequence[Operation]
    """In the order in which they were sent."""
    until_ms: Sequence[float]
    """When each must have taken effect, and been answered, at the latest."""
    groups: frozenset[str]
    begin: Callable[[], ReplayMachine]
    tolerance_ms: float
    unheeded: set[int] = field(default_factory=set)
    """Places of operations whose answer is passed over."""
    path: list[Move] = field(default_factory=list)
    _here: "_Here" = field(init=False)
    _kept: "list[_Here]" = field(default_factory=list)
    """Places on the path that can be gone back to."""
    _places: dict[int | None, int] = field(default_factory=dict)
    """By the index of the operation."""
    _recorded: dict[int, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {each.index: place for place, each in enumerate(self.operations)}
        self._here = self._beginning()

    @property
    def machine(self) -> ReplayMachine:
        """The reference where the path has led it."""
        return self._here.machine

    @property
    def over_count(self) -> int:
        """How much was answered, or never will be."""
        return len(self._here.over)

    @property
    def is_done(self) -> bool:
        """Whether every recorded answer was given."""
        return self._here.wanted <= self.unheeded

    def go_to(self, path: Sequence[Move]) -> None:
        """Take back the steps in which a path differs from that one, and take its own."""
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.path, path, strict=False)))
        while self._kept and self._kept[-1].length > same:
            self._kept.pop()
        self._here = self._kept[-1].copy() if self._kept else self._beginning()
        for step in path[self._here.length :]:
            self._count(step, self._do(step))
        self.path = list(path)

    def take(self, step: Move) -> Misfit | None:
        """Go on by a step; return what does not fit, in which case the step is to be taken back."""
        reported = self._do(step)
        self._count(step, reported)
        self.path.append(step)
        for each in reported:
            misfit = self._misfit(each)
            if misfit is not None:
                return misfit
        last = self._kept[-1].length if self._kept else 0
        if self._here.length - last >= _KEPT_EVERY:
            self._kept.append(self._here.copy())
        return None

    def blocked(self) -> Misfit | None:
        """Return the next recorded answer, which the reference would not give yet; None if there is none."""
        missing = self._here.wanted - self.unheeded
        if not missing:
            return None
        place = min(missing, key=lambda each: self.until_ms[each])
        return Misfit(place=place, unlike=Unlike(field="", expected="no answer yet", actual="an answer"))

    def digest(self) -> str:
        """Return a text that differs where the search would go on differently."""
        here = self._here
        return f"{here.low} {sorted(here.beyond)} {sorted(here.waiting)} {here.machine.digest()}"

    def steps(self) -> tuple[Move, ...]:
        """Return what may come next, the likeliest first."""
        here = self._here
        horizon = min((self.until_ms[each] for each in here.waiting - self.unheeded), default=inf)
        ready: list[int] = []
        for place in range(here.low, len(self.operations)):
            if self.operations[place].asked_ms > horizon:
                break
            if place not in here.beyond:
                horizon = min(horizon, self._latest_ms(place))
                if self._is_free(place):
                    ready.append(place)
        deadlines = self.machine.deadlines()
        overdue_ms = min((at_ms for at_ms, _ in deadlines), default=inf) + self.tolerance_ms
        ready = [each for each in ready if self.operations[each].asked_ms <= min(horizon, overdue_ms)]
        timed: list[tuple[float, Move]] = [
            (self.operations[each].free_ms, Apply(each, min(self.operations[each].free_ms, horizon)))
            for each in ready
        ]
        timed += [
            (at_ms + _AFTER_REQUESTS_MS, Pass(key, min(at_ms, horizon)))
            for at_ms, key in deadlines
            if at_ms - self.tolerance_ms <= horizon
        ]
        timed.sort(key=lambda each: each[0])
        skipped = [Skip(each) for each in ready if self.operations[each].answer is None]
        return (*(step for _, step in timed), *skipped)

    def _latest_ms(self, place: int) -> float:
        """Return when an operation must have taken effect."""
        operation = self.operations[place]
        if not operation.is_compared and operation.answer is not None:
            return self.until_ms[place]
        return min(self.until_ms[place], operation.free_ms + self.tolerance_ms)

    def _is_free(self, place: int) -> bool:
        """Whether the broker is through with what came before it on its connection."""
        behind = self._places.get(self.operations[place].behind)
        if behind is None or behind in self.unheeded or not self.operations[behind].is_compared:
            return True
        return behind in self._here.over

    def _beginning(self) -> _Here:
        wanted = {place for place, each in enumerate(self.operations) if each.is_compared}
        return _Here(machine=self.begin(), wanted=wanted)

    def _do(self, step: Move) -> tuple[ReferenceAnswer, ...]:
        match step:
            case Apply(place, at_ms):
                return self.machine.apply(self.operations[place], at_ms)
            case Pass(key, at_ms):
                return self.machine.fall_due(key, at_ms)
            case Skip():
                return ()

    def _count(self, step: Move, reported: Sequence[ReferenceAnswer]) -> None:
        here = self._here
        here.length += 1
        match step:
            case Apply(place):
                here.take_place(place)
                here.waiting.add(place)
            case Skip(place):
                here.take_place(place)
                here.end(place)
            case Pass():
                pass
        for each in reported:
            here.end(self._places[each.operation])

    def _misfit(self, reported: ReferenceAnswer) -> Misfit | None:
        place = self._places[reported.operation]
        operation = self.operations[place]
        if place in self.unheeded or not operation.is_compared or operation.answer is None:
            return None
        recorded = self._recorded.get(place)
        if recorded is None:
            recorded = comparable(operation.api, of_groups(operation.api, operation.answer, self.groups))
            self._recorded[place] = recorded
        assert isinstance(recorded, dict)
        found = unlike(self.machine.fields_of(reported), recorded)
        if found is None and operation.answered_ms - self.machine.now_ms > _LATE_MS + self.tolerance_ms:
            late_ms = operation.answered_ms - self.machine.now_ms
            found = Unlike(field="", expected="an answer", actual=f"no answer for another {late_ms:.0f} ms")
        return None if found is None else Misfit(place=place, unlike=found)
