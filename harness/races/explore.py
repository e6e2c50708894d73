"""Every outcome that the specification allows the rivals of a round, in any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.invariants.exchange import Exchange
from harness.orders.interface import InnerStep, Machine
from harness.orders.machine import Answers
from harness.races.history import GROUP
from harness.races.outcomes import label, outcome
from harness.races.plan import Round, requests_of
from harness.races.specification import MachineFactory
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.script import Send, Step
from harness.wire.codec import Fields

STEPS_MAX: Final = 20_000
Outcome: TypeAlias = tuple[str, str]
"""The label of an operation, and its outcome."""
_Choice: TypeAlias = int | InnerStep
"""The index of a strand that continues, or an inner step."""


def allowed_outcomes(
    specification: MachineFactory, raced: Round, *, steps_max: int = STEPS_MAX
) -> frozenset[Outcome]:
    """Return the possible outcomes of each rival; those found so far if there is too much to try."""
    exploration = _Exploration(specification=specification, raced=raced, steps_left=steps_max)
    exploration.descend(())
    return frozenset(exploration.found)


@dataclass(slots=True, kw_only=True)
class _Telling:
    """A machine during one order of requests, with the values that its actors have learnt."""

    machine: Machine
    steps: Sequence[Step]
    bindings: Bindings = field(default_factory=lambda: Bindings(groups={"main": GROUP}))
    asked: dict[int, tuple[Send, Fields]] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)

    def say(self, send: Send) -> Answers:
        """Send a request to the machine, and learn from the answers."""
        operation = next(index for index, step in enumerate(self.steps) if step is send)
        request: Fields = self.bindings.resolve_fields(send.fields)  # type: ignore[assignment] # a resolved request contains plain values only
        self.asked[operation] = (send, request)
        asked = Exchange(
            index=operation,
            actor=send.actor,
            api=send.api,
            api_version=send.api_version,
            request=request,
            asked_ms=0.0,
        )
        return self.hear(self.machine.apply(asked, 0.0))

    def hear(self, reported: Answers) -> Answers:
        """Learn from answers."""
        for each in reported:
            send, _ = self.asked[each.operation]
            self.answered.add(each.operation)
            self.bindings.learn(step=each.operation, actor=send.actor, api=send.api, fields=each.fields)
        return reported


@dataclass(slots=True, kw_only=True)
class _Exploration:
    specification: MachineFactory
    raced: Round
    steps_left: int
    found: set[Outcome] = field(default_factory=set)

    def descend(self, path: tuple[_Choice, ...]) -> None:
        """Try all continuations of a path."""
        for choice in self._choices(path):
            if self.steps_left <= 0:
                return
            self.descend((*path, choice))

    def _choices(self, path: tuple[_Choice, ...]) -> tuple[_Choice, ...]:
        telling = self._reported(path)
        ready = (index for index, send in self._next_sends(telling, path) if send is not None)
        return (*telling.machine.inner_steps(), *ready)

    def _next_sends(self, telling: _Telling, path: tuple[_Choice, ...]) -> Iterator[tuple[int, Send | None]]:
        for index, strand in enumerate(self.raced.strands):
            sends = requests_of(strand.steps)
            done = sum(choice == index for choice in path if not isinstance(choice, InnerStep))
            is_waiting = done > 0 and _index(self.raced, sends[done - 1]) not in telling.answered
            yield index, None if is_waiting or done == len(sends) else sends[done]

    def _reported(self, path: tuple[_Choice, ...]) -> _Telling:
        """Return a new machine after the set-up and all choices of a path."""
        telling = _Telling(machine=self.specification.begin(), steps=self.raced.steps)
        for send in requests_of(self.raced.before):
            telling.say(send)
            while steps := telling.machine.inner_steps():
                telling.hear(telling.machine.take(steps[0], 0.0))
        for position, choice in enumerate(path):
            self.steps_left -= 1
            self._take(telling, path[:position], choice)
        return telling

    def _take(self, telling: _Telling, path: tuple[_Choice, ...], choice: _Choice) -> None:
        if isinstance(choice, InnerStep):
            self._note(telling, telling.hear(telling.machine.take(choice, 0.0)))
            return
        send = dict(self._next_sends(telling, path))[choice]
        assert send is not None, "only strands that can go on are chosen"
        try:
            self._note(telling, telling.say(send))
        except UnboundReferenceError:
            # Without the answer that it needs, a rival sends nothing more.
            return

    def _note(self, telling: _Telling, reported: Answers) -> None:
        for each in reported:
            send, request = telling.asked[each.operation]
            self.found.add((label(send.api, request), outcome(send.api, each.fields)))


def _index(raced: Round, send: Send) -> int:
    return next(index for index, step in enumerate(raced.steps) if step is send)
