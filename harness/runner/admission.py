"""Who may begin, of all targets that are driven at once: scenarios, and brokers that come later."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from harness.capacity import machine
from harness.runner.rounds import LongestFirst, Rounds

_CARRIED: Final = machine().jobs(per_core=8)
"""Scenarios at once that leave any machine time for others."""
_LOOK_S: Final = 0.001
_FREE_S: Final = 0.01
"""An event loop that is later than this for a timer has more to do than it can."""
_PATIENCE_S: Final = 0.5
"""How long one waits for a free loop: those that have begun may be waiting for it."""


class Admission:
    """What targets that are driven together share.

    Hundreds of scenarios that begin at once would keep each other from the event loop for a second, and the
    first ones from their timers. So a loop that is late admits no more: the machine says how many go on.

    Attributes:
        slots: each running scenario takes one, unless it acts on its broker: that one waits for others. They
            bound how many there are, however fast the machine is.
        late_slots: a broker of scripts that come later takes one.
        rounds: which brokers are up together.
        running: how many scenarios go on.
    """

    def __init__(self, targets: frozenset[str], *, jobs: int) -> None:
        self.slots = LongestFirst(jobs)
        self.late_slots = LongestFirst(machine().brokers_at_once)
        self.rounds = Rounds(targets)
        self._left: dict[str, int | None] = dict.fromkeys(targets)
        """By target, how many scenarios have not ended that do not come later; None until that is known."""
        self._is_calm = asyncio.Event()
        self._beginning = asyncio.Lock()
        self.running = 0
        self._look()

    def expect(self, target: str, count: int) -> None:
        """Say how many scenarios of a target do not come later."""
        self._left[target] = count
        self._look()

    def settle(self, target: str) -> None:
        """Say that a target is through with all scenarios that do not come later. Idempotent."""
        self.rounds.leave(target)
        self.expect(target, 0)

    async def calm(self) -> None:
        """Wait until next to none of them is left: brokers that start and stop would disturb their timers."""
        await self._is_calm.wait()

    @asynccontextmanager
    async def begun(self, target: str) -> AsyncIterator[None]:
        """Run a scenario in the block, which begins when the event loop is free, or hardly any go on."""
        async with self._beginning:
            until_s = time.monotonic() + _PATIENCE_S
            while self.running >= _CARRIED and await _lateness_s() > _FREE_S and time.monotonic() < until_s:
                pass
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            left = self._left.get(target)
            if left:
                self.expect(target, left - 1)

    def _look(self) -> None:
        known = [each for each in self._left.values() if each is not None]
        if len(known) == len(self._left) and sum(known) <= _CARRIED:
            self._is_calm.set()


async def _lateness_s() -> float:
    """Return how late the event loop is for a timer just now."""
    due_s = time.monotonic() + _LOOK_S
    await asyncio.sleep(_LOOK_S)
    return time.monotonic() - due_s
