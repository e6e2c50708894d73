"""Rounds: which brokers are up together, of all targets that are driven at once.

A starting JVM keeps a core busy for a second or more, which delays the timers of brokers that are in use.
Brokers therefore run in rounds of as many as the machine can run: all brokers of a round start, then all
their scenarios run, then they stop. Brokers with long scenarios are put together, so that a round's brokers
end at about the same time. The few that are left over get no round, which would leave the machine idle. They
run with the brokers that start and stop all the time.
"""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from harness.capacity import broker_slots
from harness.runner.sharing import BrokerGroup

T = TypeVar("T")

_SCENARIO_MS: Final = 20
"""How long a scenario takes in addition to its waits, when many run at once."""
_LEFT_OVER_SHARE: Final = 0.5
"""Brokers that would fill no more than this share of a round are left over."""


@dataclass(slots=True, kw_only=True)
class Round:
    """Brokers that are up together."""

    awaited: int = 0
    """How many brokers have neither become ready nor failed."""
    unfinished: int = 0
    """How many have not ended."""
    all_ready: asyncio.Event = field(default_factory=asyncio.Event)
    all_ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, kw_only=True)
class Turn:
    """One broker's place in a round."""

    round: Round
    before: Round | None
    _is_ready: bool = False

    async def begin(self) -> None:
        """Wait until the brokers of the previous round have stopped."""
        if self.before is not None:
            await self.before.all_ended.wait()

    async def all_ready(self) -> None:
        """Report that the broker is ready, and wait for the others of the round."""
        self._get_ready()
        await self.round.all_ready.wait()

    def end(self) -> None:
        """Report that the broker has stopped, or never started; called once."""
        self._get_ready()
        self.round.unfinished -= 1
        if not self.round.unfinished:
            self.round.all_ended.set()

    def _get_ready(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self.round.awaited -= 1
            if not self.round.awaited:
                self.round.all_ready.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    target: str
    broker_group: BrokerGroup
    processes: int


class Rounds:
    """Divides the brokers of several targets into rounds, once all targets have named those they need."""

    def __init__(self, targets: frozenset[str]) -> None:
        self._unheard = set(targets)
        self._entries: list[_Entry] = []
        self._turns: dict[tuple[str, int], Turn] = {}
        self._divided = asyncio.Event()

    async def turns(
        self, target: str, broker_groups: Sequence[BrokerGroup], *, processes: int
    ) -> Sequence[Turn | None]:
        """Return the turn of each of a target's brokers, once every target has asked or left.

        Brokers whose turn is None are left over.

        Args:
            target: the target's name.
            broker_groups: the scripts of each of its brokers.
            processes: how many of the machine's slots each broker takes.
        """
        self._entries += [
            _Entry(target=target, broker_group=broker_group, processes=processes)
            for broker_group in broker_groups
        ]
        self.leave(target)
        await self._divided.wait()
        return [self._turns.get((target, id(broker_group))) for broker_group in broker_groups]

    def leave(self, target: str) -> None:
        """Report that a target needs no more brokers than it asked for. Idempotent."""
        self._unheard.discard(target)
        if not self._unheard:
            self._divide()
            self._divided.set()

    def _divide(self) -> None:
        entries, self._entries = sorted(self._entries, key=_duration_ms, reverse=True), []
        before: Round | None = None
        slots = broker_slots().count
        rounds = divided([(entry, entry.processes) for entry in entries], slots=slots)
        if len(rounds) > 1 and sum(entry.processes for entry in rounds[-1]) <= slots * _LEFT_OVER_SHARE:
            rounds = rounds[:-1]
        for chosen in rounds:
            current = Round(awaited=len(chosen), unfinished=len(chosen))
            for entry in chosen:
                self._turns[entry.target, id(entry.broker_group)] = Turn(round=current, before=before)
            before = current


class LongestFirst:
    """Slots that go to the longest work first, including what must follow it: that work ends a run."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def taken(self, duration_ms: float) -> AsyncIterator[None]:
        """Take a slot for the block, once one is free and no longer work waits."""
        granted = asyncio.Event()
        waiting = (-duration_ms, next(self._numbers), granted)
        heapq.heappush(self._waiting, waiting)
        # Tasks that wait for the same event all arrive before the first of them gets a slot.
        asyncio.get_running_loop().call_soon(self._grant)
        try:
            await granted.wait()
        except asyncio.CancelledError:
            if granted.is_set():
                self._give_back()
            else:
                self._waiting.remove(waiting)
                heapq.heapify(self._waiting)
            raise
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend a taken slot to other work for the block, whose end does not wait for the slot."""
        self._give_back()
        try:
            yield
        finally:
            self._free -= 1

    def _give_back(self) -> None:
        self._free += 1
        self._grant()

    def _grant(self) -> None:
        while self._free > 0 and self._waiting:
            self._free -= 1
            heapq.heappop(self._waiting)[-1].set()


def divided(weighted: Sequence[tuple[T, int]], *, slots: int) -> Sequence[Sequence[T]]:
    """Divide items, in order, into rounds that fit the slots; an item that needs more gets its own round."""
    rounds: list[list[T]] = []
    taken = 0
    for item, weight in weighted:
        if not rounds or (rounds[-1] and taken + weight > slots):
            rounds.append([])
            taken = 0
        rounds[-1].append(item)
        taken += weight
    return rounds


def _duration_ms(entry: _Entry) -> int:
    broker_group = entry.broker_group
    return broker_group.duration_ms + _SCENARIO_MS * len(broker_group.scripts)
